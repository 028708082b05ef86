"""Plain commands to a server, for doors that keep data in keys of their own, beside the store.

One thread has one connection. Commands of several callers at the same time are sent as one pipeline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from hashlib import sha1
from queue import Empty
from typing import NamedTuple
from weakref import finalize

from redis.exceptions import NoScriptError, RedisError

from foliot.errors import StoreUnavailableError
from foliot.stores import call_thread
from foliot.stores.call_thread import CallThread, unwritable
from foliot.stores.redis.address import Address
from foliot.stores.redis.wire import Answer, Command, Wire, translated

_MOST_COMMANDS = 400  # in one pipeline: beyond that the first answers would wait for the last
_REST = 60.0  # seconds without work, after which the connection is closed


class LinkScript:
    """A Lua script. A connection sends it to the server before its first run."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._digest = sha1(text.encode(), usedforsecurity=False).hexdigest()

    def call(self, keys: Sequence[str], *words: str | int) -> ScriptCommand:
        """The command that runs it."""
        return ScriptCommand(self, ("EVALSHA", self._digest, len(keys), *keys, *words))


class ScriptCommand(NamedTuple):
    """A command that runs a script."""

    script: LinkScript
    words: Command


class _Ask(call_thread.Call):
    """Commands that belong together, and the caller that waits for their answers."""

    __slots__ = ("commands",)

    def __init__(self, verb: str, commands: Sequence[Command | ScriptCommand]) -> None:
        super().__init__(verb, lambda _: None)
        self.commands = commands


class Link:
    """A shared connection to a server. It is closed when its last user lets it go."""

    def __init__(self, address: Address, deadline: timedelta) -> None:
        self._deadline = deadline
        self._thread = _LinkThread(address, deadline)
        self.close = finalize(self, self._thread.close)

    async def ask(self, verb: str, commands: Sequence[Command | ScriptCommand]) -> list[Answer]:
        """The answers to commands; a refusal is an answer, a StoreError.

        StoreUnavailableError if the server does not answer in time; it may have carried out the commands.
        """
        thread = self._thread
        thread.check(verb)
        if thread.ident is None:
            thread.start()
        ask = _Ask(verb, commands)
        thread.put(ask)
        seconds = 2 * self._deadline.total_seconds()  # time for the calls before it, and for connecting
        try:
            async with asyncio.timeout(seconds):
                answers: list[Answer] = await ask.future
        except TimeoutError:
            thread.cut()
            raise StoreUnavailableError(verb, f"the server did not answer within {seconds:g} s") from None
        return answers


class _LinkThread(CallThread[_Ask]):
    """Sends commands, and returns the answers to their callers."""

    def __init__(self, address: Address, deadline: timedelta) -> None:
        super().__init__("foliot-redis-link")
        self._address = address
        self._deadline = deadline
        self._wire: Wire | None = None
        self._told: set[str] = set()  # scripts that the server knows, by this connection
        self._is_asked_to_end = False

    def cut(self) -> None:
        """Stop waiting for a server that does not answer."""
        wire = self._wire
        if wire is not None:
            wire.cut()

    # -- in the thread -----------------------------------------------------------------------------

    def _work(self) -> None:
        while asks := self._gather():
            self._under_way = asks
            self._answer(asks)
            self._under_way = ()

    def _gather(self) -> list[_Ask]:
        """The waiting commands, up to a number; empty if the thread must end."""
        if self._is_asked_to_end or (first := self._first()) is None:
            return []
        asks, count = [first], len(first.commands)
        with suppress(Empty):
            while count < _MOST_COMMANDS:
                ask = self._calls.get_nowait()
                if ask is None:
                    self._is_asked_to_end = True
                    break
                asks.append(ask)
                count += len(ask.commands)
        return asks

    def _first(self) -> _Ask | None:
        with suppress(Empty):
            return self._calls.get(timeout=_REST)
        self._let_go()
        return self._calls.get()

    def _let_go(self) -> None:
        wire, self._wire = self._wire, None
        self._told.clear()
        if wire is not None:
            wire.close()

    def _answer(self, asks: Sequence[_Ask]) -> None:
        try:
            answers = iter(self._send([command for ask in asks for command in ask.commands]))
        except (RedisError, OSError) as error:
            self._let_go()
            for ask in asks:
                ask.settle(None, translated(ask.verb, error))
        except UnicodeEncodeError as error:
            for ask in asks:
                ask.settle(None, unwritable(ask.verb, error))
        else:
            for ask in asks:
                ask.settle([_understood(ask.verb, next(answers)) for _ in ask.commands])

    def _send(self, commands: Sequence[Command | ScriptCommand]) -> list[Answer]:
        wire = self._connected()
        words = [one.words if isinstance(one, ScriptCommand) else one for one in commands]
        scripts = {one.script.text for one in commands if isinstance(one, ScriptCommand)}
        # Scripts are sent first: later commands of the same pipeline may depend on them.
        news = [("SCRIPT", "LOAD", text) for text in scripts - self._told]
        answers = wire.ask_all([*news, *words])[len(news) :]
        self._told |= scripts
        missed = [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if missed:  # the server has lost its scripts; these commands have done nothing
            wire.ask_all([("SCRIPT", "LOAD", text) for text in scripts])
            for place, answer in zip(missed, wire.ask_all([words[n] for n in missed]), strict=True):
                answers[place] = answer
        return answers

    def _connected(self) -> Wire:
        if self._wire is not None and self._wire.is_stale():
            self._let_go()
        if self._wire is None:
            self._wire = Wire(self._address, self._deadline)
        return self._wire


def _understood(verb: str, answer: Answer) -> Answer:
    return translated(verb, answer) if isinstance(answer, RedisError) else answer
