"""How a connection asks: commands, scripts, and what each answer tells of the store as a whole."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import count
from threading import Event
from typing import Any
from uuid import uuid4

from foliot.errors import StoreUnavailableError
from foliot.protocols import Clock
from foliot.stores.optimistic.entry import Entry
from foliot.stores.redis import script
from foliot.stores.redis.definition import Definitions
from foliot.stores.redis.script import Call
from foliot.stores.redis.wire import Answer, Command, Wire

SCHEMA = 1
_MOST_REMEMBERED = 20_000
_A_MOMENT = 0.01  # seconds, until a source that is held still is asked about again


class Shared:
    """What all connections of one store know together.

    `birth` names the data; `seq` is the highest count of writes that was seen. `entries` are jobs as this
    process has written them last: a finish need not read what its own claim wrote.
    """

    def __init__(
        self,
        prefix: str,
        clock: Clock,
        lease: timedelta,
        told: Callable[[], int | None] = lambda: None,
        failpoint: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.prefix = prefix
        self.failpoint = failpoint
        self.clock = clock
        self.lease = lease
        self.told = told
        self.birth = ""
        self.seq = 0
        self.losses = 0  # how often the server was seen to have forgotten something
        self.entries: OrderedDict[str, Entry] = OrderedDict()
        writer = uuid4().hex[:12]
        # Not a generator: several threads ask, and a generator that is asked by two at once raises.
        self.marks: Iterator[str] = map(f"{writer}.{{:x}}".format, count(1))
        self.lanes: dict[str, tuple[str, str]] = {}

    def forget(self) -> None:
        """The server has forgotten something: what this process knows of it may be wrong."""
        self.losses += 1
        self.entries.clear()
        self.lanes = {}

    def remember(self, entry: Entry) -> None:
        """This is how a job was written."""
        self.entries[entry.key] = entry
        self.entries.move_to_end(entry.key)
        while len(self.entries) > _MOST_REMEMBERED:
            self.entries.popitem(last=False)


class Asking:
    """One connection, and what it has learned."""

    def __init__(self, wire: Wire, shared: Shared) -> None:
        self.wire = wire
        self.shared = shared
        self.definitions = Definitions()
        self.verb = ""  # of the call that is under way
        self._losses = shared.losses

    def catch_up(self, verb: str) -> None:
        """Before a call: what the server was told once, it may have forgotten since."""
        self.verb = verb
        if self._losses != self.shared.losses:
            self._losses = self.shared.losses
            self.definitions.forget()

    # -- asking ------------------------------------------------------------------------------------

    def ask(self, command: str, key: str, *words: Any) -> Answer:
        """One command about one key."""
        return self.wire.ask(command, f"{self.shared.prefix}:{key}", *words)

    def ask_all(self, commands: Sequence[Command]) -> list[Answer]:
        """Some commands at once, each about one key; what is refused raises."""
        prefix = self.shared.prefix
        answers = (
            self.wire.ask_all([(c[0], f"{prefix}:{c[1]}", *c[2:]) for c in commands]) if commands else []
        )
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def run(self, name: str, *calls: Call) -> list[Answer]:
        """The answers of a script: status and facts. What every call tells is seen to here."""
        shared, told, before = self.shared, self.shared.told(), self.shared.seq
        known = {"birth": shared.birth, **({} if told is None else {"told": told})}
        is_write = name != "look"
        if is_write:
            shared.failpoint(f"{self.verb}:before_commit")
        answers = script.run(
            self.wire, shared.prefix, name, [Call({**known, **call.facts}, call.words) for call in calls]
        )
        if is_write:
            shared.failpoint(f"{self.verb}:after_commit")
        found = [(str(status, "ascii"), facts) for status, _, _, *facts in answers]
        if any(status == "BIRTH" for status, _ in found):
            self.begin(name)
        self._check_seq(name, before, [(int(began), int(seq)) for _, began, seq, *_ in answers])
        return found

    def run_one(self, name: str, words: Sequence[str | int] = (), **facts: Any) -> tuple[str, list[Any]]:
        """The answer to one call of a script."""
        ((status, found),) = self.run(name, Call(facts, words))
        return status, found

    def begin(self, verb: str = "") -> None:
        """Make the store if there is none, and learn its birth. With a verb: the data was another's."""
        shared = self.shared
        call = Call({"birth": uuid4().hex, "schema": str(SCHEMA)})
        ((_, _, seq, birth, _),) = script.run(self.wire, shared.prefix, "begin", [call])
        shared.birth, shared.seq = str(birth, "ascii"), int(seq)
        if verb:
            shared.forget()
            raise went_back(verb, "its data is gone, or is other data than before")

    def _check_seq(self, verb: str, before: int, counts: Sequence[tuple[int, int]]) -> None:
        """A count below one that was seen before the call: the server has lost what it had answered."""
        shared, began, seq = self.shared, min(began for began, _ in counts), max(seq for _, seq in counts)
        if began < before:
            lost, shared.seq = before - began, seq
            shared.forget()
            raise went_back(verb, f"{lost} writes that it had answered are gone, or more")
        shared.seq = max(shared.seq, seq)

    # -- revisions under way -----------------------------------------------------------------------

    def wait_for(self, frozen: Sequence[Any]) -> None:
        """A source is held still: help the revision that counts already, or wait a moment for the other."""
        stage, is_applying = frozen
        if is_applying:
            self.apply(str(stage, "ascii"))
        else:
            Event().wait(_A_MOMENT)
            if self.wire.is_given_up:
                raise StoreUnavailableError("write", "a revision of the source took too long")

    def apply(self, stage: str) -> None:
        """Apply a revision that counts, to the end."""
        while self.run_one("stage", step="apply", stage=stage)[1][0] > 0:
            pass
        self.shared.entries.clear()

    def help_apply(self) -> bool:
        """Apply what counts already: questions must not show half of it. Whether there was something."""
        stages = self.ask("HKEYS", "applying")
        for stage in stages:
            self.apply(str(stage, "ascii"))
        return bool(stages)


def went_back(verb: str, how: str) -> StoreUnavailableError:
    """The server has forgotten something."""
    return StoreUnavailableError(
        verb,
        f"the store has gone back in time: {how}",
        hint="was the server flushed, restored, or failed over? What it has forgotten may run again",
    )


def pairs(flat: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Names and values of a hash."""
    return zip(flat[::2], flat[1::2], strict=True)


def text_of(word: bytes) -> str:
    """A text of the store; what is none is shown as well as it can be."""
    return word.decode(errors="replace")
