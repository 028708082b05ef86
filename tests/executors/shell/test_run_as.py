"""Commands as another user, with a real one: the tests of the root daemon need root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from executors.shell.stage import Stage, a_run, alive, id_of, play, see, until
from foliot.errors import FoliotError
from foliot.executors.shell.run_as import RunAs, open_way
from foliot.model.attempt import Outcome
from foliot.protocols import Result

USER = "nobody"
OF_GLIBC = 0b11 << 31  # signals 32 and 33: whoever started us may have set them, and glibc lets nobody
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run commands as others")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that every user can enter: pytest's own cannot be."""
    path = Path(tempfile.mkdtemp(prefix="foliot-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


def as_user(place: Path, command: object, **data: object) -> Result:
    results: list[Result] = []

    async def scene(stage: Stage) -> None:
        results.append(await stage.see(command, user=USER, **data))

    play(place, scene, run_as=RunAs([USER]))
    return results[0]


@needs_root
def test_a_command_is_the_users_with_its_groups_and_its_home(place: Path) -> None:
    entry = pwd.getpwnam(USER)
    shown = as_user(place, 'id -u; id -ru; id -g; id -G; echo "$HOME $USER $LOGNAME"')
    assert shown.output.split("\n")[:5] == [
        str(entry.pw_uid), str(entry.pw_uid), str(entry.pw_gid), str(entry.pw_gid),
        f"{entry.pw_dir} {USER} {USER}",
    ]  # fmt: skip


@needs_root
def test_it_cannot_become_root_again_and_cannot_write_to_its_directory(place: Path) -> None:
    tried = as_user(place, "touch x; setpriv --reuid=0 true; cat /etc/shadow; exit 3")
    assert tried.exit_code == 3
    assert tried.output.count("ermitted") + tried.output.count("denied") >= 2
    assert not (place / "x").exists()
    assert (place / "x").parent.stat().st_uid == 0


@needs_root
def test_it_reads_the_files_of_its_directory_and_runs_scripts_there(place: Path) -> None:
    script = place / "go"
    script.write_text("#!/bin/sh\ncat data; echo out > /dev/stdout; echo err > /dev/stderr\n")
    script.chmod(0o755)
    (place / "data").write_text("42\n")
    assert as_user(place, "./go").output == "42\nout\nerr\n"
    assert as_user(place, ["./go"]).output == "42\nout\nerr\n"


@needs_root
def test_the_env_of_a_job_goes_before_that_of_its_user(place: Path) -> None:
    assert as_user(place, "echo $HOME $X", env={"HOME": "/srv", "X": "1"}).output == "/srv 1\n"


@pytest.fixture
def library(place: Path) -> Path:
    """A library that tells its user when a program loads it."""
    code = """
        #include <stdio.h>
        #include <unistd.h>
        __attribute__((constructor)) static void tell(void) {
            FILE *file = fopen(FILE_NAME, "a");
            if (file) { fprintf(file, "%d %d\\n", (int) getuid(), (int) geteuid()); fclose(file); }
        }
    """
    (place / "told").touch()
    (place / "told").chmod(0o666)
    (place / "x.c").write_text(code)
    name = f'-DFILE_NAME="{place / "told"}"'
    words = ["gcc", "-shared", "-fPIC", name, "-o", str(place / "x.so"), str(place / "x.c")]
    subprocess.run(words, check=True)  # noqa: S603 - words of ours
    return place / "x.so"


@needs_root
@pytest.mark.skipif(shutil.which("gcc") is None, reason="a library has to be made")
@pytest.mark.parametrize("nice", [0, 3])
def test_the_env_of_a_job_has_no_effect_before_the_rights_are_dropped(
    place: Path, library: Path, nice: int
) -> None:
    shown = as_user(place, "/bin/true; echo done", env={"LD_PRELOAD": str(library)}, nice=nice)
    assert shown.output == "done\n"
    uid = pwd.getpwnam(USER).pw_uid
    assert set((place / "told").read_text().split("\n")) == {f"{uid} {uid}", ""}


@needs_root
def test_a_command_of_the_user_begins_like_any_other(place: Path) -> None:
    """It has every signal as by default, a session of its own, and no descriptor or variable too many."""
    signals = as_user(place, "grep -E '^(SigBlk|SigIgn)' /proc/self/status | cut -f2")
    assert [int(line, 16) & ~OF_GLIBC for line in signals.output.split()] == [0, 0]
    tell = "ls -l /proc/self/fd | grep -cv /proc/; env | sort"
    kept = {"FOLIOT_JOB", "FOLIOT_KEY", "FOLIOT_RUN_ID", "HOME", "USER", "LOGNAME"}

    def lines(text: str) -> list[str]:
        return [line for line in text.split("\n") if line.partition("=")[0] not in kept]

    assert lines(as_user(place, tell).output) == lines(see(place, tell).output)
    session = as_user(place, "cut -d' ' -f1,6 /proc/$$/stat | tr ' ' '\\n' | uniq | wc -l", stdin="x")
    assert session.output == "1\n"
    assert as_user(place, "cat", stdin="text").output == "text"


@needs_root
def test_what_the_user_cannot_start_is_told(place: Path) -> None:
    closed = place / "closed"
    closed.write_text("#!/bin/sh\n")
    closed.chmod(0o700)
    refused = as_user(place, ["./closed"])
    assert refused.outcome is Outcome.FAILED
    assert "Permission denied: './closed'" in (refused.error or "")
    assert "No such file" in (as_user(place, ["./missing"]).error or "")


@needs_root
def test_the_whole_tree_of_the_user_can_be_ended(place: Path) -> None:
    async def scene(stage: Stage) -> None:
        run = a_run("trap '' TERM; setsid sleep 987123 & sleep 987123", user=USER)
        end = stage.start(run)
        await until(lambda: len(alive([id_of(run)])) >= 3)
        end()
        result = await stage.result(run)
        assert result.outcome is Outcome.CANCELLED
        assert alive([id_of(run), "987123"]) == []

    play(place, scene, run_as=RunAs([USER]), grace=timedelta(seconds=0.2))


def test_nice_and_umask_need_no_other_user(tmp_path: Path) -> None:
    shown = see(tmp_path, "nice; umask; touch f; stat -c %a f", nice=7, umask="027")
    assert shown.output == f"{min(os.nice(0) + 7, 19)}\n0027\n640\n"
    assert see(tmp_path, "umask").output == f"{_umask():04o}\n"
    assert see(tmp_path, ["nice"], nice=3).output == f"{min(os.nice(0) + 3, 19)}\n"


def _umask() -> int:
    own = os.umask(0o022)
    os.umask(own)
    return own


def test_a_user_that_was_not_named_does_not_start(tmp_path: Path) -> None:
    refused = see(tmp_path, "id", user="www-data")
    assert refused.outcome is Outcome.FAILED
    assert "it is to run as www-data, and this daemon" in (refused.error or "")


@needs_root
def test_what_an_operator_cannot_allow_is_refused_at_once() -> None:
    with pytest.raises(FoliotError, match="there is no such user on this host"):
        RunAs(["no-such-user"])
    assert RunAs().refusal({"user": USER}) == (
        f"it is to run as {USER}, and this daemon was not started with --run-as {USER}"
    )
    assert RunAs([USER]).refusal({"user": USER}) is None
    assert RunAs().refusal({}) is None


@needs_root
def test_a_command_without_a_user_is_not_roots_unless_the_operator_names_root(place: Path) -> None:
    def shown(*users: str, **data: object) -> Result:
        results: list[Result] = []

        async def scene(stage: Stage) -> None:
            results.append(await stage.see("id -un", **data))

        play(place, scene, run_as=RunAs(users))
        return results[0]

    refused = shown(USER)
    assert refused.outcome is Outcome.FAILED
    assert "it names no user, and would run as root" in (refused.error or "")
    assert shown(USER, "root").output == "root\n"
    assert shown(USER, "root", user="root").output == "root\n"
    assert shown(USER, "root", user=USER).output == f"{USER}\n"
    assert shown().output == "root\n"


def test_a_daemon_that_is_not_root_cannot_allow_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(FoliotError, match="needs a daemon that is root"):
        RunAs([USER])
    assert RunAs().refusal({"user": USER}) == f"it is to run as {USER}, and this daemon is not root"


@needs_root
def test_a_user_must_be_able_to_come_to_the_cache(place: Path) -> None:
    users = RunAs([USER])
    users.check_way(place / "cache")
    (place / "closed").mkdir(mode=0o700)
    with pytest.raises(FoliotError, match=f"{USER} cannot enter {place}/closed"):
        users.check_way(place / "closed" / "cache")


@needs_root
def test_the_way_through_the_cache_is_opened_and_no_more(place: Path) -> None:
    cache = place / "cache"
    folder = cache / "sets" / "jobs" / "a"
    for path in (folder, folder.with_name("b"), cache / "clone"):
        path.mkdir(parents=True)
    for path in (cache, cache / "sets", cache / "sets/jobs"):
        path.chmod(0o700)
    (cache / "sets" / "config").write_text("x")
    place.chmod(0o700)
    for _ in range(2):
        open_way(folder, cache, 65534)
        names = ("", "sets", "sets/jobs", "sets/jobs/a", "sets/jobs/b", "sets/config", "clone")
        modes = [oct((cache / name).stat().st_mode)[-3:] for name in names]
        assert modes == ["711", "711", "711", "750", "750", "640", "750"]
        assert [path.stat().st_gid for path in (folder, folder.with_name("b"))] == [65534, 0]
    assert oct(place.stat().st_mode)[-3:] == "700"
    open_way(place, cache, 65534)
    assert place.stat().st_gid == 0
