"""Who descends from whom; and no stranger is ever signalled."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from foliot.executors.shell.warden import kin

NAME = f"s/a b=c@{os.getpid()}#1"


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """A shell, its child and its grandchild."""
    script = "sh -c 'sleep 1000 & echo $!; wait' & echo $!; wait"
    with subprocess.Popen(  # noqa: S603 - our own
        ["/bin/sh", "-c", script], stdout=subprocess.PIPE, env={"FOLIOT_RUN_ID": NAME}
    ) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        shell.stdout.readline()
        yield shell
        kin.kill_runs({NAME})


def test_both_ways_of_looking_find_the_same(family: subprocess.Popen[bytes]) -> None:
    by_file = kin.everybody_below([family.pid], kin.children_by_file)
    by_scan = kin.everybody_below([family.pid], kin.children_by_scan())
    assert by_file == by_scan
    assert len(by_file) == 3


def test_a_number_that_a_stranger_has_now_is_left_alone(
    family: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pid was read, its process ended, and the number was given to somebody else."""
    with subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True) as stranger:
        reused = lambda pid: [stranger.pid] if pid == family.pid else []  # noqa: E731 - a stale look
        with monkeypatch.context() as stale:
            stale.setattr(kin, "look", lambda: reused)
            stale.setattr(kin, "parent_of", lambda pid: 1 if pid == stranger.pid else os.getpid())
            kin._send(stranger.pid, signal.SIGKILL, kin._stop_all(lambda: [family.pid]))
        with pytest.raises(subprocess.TimeoutExpired):
            stranger.wait(0.2)
        assert not Path(f"/proc/{stranger.pid}/stat").read_text().rpartition(") ")[2].startswith("T")
        stranger.kill()


def test_a_process_can_be_asked_for_what_it_is(family: subprocess.Popen[bytes]) -> None:
    assert kin.parent_of(family.pid) == os.getpid()
    assert kin.session_of(family.pid) == os.getsid(0)
    assert kin.variable_of(family.pid, b"FOLIOT_RUN_ID") == NAME
    assert kin.variable_of(family.pid, b"FOLIOT_RUN") is None
    assert not kin.is_dead(family.pid)


def test_nobody_is_asked_in_vain() -> None:
    with subprocess.Popen(["/bin/true"]) as gone:
        gone.wait()
    assert (kin.parent_of(gone.pid), kin.session_of(gone.pid), kin.mark_of(gone.pid)) == (0, 0, None)
    assert kin.variable_of(gone.pid, b"PATH") is None
    assert kin.is_dead(gone.pid)
    assert kin.children_by_file(gone.pid) == []


def test_a_name_that_looks_like_more_fields_does_not_mislead(tmp_path: Path) -> None:
    program = tmp_path / ") Z 1 1 1 (x"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "1000"]) as odd:  # noqa: S603 - our own
        assert kin.parent_of(odd.pid) == os.getpid()
        assert not kin.is_dead(odd.pid)
        odd.kill()


def test_runs_are_found_by_their_ids_and_no_others(family: subprocess.Popen[bytes]) -> None:
    assert set(kin.find_runs({NAME})) == kin.everybody_below([family.pid], kin.look())
    assert kin.find_runs({NAME[:-1]}) == []
    kin.kill_runs({"nobody's", NAME})
    assert family.wait() == -signal.SIGKILL
    assert kin.find_runs({NAME}) == []
