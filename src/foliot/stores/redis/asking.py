"""A connection: it sends commands and scripts, and checks in each answer whether the server has lost data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import Any, NamedTuple, TypeVar

from foliot.errors import StoreUnavailableError
from foliot.stores.redis import regression, script
from foliot.stores.redis.definition import Definitions
from foliot.stores.redis.regression import HeldError
from foliot.stores.redis.script import Call
from foliot.stores.redis.shared import Shared
from foliot.stores.redis.wire import Answer, Command, Wire

_DECISIVE = frozenset(("claim", "finish", "recover", "update", "reconcile"))
_A_MOMENT = 0.01  # seconds between two looks at a frozen source
_BETWEEN_TRIES = 0.05  # seconds between two tries to write while lost data is written again
_PART_OF_LEASE = 8  # a call waits for this part of the lease: less than its deadline


Result = TypeVar("Result")


class Answered(NamedTuple):
    """The answer of a script: status, facts, and the count of writes."""

    status: str
    facts: list[Any]
    seq: int


class Asking:
    """One connection, and what it has learned."""

    def __init__(self, wire: Wire, shared: Shared) -> None:
        self.wire = wire
        self.shared = shared
        self.definitions = Definitions()
        self.verb = ""  # of the call that is under way
        self._losses = shared.losses

    def catch_up(self, verb: str) -> None:
        """Before a call: the server may have forgotten what this process has sent to it earlier."""
        self.verb = verb
        regression.catch_up(self.wire, self.shared)
        if self.shared.is_unconfirmed and verb in _DECISIVE:
            # A repeated call may read a write of the first call that is not confirmed yet. The server only
            # confirms writes of the same connection, so this one writes something and asks.
            self.wire.ask_surely((("HSET", f"{self.shared.prefix}:meta", "confirmed", verb),))
            self.shared.is_unconfirmed = False
        if self._losses != self.shared.losses:
            self._losses = self.shared.losses
            self.definitions.forget()

    def until_healed(self, work: Callable[[], Result]) -> Result:
        """Carry out a call. While processes write lost data again, wait, and begin the call anew.

        It must read again, too: an attempt that was missing may be there afterwards. HeldError if it takes
        too long.
        """
        left = self.shared.lease.total_seconds() / _PART_OF_LEASE / _BETWEEN_TRIES
        while True:
            try:
                return work()
            except HeldError:
                if left < 1:
                    raise
            left -= 1
            Event().wait(_BETWEEN_TRIES)
            regression.catch_up(self.wire, self.shared)

    # -- asking ------------------------------------------------------------------------------------

    def ask(self, command: str, key: str, *words: Any) -> Answer:
        """One command about one key."""
        return self.wire.ask(command, f"{self.shared.prefix}:{key}", *words)

    def ask_all(self, commands: Sequence[Command]) -> list[Answer]:
        """Send several commands at once, each about one key. A refusal raises."""
        prefix = self.shared.prefix
        answers = (
            self.wire.ask_all([(c[0], f"{prefix}:{c[1]}", *c[2:]) for c in commands]) if commands else []
        )
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def run(self, name: str, *calls: Call) -> list[Answered]:
        """The answers of a script. It handles the statuses that every script may return."""
        shared, before, begins = self.shared, self.shared.seq, self.shared.begins
        known = shared.known()
        self._pass("before", name, calls)
        told = [
            Call({**call.facts, **known}, call.words) for call in calls
        ]  # the server's slow log shows the first facts
        try:
            answers = script.run(self.wire, shared.prefix, name, told, shared.counts)
        except BaseException:
            shared.is_unconfirmed = shared.is_unconfirmed or (name != "look" and self.wire.confirms)
            raise
        self._pass("after", name, calls)
        if begins != shared.begins:
            # The answer may come from before a loss. The connection that heals did not know of this write, so
            # it must not count as confirmed.
            raise StoreUnavailableError(self.verb, "the server was replaced while it answered")
        found = [Answered(str(status, "ascii"), facts, int(seq)) for status, _, seq, *facts in answers]
        if any(one.status == "BIRTH" for one in found):
            self._begin_anew(name, str(known["birth"]))
        began, seq = min(int(answer[1]) for answer in answers), max(one.seq for one in found)
        if began < before and shared.seq > seq:
            raise regression.count_back(self.wire, shared, before, began, seq)
        shared.seq = max(shared.seq, seq)
        if any(one.status == "HELD" for one in found):
            raise HeldError
        return found

    def _pass(self, side: str, name: str, calls: Sequence[Call]) -> None:
        """A failpoint: tests end the process here, at each write of a verb and at each script by its name."""
        if name != "look":
            self.shared.failpoint(f"{self.verb}:{side}_commit")
        step = calls[0].facts.get("step", name) if calls else name
        self.shared.failpoint(f"{self.verb}.{step}:{side}")

    def run_one(self, name: str, words: Sequence[str | int] = (), **facts: Any) -> tuple[str, list[Any]]:
        """The answer to one call of a script."""
        ((status, found, _),) = self.run(name, Call(facts, words))
        return status, found

    def begin(self, run_id: str) -> None:
        """Create the store if there is none, and read its birth."""
        shared = self.shared
        shared.birth, shared.seq, _ = regression.begin(self.wire, shared, run_id)
        shared.run_id = run_id

    def _begin_anew(self, verb: str, known: str) -> None:
        """The server has other data than this process knew: begin with the new data."""
        shared = self.shared
        with shared.lock:
            if shared.birth == known:  # otherwise another connection has noticed it already
                birth, seq, _ = regression.begin(self.wire, shared, shared.run_id)
                regression.begin_anew(shared, birth, seq)
        raise regression.went_back(verb, shared.counts.last_regression)

    # -- revisions under way -----------------------------------------------------------------------

    def wait_for(self, frozen: Sequence[Any]) -> None:
        """A source is frozen: apply its revision if that counts already; otherwise wait for a short time."""
        stage, is_applying = frozen
        if is_applying:
            self.apply(str(stage, "ascii"))
        else:
            Event().wait(_A_MOMENT)
            if self.wire.is_given_up:
                raise StoreUnavailableError("write", "a revision of the source took too long")

    def apply(self, stage: str) -> None:
        """Apply a committed revision to the end."""
        while self.run_one("stage", step="apply", stage=stage)[1][0] > 0:
            pass
        self.shared.entries.clear()

    def help_apply(self) -> bool:
        """Apply committed revisions to the end, because queries must not show half of one.

        Returns whether there was one.
        """
        stages = self.ask("HKEYS", "applying")
        for stage in stages:
            self.apply(str(stage, "ascii"))
        return bool(stages)


def pairs(flat: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Names and values of a hash."""
    return zip(flat[::2], flat[1::2], strict=True)


def text_of(word: bytes) -> str:
    """Decode a text. Invalid bytes are replaced."""
    return word.decode(errors="replace")
