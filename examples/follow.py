"""A small repository that is followed by the daemon: what `make run` starts.

    python examples/follow.py [FOLDER]

The folder (`.run` if none is given) gets a remote, a clone of it to work in, and what the daemon keeps.
Push a change from the clone, and see it picked up. Ctrl-C lets what runs end; a second one ends it at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1] if sys.argv[1:] else ".run").absolute()
SECONDS = 5

CONFIG = """\
# Change something here, commit and push: the daemon picks it up within {seconds} seconds.
jobs:
  heartbeat:
    name: "Heartbeat"
    schedule: "@every 5s"
    run: date +"it is %H:%M:%S, and all is well"

  report:
    name: "Nightly report"
    schedule:
      cron: "0 6 * * *"
      timezone: Europe/Berlin
    run: ./report.sh
    timeout: 5m
    concurrency: wait

  flaky:
    name: "Sometimes fails"
    schedule: "@every 15s"
    run: '[ $(( $(date +%s) / 15 % 2 )) = 0 ] || {{ echo "no luck this time" >&2; exit 3; }}'
"""

REPORT = """\
#!/bin/sh
# Runs in a snapshot of this repository, with a clean environment.
for page in 1 2 3; do
    echo "page $page of $FOLIOT_KEY, revision $FOLIOT_REVISION"
    sleep 1
done
"""

HINT = """\
A repository is being followed. In another terminal (after `. .venv/bin/activate`), try:

  $EDITOR {work}/rollcron.yaml
  foliot check {work}
  git -C {work} commit -am "a change" && git -C {work} push

The change is picked up within {seconds} seconds. And:

  export FOLIOT_STORE={store}
  foliot job list
  foliot job trigger report --wait
  foliot run list --outcome failed
"""


def git(*arguments: str) -> None:
    """Call git, as somebody."""
    somebody = ("-c", "user.name=Foliot", "-c", "user.email=foliot@example.org", "-c", "commit.gpgSign=false")
    subprocess.run(["git", *somebody, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603, S607 - git, with our own arguments


def make_repository(remote: Path, work: Path) -> None:
    """A remote with one commit, and a clone to work in; only if they are not there."""
    if remote.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    git("init", "--quiet", "--initial-branch=main", str(work))
    (work / "rollcron.yaml").write_text(CONFIG.format(seconds=SECONDS))
    (work / "report.sh").write_text(REPORT)
    (work / "report.sh").chmod(0o755)
    git("-C", str(work), "add", ".")
    git("-C", str(work), "commit", "--quiet", "--message", "The first jobs")
    git("clone", "--quiet", "--bare", str(work), str(remote))
    git("-C", str(work), "remote", "add", "origin", str(remote))
    git("-C", str(work), "push", "--quiet", "--set-upstream", "origin", "main")


def main() -> None:
    """Make the repository, say what can be tried, and become the daemon."""
    remote, work = FOLDER / "jobs.git", FOLDER / "checkout"
    make_repository(remote, work)
    store = f"sqlite:///{FOLDER}/foliot.db"
    print(HINT.format(work=os.path.relpath(work), seconds=SECONDS, store=store), flush=True)
    foliot = Path(sys.executable).with_name("foliot")
    arguments = [str(remote), "-i", str(SECONDS), "--store", store, "--cache", str(FOLDER / "cache")]
    os.execv(foliot, [str(foliot), "serve", *arguments])  # noqa: S606 - our own command


if __name__ == "__main__":
    main()
