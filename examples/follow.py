"""A small repository that is followed by the daemon, and a live table of its jobs: what `make run` starts.

    python examples/follow.py [FOLDER]      a live table; without a terminal, the daemon's log

The folder (`.run` if none is given) gets a remote, a clone of it to work in, and what the daemon keeps.
Push a change from the clone, and see it picked up. The key q, or Ctrl-C, lets what runs end; Ctrl-C once more
ends it at once.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
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
A repository is being followed. In another terminal (after `. {activate}`), try:

  export FOLIOT_STORE={store}
  foliot job list
  foliot run logs heartbeat                   what a job wrote
  foliot job why heartbeat                    why it runs, ran, or did not
  foliot job trigger report --follow          run a job now, and watch it

  $EDITOR {work}/rollcron.yaml
  foliot check {work}
  git -C {work} commit -am "a change" && git -C {work} push

The daemon picks up the change within {seconds} seconds. It also prints a link that opens the dashboard.
"""
LINK = "Log in within"  # how the line of the link begins


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


def free_port() -> int:
    """A port that no program listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


start = subprocess.Popen


def call(*words: object, is_quiet: bool = False) -> int:
    """Call a command of ours; its exit code."""
    return subprocess.run(list(map(str, words)), capture_output=is_quiet, check=False).returncode  # noqa: S603 - our own


def watch(foliot: Path, store: str, serve: list[str]) -> None:
    """Let the daemon work beside a live table; when the table ends, let the daemon end what it runs."""
    log = FOLDER / "serve.log"
    with log.open("w") as lines, start(serve, stdout=lines, stderr=lines, process_group=0) as daemon:
        while daemon.poll() is None and "node_joined" not in log.read_text():
            with suppress(subprocess.TimeoutExpired):
                daemon.wait(0.1)
        links = [line.split()[-1] for line in log.read_text().splitlines() if line.startswith(LINK)]
        print(f"In a browser: {links[-1]}\n" if links else "", flush=True)
        try:
            call(foliot, "top", "--inline", "--store", store)
        except KeyboardInterrupt:
            print()
        end(daemon, log)


def end(daemon: subprocess.Popen[bytes], log: Path) -> None:
    """Ask the daemon to end, and wait for it; Ctrl-C asks it to end at once."""
    print("The daemon ends when its runs have, after 30 seconds at most. Ctrl-C ends it at once.", flush=True)
    if daemon.poll() is None:
        daemon.send_signal(signal.SIGTERM)
    while daemon.poll() is None:
        try:
            daemon.wait()
        except KeyboardInterrupt:
            daemon.send_signal(signal.SIGTERM)
    print(f"It has ended. Its log is {os.path.relpath(log)}.")


def main() -> None:
    """Make the repository, say what can be tried, and run the daemon."""
    remote, work = FOLDER / "jobs.git", FOLDER / "checkout"
    make_repository(remote, work)
    store = f"sqlite:///{FOLDER}/foliot.db"
    foliot = Path(sys.executable).with_name("foliot")
    hint = HINT.format(
        activate=os.path.relpath(foliot.with_name("activate")), work=os.path.relpath(work), store=store,
        seconds=SECONDS,
    )  # fmt: skip
    print(hint, flush=True)
    places = ["--store", store, "--cache", str(FOLDER / "cache"), "--listen", f"127.0.0.1:{free_port()}"]
    os.environ["STATE_DIRECTORY"] = str(FOLDER)  # where the token of the dashboard is kept
    serve = [str(foliot), "serve", str(remote), "-i", str(SECONDS), *places]
    if sys.stdout.isatty() and sys.stdin.isatty():
        watch(foliot, store, serve)
    else:
        os.execv(foliot, serve)  # noqa: S606 - our own command


if __name__ == "__main__":
    main()
