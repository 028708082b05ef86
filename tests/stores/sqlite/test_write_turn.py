"""Two stores of one process take turns at their file, without SQLite's sleeps."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest

from foliot.clock import SystemClock
from foliot.stores.sqlite import SqliteStore
from foliot.stores.sqlite.write_turn import WriteTurn

LONG, SHORT = timedelta(seconds=30), timedelta(milliseconds=1)


def test_the_next_one_goes_on_when_the_turn_is_over(tmp_path: Path) -> None:
    first, second = (WriteTurn(tmp_path / "jobs.db", LONG) for _ in range(2))
    order: list[str] = []
    begun = Event()

    def write() -> None:
        begun.set()
        with second.taken():
            order.append("second")

    with first.taken():
        thread = Thread(target=write)
        thread.start()
        assert begun.wait(10)
        order.append("first")
    thread.join(10)

    assert order == ["first", "second"]


def test_another_spelling_of_the_path_is_the_same_line(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "jobs.db")
    first, second = WriteTurn(tmp_path / "jobs.db", LONG), WriteTurn(tmp_path / "link.db", SHORT)

    with first.taken():
        assert not second._lock.acquire(blocking=False)


def test_after_too_long_a_wait_sqlite_decides(tmp_path: Path) -> None:
    first, second = WriteTurn(tmp_path / "jobs.db", LONG), WriteTurn(tmp_path / "jobs.db", SHORT)

    with first.taken():
        with second.taken():
            pass  # it does not raise, and takes nothing away from the first
        assert not first._lock.acquire(blocking=False)


def test_a_forked_child_begins_anew(tmp_path: Path) -> None:
    turn = WriteTurn(tmp_path / "jobs.db", LONG)
    with turn.taken():
        child = os.fork()
        if child == 0:
            fresh = WriteTurn(tmp_path / "jobs.db", SHORT)
            os._exit(0 if fresh._lock.acquire(blocking=False) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.req("OWN-11")
def test_a_store_does_not_ask_sqlite_while_another_of_its_process_writes(tmp_path: Path) -> None:
    asyncio.run(_write_while_another_writes(tmp_path))


async def _write_while_another_writes(tmp_path: Path) -> None:
    entered, leave = Event(), Event()

    def failpoint(step: str) -> None:
        if step == "write_source_status:before_commit":
            entered.set()
            leave.wait(30)

    engine = SqliteStore(tmp_path / "jobs.db", SystemClock(), failpoint=failpoint)
    api = SqliteStore(tmp_path / "jobs.db", SystemClock())
    async with engine, api:
        await api.write_source_status("a", "{}")
        statements: list[str] = []
        session = api._writer._session
        assert session is not None
        session.connection.set_trace_callback(statements.append)
        first = asyncio.ensure_future(engine.write_source_status("a", '{"a": 1}'))
        await asyncio.to_thread(entered.wait, 30)
        second = asyncio.ensure_future(api.write_source_status("a", '{"a": 2}'))
        while not api._writer._under_way:  # its thread has not taken the call yet
            await SystemClock().wait(SHORT)
        assert statements == []
        leave.set()
        await asyncio.gather(first, second)
        (view,) = await api.sources()

    assert statements[0] == "BEGIN IMMEDIATE"
    assert view.status == '{"a": 2}'
