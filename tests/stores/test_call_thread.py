"""Threads of a store: whatever happens in or to one, nobody waits for it without end."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import pytest

from foliot.errors import StoreError, StoreUnavailableError
from foliot.stores.call_thread import Call, CallThread

T = TypeVar("T")


class Thread(CallThread[Call]):
    """Does what it is given, and dies of the first fault, be it in its own end."""

    let_go: Callable[[], None] = staticmethod(lambda: None)

    def ask(self, work: Callable[[], Any], verb: str = "ask") -> asyncio.Future[Any]:
        self.check(verb)
        call = Call(verb, lambda _: work())
        self.put(call)
        return call.future

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            self._under_way = (call,)
            call.settle(call.work(None))
            self._under_way = ()

    def _let_go(self) -> None:
        self.let_go()


def scene(test: Callable[[Thread], Awaitable[None]]) -> Callable[[], None]:
    async def play() -> None:
        thread = Thread("test")
        thread.start()
        try:
            await asyncio.wait_for(test(thread), 60)
        finally:
            thread.close()
            thread.join(60)

    def run() -> None:
        asyncio.run(play())

    run.__name__ = test.__name__
    return run


def fault(error: BaseException) -> Callable[[], Any]:
    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize("error", [MemoryError(), SystemExit(3), KeyboardInterrupt(), ValueError("odd")])
def test_whatever_ends_it_answers_all_who_wait(error: BaseException) -> None:
    async def test(thread: Thread) -> None:
        gate = threading.Event()
        first = thread.ask(gate.wait)
        doomed, behind = thread.ask(fault(error), "doomed"), thread.ask(lambda: 1, "behind")
        gate.set()
        assert await first
        for future, verb in ((doomed, "doomed"), (behind, "behind")):
            with pytest.raises(StoreError, match=f"{verb}: a thread of the store has ended") as told:
                await future
            assert told.value.__cause__ is error
        with pytest.raises(StoreError, match=type(error).__name__):
            await thread.ask(lambda: 1)

    scene(test)()


@scene
async def test_a_fault_in_its_end_keeps_nobody_waiting(thread: Thread) -> None:
    thread.let_go = fault(ValueError("the connection is odd"))
    with pytest.raises(StoreError):
        await thread.ask(fault(MemoryError()))


@scene
async def test_a_call_that_came_too_late_to_be_seen_is_answered(thread: Thread) -> None:
    call = Call("late", lambda _: 1)
    thread.close()
    await asyncio.to_thread(thread.join)
    thread.put(call)  # it was checked while the thread was still there
    with pytest.raises(StoreError, match="late: the store was closed"):
        await call.future


@scene
async def test_calls_are_refused_when_it_is_closed(thread: Thread) -> None:
    gate = threading.Event()
    waiting = thread.ask(gate.wait)
    thread.close()
    gate.set()
    assert await waiting, "what was asked for before is done"
    with pytest.raises(StoreError, match="not open"):
        await thread.ask(lambda: 1)


@scene
async def test_errors_that_no_future_can_carry_are_told_all_the_same(thread: Thread) -> None:
    for error in (StopIteration(), asyncio.CancelledError()):
        call = Call("odd", lambda _: 1)
        call.settle(None, error)
        with pytest.raises(RuntimeError, match="odd"):
            await call.future
    assert await thread.ask(lambda: 1) == 1


@scene
async def test_who_has_closed_its_loop_harms_nobody(thread: Thread) -> None:
    gate = threading.Event()

    async def ask() -> None:
        thread.ask(gate.wait)

    await asyncio.to_thread(asyncio.run, ask())
    gate.set()
    assert await thread.ask(lambda: 1) == 1


@scene
async def test_nobody_waits_while_the_interpreter_ends(thread: Thread) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "is_finalizing", lambda: True)
        with pytest.raises(StoreError, match="interpreter"):
            await thread.ask(lambda: 1)


def test_no_more_threads_is_a_store_that_does_not_answer_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", lambda _: fault(RuntimeError("can't start new thread"))())
    with pytest.raises(StoreUnavailableError, match="can't start new thread"):
        Thread("test").start()


def in_child(ask: Callable[[], Awaitable[object]]) -> str:
    """What a forked child is told when it asks; the child ends with it."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with suppress(BaseException):
            try:
                answer = repr(asyncio.new_event_loop().run_until_complete(asyncio.wait_for(ask(), 20)))
            except BaseException as error:  # noqa: BLE001 - to be told
                answer = f"{type(error).__name__}: {error}"
            os.write(writing, answer.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        answer = told.read()
    os.waitpid(child, 0)
    return answer


def test_a_forked_child_is_told_at_once() -> None:
    @scene
    async def test(thread: Thread) -> None:
        async def ask() -> object:
            return await thread.ask(lambda: 1)

        told = await asyncio.to_thread(in_child, ask)
        assert told.startswith("StoreError: ask: the store was opened before a fork"), told
        assert await thread.ask(lambda: 1) == 1, "the parent goes on"

    test()
