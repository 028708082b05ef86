"""What a command is given, what becomes of it, and in what words."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executors.shell.stage import REVISION, Stage, a_run, files_of, id_of, play, see
from foliot.model.attempt import Outcome
from foliot.model.payload import LONGEST_PAYLOAD, payload_text
from foliot.protocols import Result, Run

SECRET = {"DATABASE_URL": "postgres://u:secret@h/d", "AWS_SECRET_ACCESS_KEY": "x", "PYTHONPATH": "/nowhere"}
GIVEN = {
    "PATH": os.environ["PATH"],
    "HOME": "/home/somebody",
    "USER": "somebody",
    "LOGNAME": "somebody",
    "LANG": "C.UTF-8",
    "LC_TIME": "de_DE.UTF-8",
    "TZ": "Europe/Berlin",
    "TMPDIR": "/tmp",  # noqa: S108 - a value, not a file
    "SHELL": "/bin/zsh",
}


def test_a_command_runs_by_sh_in_its_place(tmp_path: Path) -> None:
    assert see(tmp_path, 'pwd; echo $0; echo "$-" | grep -c i')[:5] == (
        Outcome.FAILED,
        "exit code 1",
        f"{tmp_path}\nsh\n0\n",
        0,
        1,
    )


def test_the_environment_is_exactly_what_is_documented(tmp_path: Path) -> None:
    run = a_run("env", env={"OWN": "own $HOME\n2", "TZ": "UTC"})
    results: list[Result] = []

    async def scene(stage: Stage) -> None:
        stage.start(run)
        results.append(await stage.result(run))

    play(tmp_path, scene, environment=GIVEN | SECRET)
    lines = results[0].output.replace("own $HOME\n2", "own").splitlines()
    found = dict(line.split("=", 1) for line in lines)
    found.pop("_", None)  # some shells tell their children who they are
    assert found == GIVEN | {
        "SHELL": "/bin/sh",
        "PWD": str(tmp_path),  # by the shell itself
        "OWN": "own",
        "TZ": "UTC",
        "FOLIOT_JOB": run.job.name,
        "FOLIOT_KEY": f"s/{run.job.name}@2026-01-01T00:00:00Z",
        "FOLIOT_RUN_ID": f"s/{run.job.name}@2026-01-01T00:00:00Z#1",
        "FOLIOT_ATTEMPT": "1",
        "FOLIOT_SCHEDULED_FOR": "2026-01-01T00:00:00Z",
        "FOLIOT_TRIGGER": "schedule",
        "FOLIOT_TOKEN": "7",
        "FOLIOT_REVISION": REVISION,
    }


def test_a_payload_is_a_variable_however_long(tmp_path: Path) -> None:
    job, attempt = a_run('printf %s "$FOLIOT_PAYLOAD" | wc -c; test -n "${FOLIOT_PAYLOAD+x}"')
    payload = payload_text({"x": "a" * (LONGEST_PAYLOAD - 8)})
    results: list[Result] = []

    async def scene(stage: Stage) -> None:
        for one in (Run(job, attempt._replace(payload=payload)), Run(job, attempt._replace(number=2))):
            stage.start(one)
            results.append(await stage.result(one))

    play(tmp_path, scene)
    assert [(result.output.strip(), result.exit_code) for result in results] == [
        (str(LONGEST_PAYLOAD), 0), ("0", 1)
    ]  # fmt: skip


def test_a_daemon_without_a_path_gives_a_usual_one(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        assert (await stage.see("cat /dev/null && echo $PATH")).output.startswith("/usr/local/sbin:")

    play(tmp_path, scene, environment={})


def test_what_a_job_declares_wins_over_its_file_and_nobody_over_the_run(tmp_path: Path) -> None:
    (tmp_path / "vars").write_text("A=file\nB=file\n")
    told = see(
        tmp_path,
        "echo $A $B $FOLIOT_TOKEN $FOLIOT_JOB",
        env_file="vars",
        env={"B": "env", "FOLIOT_JOB": "x", "FOLIOT_TOKEN": "99"},
    )
    assert told.output.startswith("file env 7 n")


def test_no_descriptor_but_three_reaches_a_command(tmp_path: Path) -> None:
    with (tmp_path / "held").open("w") as held:
        os.set_inheritable(held.fileno(), True)  # noqa: FBT003 - the standard library's signature
        # The third is what `ls` itself reads.
        told = see(tmp_path, "exec ls -l /proc/self/fd")
    links = [line.split(" -> ")[1] for line in told.output.splitlines() if " -> " in line]
    assert links[0] == "/dev/null"
    assert [link.partition(":")[0] for link in links[1:3]] == ["pipe", "pipe"]
    assert links[1] != links[2]
    assert [link.startswith("/proc/") for link in links[3:]] == [True]


def test_reading_from_stdin_finds_nothing(tmp_path: Path) -> None:
    assert see(tmp_path, "cat; echo end").output == "end\n"


@pytest.fixture
def odd_signals() -> Iterator[None]:
    """A daemon that was started by nohup, and blocks signals, one among them that a warden lives by."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGCHLD})
    yield
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1, signal.SIGCHLD})
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("odd_signals")
def test_every_signal_is_as_usual_and_none_is_blocked(tmp_path: Path) -> None:
    lines = see(tmp_path, "exec cat /proc/self/status").output.splitlines()
    masks = {
        name: int(mask, 16)
        for name, _, mask in (
            line.partition(":") for line in lines if line.startswith(("SigBlk", "SigIgn", "SigCgt"))
        )
    }
    internal = 0b11 << 31  # the C library keeps 32 and 33 for itself, and ignores them
    assert {name: mask & ~internal for name, mask in masks.items()} == {"SigBlk": 0, "SigIgn": 0, "SigCgt": 0}


def test_a_command_has_a_session_of_its_own(tmp_path: Path) -> None:
    pid, _, group, session = see(tmp_path, 'cut -d " " -f 1,4,5,6 /proc/$$/stat').output.split()
    assert pid == group == session


def test_a_command_may_begin_with_a_dash(tmp_path: Path) -> None:
    (tmp_path / "-x").write_text("#!/bin/sh\necho dashed\n")
    (tmp_path / "-x").chmod(0o755)
    assert see(tmp_path, "-x", env={"PATH": f"{tmp_path}:/usr/bin:/bin"}).output == "dashed\n"


def test_a_job_is_a_better_victim_than_the_scheduler_when_memory_ends(tmp_path: Path) -> None:
    own = int(Path("/proc/self/oom_score_adj").read_text())
    assert int(see(tmp_path, "cat /proc/self/oom_score_adj").output) > min(own, 999)


@pytest.mark.parametrize(
    ("command", "outcome", "error", "code"),
    [
        ("true", Outcome.SUCCEEDED, None, 0),
        ("exit 3", Outcome.FAILED, "exit code 3", 3),
        ("echo out; exit 4", Outcome.FAILED, "exit code 4", 4),
        ("echo one >&2; exit 5", Outcome.FAILED, "exit code 5: one", 5),
        (
            "echo one >&2; echo two >&2; echo >&2; exit 5",
            Outcome.FAILED,
            "exit code 5: two\n  one\n  two",
            5,
        ),
        ("echo warned >&2", Outcome.SUCCEEDED, None, 0),
        ("kill -SEGV $$", Outcome.FAILED, "killed by SIGSEGV", -11),
        ("kill -KILL $$", Outcome.FAILED, "killed by SIGKILL", -9),
        ("sh -c 'kill -KILL $$'; exit $?", Outcome.FAILED, "exit code 137, as after SIGKILL", 137),
        ("kill -TERM $$", Outcome.FAILED, "killed by SIGTERM", -15),
        ("", Outcome.SUCCEEDED, None, 0),
    ],
)
def test_how_a_command_ends(
    tmp_path: Path, command: str, outcome: Outcome, error: str | None, code: int
) -> None:
    told = see(tmp_path, command)
    shown = told.error and told.error.replace("sh: 1: ", "").replace("\n  Killed", "").replace(": Killed", "")
    assert (told.outcome, shown, told.exit_code) == (outcome, error, code)


def test_the_stderr_of_a_failure_is_its_error_and_the_next_run_goes_on(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        failed = await stage.see("nosuchcommand --now")
        assert failed.outcome is Outcome.FAILED
        assert failed.error is not None
        assert failed.error.startswith("exit code 127: ")
        assert "nosuchcommand: not found" in failed.error.splitlines()[0]
        assert (await stage.see("echo fine")).output == "fine\n"

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("command", "data", "words"),
    [
        ("x\0y", {}, "embedded null"),
        ("x" * 200_000, {}, "Argument list too long"),
        (None, {}, "invalid run None: must be the text of a command"),
        ("true", {"env": {"A": "x\0"}}, "env.A"),
        ("true", {"env": {"A=B": "x"}}, "invalid env A=B: is not the name of a variable"),
        ("true", {"working_dir": ".."}, "invalid working_dir ..: leads out of the job's directory"),
        ("true", {"working_dir": "/etc"}, "leads out"),
        ("true", {"working_dir": "link"}, "leads out"),
        ("true", {"working_dir": "nowhere"}, "No such file or directory"),
        ("true", {"working_dir": "file"}, "Not a directory"),
        ("true", {"working_dir": "a\0b"}, "NUL"),
        ("true", {"env_file": "nothing"}, "invalid env_file nothing: it cannot be read (No such file"),
        ("true", {"env_file": "link/passwd"}, "leads out"),
        ("true", {"env_file": "file"}, "invalid env_file file, line 2: it is not NAME=value"),
    ],
)
def test_what_cannot_be_started_fails_with_the_reason(
    tmp_path: Path, command: object, data: dict[str, Any], words: str
) -> None:
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "file").write_text("A=1\nnonsense\n")

    async def scene(stage: Stage) -> None:
        await stage.see("true")
        before = files_of(stage.worker)
        told = await stage.see(command, **data)
        assert told.outcome is Outcome.FAILED
        assert told.error is not None
        assert told.error.startswith("cannot be started: ")
        assert words in told.error
        assert files_of(stage.worker) == before
        assert (await stage.see("true")).outcome is Outcome.SUCCEEDED

    play(tmp_path, scene)


def test_a_directory_inside_the_place_may_be_chosen_by_a_link_too(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "way").symlink_to("sub")
    for name in ("sub", "way", "./sub/../sub/"):
        assert see(tmp_path, "pwd", working_dir=name).output == f"{tmp_path}/sub\n"


def test_a_place_that_is_gone_fails_the_run(tmp_path: Path) -> None:
    place = tmp_path / "gone"
    place.mkdir()

    async def scene(stage: Stage) -> None:
        await stage.see("true")
        place.rmdir()
        told = await stage.see("true")
        assert told.error == f"cannot be started: [Errno 2] No such file or directory: '{place}'"

    play(place, scene)


def test_no_place_fails_the_run_and_nobody_leaves_it(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        stage.folder.is_open = False
        assert (await stage.see("true"))[:5] == (
            Outcome.FAILED,
            "cannot be started: there is no snapshot",
            "",
            0,
            None,
        )

    assert not play(tmp_path, scene).folder.left


def test_a_run_leaves_its_place_once_and_before_it_has_ended(tmp_path: Path) -> None:
    runs = [a_run("true"), a_run("exit 1"), a_run("x\0"), a_run("sleep 60"), a_run(None)]

    async def scene(stage: Stage) -> None:
        asks = [stage.start(run) for run in runs]
        assert not stage.ended  # not before `start` has returned
        asks[3]()
        for run in runs:
            await stage.result(run)
            asks[runs.index(run)]()  # too late, and harmless
        assert sorted(stage.folder.left) == sorted(run.attempt.run_key for run in runs)

    stage = play(tmp_path, scene)
    assert sorted(stage.ended) == sorted(map(id_of, runs))


def test_a_workplace_that_fails_does_not_hold_a_run(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        def fail(_: object) -> None:
            raise OSError("disk on fire")

        stage.folder.enter = fail  # type: ignore[method-assign,assignment] # a faulty workplace
        told = await stage.see("true")
        assert told.error == "cannot be started: OSError: disk on fire"

    play(tmp_path, scene)
