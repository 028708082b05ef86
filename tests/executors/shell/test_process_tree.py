"""Who descends from whom; and no stranger is ever signalled."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from foliot.executors.shell.warden import process_tree

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
        process_tree.kill_runs({NAME})


def test_both_ways_of_looking_find_the_same(family: subprocess.Popen[bytes]) -> None:
    by_file = process_tree.everybody_below([family.pid], process_tree.children_by_file)
    by_scan = process_tree.everybody_below([family.pid], process_tree.children_by_scan())
    assert by_file == by_scan
    assert len(by_file) == 3


def test_a_number_that_a_stranger_has_now_is_left_alone(
    family: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pid was read, its process ended, and the number was given to somebody else."""
    with subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True) as stranger:
        reused = lambda pid: [stranger.pid] if pid == family.pid else []  # noqa: E731 - a stale look
        with monkeypatch.context() as stale:
            stale.setattr(process_tree, "look", lambda: reused)
            stale.setattr(process_tree, "parent_of", lambda pid: 1 if pid == stranger.pid else os.getpid())
            process_tree._send(stranger.pid, signal.SIGKILL, process_tree._stop_all(lambda: [family.pid]))
        with pytest.raises(subprocess.TimeoutExpired):
            stranger.wait(0.2)
        assert not Path(f"/proc/{stranger.pid}/stat").read_text().rpartition(") ")[2].startswith("T")
        stranger.kill()


def test_a_list_of_very_many_children_is_read_to_its_end(tmp_path: Path) -> None:
    """Cut in the middle of a number, it would name a stranger."""
    children = b"".join(b"%d " % pid for pid in range(1_000_000, 1_100_000))
    (tmp_path / "children").write_bytes(children)
    found = process_tree._read(str(tmp_path / "children"))
    assert (len(found), found[-8:]) == (len(children), b"1099999 ")


def test_a_stranger_that_is_listed_is_let_in_with_none_of_its_children(
    family: subprocess.Popen[bytes],
) -> None:
    asked = []

    def mistaken(pid: int) -> list[int]:
        asked.append(pid)
        return [1, *process_tree.children_by_file(pid)]

    members = process_tree.everybody_below([family.pid], mistaken)
    assert len(members) == 3
    assert (
        set(asked)
        == set(members)
        == set(process_tree.everybody_below([family.pid], process_tree.children_by_scan()))
    )


def test_whom_one_listed_who_was_reaped_meanwhile_is_not_let_in(
    family: subprocess.Popen[bytes],
) -> None:
    """Its number may have changed hands before its children were listed."""
    with subprocess.Popen(["/bin/sleep", "1000"]) as other:

        def late(pid: int) -> list[int]:
            if pid == family.pid:
                family.kill()
                family.wait()
            return [other.pid]

        members = process_tree.everybody_below([family.pid], late)
        other.kill()
    assert list(members) == [family.pid]


def test_a_number_that_a_thread_has_now_is_nobody() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert thread.native_id is not None
        assert process_tree.everybody_below([thread.native_id], process_tree.look()) == {}
        process_tree._send(thread.native_id, signal.SIGKILL, [os.getpid(), os.getppid()])
    finally:
        done.set()
        thread.join()


def test_a_tree_is_killed_from_its_leaves_by_one_whom_orphans_do_not_come_to() -> None:
    """The daemon, when it kills a warden that hangs. Seven, one below the other, without an environment."""
    script = 'n=$1; if [ $n = 0 ]; then echo $$; exec sleep 1000; fi; env -i sh -c "$0" "$0" $((n-1)) & wait'
    with subprocess.Popen(["/bin/sh", "-c", script, script, "6"], stdout=subprocess.PIPE) as top:  # noqa: S603 - our own
        assert top.stdout is not None
        top.stdout.readline()
        members = process_tree.everybody_below([top.pid], process_tree.look())
        process_tree.kill_all(lambda: [top.pid])
        has_ended, _, _ = select.select([top.stdout], [], [], 10)  # when nobody holds it open any more
        for pid in members:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert has_ended
    assert len(members) == 7


def test_a_process_can_be_asked_for_what_it_is(family: subprocess.Popen[bytes]) -> None:
    assert process_tree.parent_of(family.pid) == os.getpid()
    assert process_tree.session_of(family.pid) == os.getsid(0)
    assert process_tree.variable_of(family.pid, b"FOLIOT_RUN_ID") == NAME
    assert process_tree.variable_of(family.pid, b"FOLIOT_RUN") is None
    assert not process_tree.is_dead(family.pid)


def test_nobody_is_asked_in_vain() -> None:
    with subprocess.Popen(["/bin/true"]) as gone:
        gone.wait()
    assert (
        process_tree.parent_of(gone.pid),
        process_tree.session_of(gone.pid),
        process_tree.mark_of(gone.pid),
    ) == (0, 0, None)
    assert process_tree.variable_of(gone.pid, b"PATH") is None
    assert process_tree.is_dead(gone.pid)
    assert process_tree.children_by_file(gone.pid) == []


def test_a_name_that_looks_like_more_fields_does_not_mislead(tmp_path: Path) -> None:
    program = tmp_path / ") Z 1 1 1 (x"
    shutil.copy("/bin/sleep", program)
    with subprocess.Popen([program, "1000"]) as odd:  # noqa: S603 - our own
        assert process_tree.parent_of(odd.pid) == os.getpid()
        assert not process_tree.is_dead(odd.pid)
        odd.kill()


def test_runs_are_found_by_their_ids_and_no_others(family: subprocess.Popen[bytes]) -> None:
    assert set(process_tree.find_runs({NAME})) == set(
        process_tree.everybody_below([family.pid], process_tree.look())
    )
    assert process_tree.find_runs({NAME[:-1]}) == []
    process_tree.kill_runs({"nobody's", NAME})
    assert family.wait() == -signal.SIGKILL
    assert process_tree.find_runs({NAME}) == []
