"""Jobs as other users: the repository wishes, the operator allows."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.harness import Daemons, Host, eventually
from daemon.repositories import CONFIG, Repository, job

USER = "nobody"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run commands as others")


@pytest.fixture
def cache() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="foliot-"))
    path.chmod(0o755)
    yield path / "cache"
    shutil.rmtree(path)


def test_a_job_runs_as_its_user_where_the_operator_allows_it(
    daemons: Daemons, repository: Repository, host: Host, cache: Path
) -> None:
    repository.push({"data": "42\n"}, one=job("id -un; cat data $PWD/data", user=USER, umask="077", nice=5))
    daemon = daemons.serve(repository.remote, "--cache", cache, "--run-as", USER)
    daemon.wait_for("run_succeeded")
    (run, *_) = [run for run in host.runs("one") if run.outcome == "succeeded"]
    shown = host.foliot("run", "logs", run.run_key)
    assert shown["text"].startswith(f"{USER}\n42\n42\n")


@pytest.mark.prove
def test_elsewhere_it_waits_and_the_reason_is_told(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(one=job("id -un", user=USER), two=job("true"))
    daemon = daemons.serve(repository.remote)
    (line,) = daemon.all("job_unserved")
    assert line["reason"] == f"it is to run as {USER}, and this daemon was not started with --run-as {USER}"
    daemon.wait_for("run_succeeded", name="two")
    assert host.runs("one") == []
    told = eventually(lambda: _told(host), "a reason") or ""
    assert f"permission to run jobs as {USER} (foliot serve --run-as {USER}, as root)" in told


@pytest.mark.prove
def test_a_job_without_a_user_waits_where_it_would_be_root(
    daemons: Daemons, repository: Repository, host: Host, cache: Path
) -> None:
    repository.push(one=job("id -un"), two=job("id -un", user=USER))
    daemon = daemons.serve(repository.remote, "--cache", cache, "--run-as", USER)
    (line,) = daemon.all("job_unserved")
    assert line["job"].endswith("one")
    assert line["reason"].startswith("it names no user, and would run as root on this daemon")
    assert "write user: in the job or under defaults:" in line["reason"]
    daemon.wait_for("run_succeeded", name="two")
    assert host.runs("one") == []
    told = eventually(lambda: _told(host), "a reason") or ""
    assert "permission to run jobs that name no user" in told


def test_a_channel_of_the_repository_is_no_way_to_root(
    daemons: Daemons, repository: Repository, cache: Path, tmp_path: Path
) -> None:
    proof = tmp_path / "proof"
    file = {
        "channels": {"ops": {"command": f"id -u > {proof}"}, "other": {"command": "true"}},
        "jobs": {"one": job("false", user=USER, notify="ops"), "two": job("true", user=USER)},
    }
    repository.push({CONFIG: json.dumps(file)})
    daemon = daemons.serve(repository.remote, "--cache", cache, "--run-as", USER)
    (line,) = daemon.all("channel_unusable")
    assert line["channel"].endswith(".ops")
    assert "its command would run as root on a daemon with --run-as" in line["missing"]
    daemon.wait_for("attempt_failed", name="one")
    daemon.wait_for("run_succeeded", name="two")
    assert not proof.exists()


def test_only_its_user_reads_the_directory_of_a_job(
    daemons: Daemons, repository: Repository, host: Host, cache: Path
) -> None:
    look = "pwd; cat data; cat $PWD/../two/data $PWD/../../config || ls $PWD/.. || echo closed"
    repository.push({"data": "42\n"}, one=job(look, user=USER), two=job("cat data", user="daemon"))
    daemon = daemons.serve(repository.remote, "--cache", cache, "--run-as", f"{USER},daemon")
    daemon.wait_for("run_succeeded", name="one")
    daemon.wait_for("run_succeeded", name="two")
    (run, *_) = [run for run in host.runs("one") if run.outcome == "succeeded"]
    folder, data, *rest = host.foliot("run", "logs", run.run_key)["text"].splitlines()
    assert (data, "closed" in rest) == ("42", True)  # what goes to stderr may come before or after it
    others = [
        path for path in (*cache.iterdir(), *Path(folder).parents[1].iterdir()) if not path.is_symlink()
    ]
    assert {oct(path.stat().st_mode)[-1] for path in others} <= {"0", "1"}
    for user, code in ((USER, 0), ("daemon", 1), ("sys", 1)):
        entry = pwd.getpwnam(user)
        read = subprocess.run(  # noqa: S603 - words of ours
            ["/bin/cat", f"{folder}/data"], check=False, user=user, group=entry.pw_gid, extra_groups=[]
        )
        assert read.returncode == code, user


def _told(host: Host) -> str | None:
    text = json.dumps(host.foliot("job", "why", "one"))
    return text if "no node has taken it yet" in text else None


def test_a_daemon_that_cannot_do_what_its_operator_says_does_not_start(
    daemons: Daemons, repository: Repository, tmp_path: Path
) -> None:
    repository.push(one=job("true"))
    daemon = daemons.start("foliot", "serve", repository.remote, "--run-as", "no-such-user")
    assert daemon.wait() == 1
    assert "there is no such user on this host" in daemon.told
    tmp_path.chmod(0o700)
    daemon = daemons.start("foliot", "serve", repository.remote, "--run-as", USER)
    assert daemon.wait() == 1
    assert "cannot enter" in daemon.told
    assert "--cache /var/cache/foliot" in daemon.told
