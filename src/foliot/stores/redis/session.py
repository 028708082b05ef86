"""A session: it reads entries, writes changes, and handles the answers of the scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, TypeVar

from redis.exceptions import ResponseError

from foliot.errors import DamagedRecordError, NodeBuriedError
from foliot.model.attempt import Attempt
from foliot.model.damage import Damage, Flaw, damage_of
from foliot.model.state import CORRECTION, Node, Record, Skip
from foliot.model.view import NodeView
from foliot.stores.herd import Herds
from foliot.stores.matching import Key
from foliot.stores.optimistic import rows
from foliot.stores.optimistic.change import Change, Past, set_aside
from foliot.stores.optimistic.entry import Entry, Name, name_of
from foliot.stores.optimistic.revision import AT_ONCE, Effect, RevisionSession, StaleBaseError, Step
from foliot.stores.optimistic.session import ClaimedElsewhereError, Guard, Losses
from foliot.stores.redis import codec, layout
from foliot.stores.redis.asking import pairs, text_of
from foliot.stores.redis.encode import Encoder, Operation, operation_words
from foliot.stores.redis.record import Records
from foliot.stores.redis.regression import HeldError
from foliot.stores.redis.script import Call
from foliot.stores.redis.shared import Shared
from foliot.stores.redis.stage import RedisStage, revision_operations
from foliot.stores.redis.wire import Wire
from foliot.stores.redis.written import Written
from foliot.stores.sql.codes import UNREADABLE, an_instant, whole

Answer = TypeVar("Answer")
_MICROSECOND = timedelta(microseconds=1)
_READ_AT_ONCE = 500
_DEAD_ARE_REMEMBERED = timedelta(days=30)


class RedisSession(Records, RevisionSession):
    """Reads entries and writes changes, over one connection."""

    def __init__(self, wire: Wire, shared: Shared) -> None:
        super().__init__(wire, shared)
        self._encoder = Encoder(self.definitions, shared.marks, shared.starts)
        self.herds = Herds(self.definitions.mould)

    def timed(self, work: Callable[[RedisSession], Answer]) -> Answer:
        """Do some work, and measure its time."""
        clock = self.shared.clock
        began = clock.monotonic()
        try:
            return self.until_healed(lambda: work(self))
        finally:
            self.shared.counts.note_call(self.verb, clock.monotonic() - began)

    # -- reading -----------------------------------------------------------------------------------

    def entries(self, keys: Collection[str], *, remembered: bool = False) -> dict[str, Entry]:
        known = self.shared.entries
        # Other threads change this dictionary, too: a key that was there may be gone.
        found = {key: one for key in keys if (one := known.get(key)) is not None} if remembered else {}
        wanted = [key for key in keys if key not in found]
        found |= self._read_all(wanted)
        if len(found) < len(keys) and self.help_apply():
            found |= self._read_all([key for key in wanted if key not in found])
        return found

    def _read_all(self, wanted: Sequence[str]) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for start in range(0, len(wanted), _READ_AT_ONCE):
            part = wanted[start : start + _READ_AT_ONCE]
            texts, definitions, damaged = self.ask_all(
                [("HMGET", "s", *part), ("HMGET", "d", *part), ("HMGET", "damaged", *part)]
            )
            rows = zip(part, texts, definitions, strict=True)
            there = [(key, text, definition or b"") for key, text, definition in rows if text is not None]
            for entry, told in zip(self.read(there), _present(damaged, texts), strict=True):
                if told is not None:
                    entry.damage = Damage(told.decode(errors="replace"))
                found[entry.key] = entry
        return found

    def read(self, rows: Sequence[tuple[str, bytes, bytes]]) -> list[Entry]:
        """The entries of keys, texts and definitions."""
        texts = [(key, text_of(text), text_of(definition)) for key, text, definition in rows]
        self.learn(definition for _, _, definition in texts)
        return [self.entry(*row) for row in texts]

    def learn(self, definitions: Iterable[str]) -> None:
        """Read the frames of definitions that are not cached."""
        self.definitions.learn(definitions, lambda digests: self.ask("HMGET", "frames", *digests))

    def entry(self, key: str, text: str, definition: str) -> Entry:
        """The entry of a job's texts."""
        entry = Entry(key, text.partition(" ")[0] or text)
        try:
            state, attempts, entry.orders, entry.tally = codec.read_body(key, text)
            entry.remains = state, attempts
            entry.record = Record(self.definitions.job(key, definition), state, attempts)
            entry.remains = None
        except DamagedRecordError as error:
            entry.damage = damage_of(error)
        except UNREADABLE as error:
            entry.damage = Damage(f"{type(error).__name__}: {error}", Flaw.STRUCTURE)
        return entry

    def orders(self, key: str, attempts: Sequence[Attempt]) -> Mapping[Name, int]:
        texts = self.ask("HMGET", f"h:{key}", *map(layout.attempt_id, attempts)) if attempts else ()
        found = zip(attempts, texts, strict=True)
        return {name_of(attempt): json.loads(text)[0] for attempt, text in found if text is not None}

    def past(self, key: str) -> Past:
        attempts, skips = self.ask_all([("HVALS", f"h:{key}"), ("HGETALL", f"k:{key}")])
        return Past(
            tuple(rows.read_ended(key, text) for text in attempts),
            tuple(read_skip(key, *pair) for pair in pairs(skips)),
        )

    def past_skips(self, key: str) -> list[Skip]:
        """The skips of a job."""
        return [read_skip(key, *pair) for pair in pairs(self.ask("HGETALL", f"k:{key}"))]

    # -- writing -----------------------------------------------------------------------------------

    def write(self, changes: Sequence[Change], guard: Guard) -> Collection[str]:
        parts = [changes[n : n + AT_ONCE] for n in range(0, len(changes), AT_ONCE)] or [()]
        refused: set[str] = set()
        while parts:
            encoded = [self.encode(part, guard.claim_id) for part in parts]
            answers = self.run(
                "commit",
                *(
                    Call(self._facts(guard, part), words)
                    for part, (_, _, words) in zip(parts, encoded, strict=True)
                ),
            )
            left = []
            for part, (marks, news, words), (status, facts, seq) in zip(parts, encoded, answers, strict=True):
                if status == "FROZEN":
                    left.append(part)
                    self.wait_for(facts)
                    continue
                self.understand(status, guard)
                places = set(range(1, len(part) + 1)) if status == "LATE" else set(facts)
                refused |= {part[place - 1].key for place in places}  # place 0: operations without a job
                self.shared.counts.conflicts[self.verb] += len(places)
                # A job that is set aside gets no new mark, so this write cannot be repeated after a loss.
                asides = {place for place, change in enumerate(part, start=1) if change.aside is not None}
                self.keep(Written({}, words), len(part), places | asides, seq)
                self._remember(part, marks, places)
                self.definitions.told(news)
            parts = left
        return refused

    def write_with(self, change: Change, operations: Sequence[Operation]) -> bool:
        """Delete history of one job, if the job has not changed. Returns whether it was written.

        This works on a full server, too.
        """
        _, _, words = self.encode((change,), more=operations)
        while True:
            ((status, refused, seq),) = self.run("forget", Call({"whole": True}, words))
            if status == "FROZEN":
                self.wait_for(refused)
                continue
            if not refused:
                self.shared.ring.add(Written({"whole": True}, words), 1, seq)
            return not refused

    def keep(self, written: Written, size: int, refused: Collection[int], seq: int) -> None:
        """Remember a write of `size` jobs, without the refused ones, because the server may lose it."""
        kept = [place for place in range(1, size + 1) if place not in refused]
        if kept:
            self.shared.ring.add(written.at(kept) if refused else written, len(kept), seq)

    def facts_of(self, guard: Guard) -> dict[str, Any]:
        """The conditions of a guard, as facts for the scripts."""
        facts: dict[str, Any] = {"needs_lease": guard.needs_lease, "has_news": guard.has_news}
        if guard.node is not None:
            facts["node"] = guard.node
        if guard.claim_id is not None:
            kept = max(1000, self.shared.lease // timedelta(milliseconds=1))
            facts |= {"claim": guard.claim_id, "asker": guard.asker, "kept": kept}
        return facts

    def _facts(self, guard: Guard, part: Sequence[Change]) -> dict[str, Any]:
        facts = self.facts_of(guard)
        starts = [
            (place, change.after.job.group, len(started))
            for place, change in enumerate(part, start=1)
            if change.after is not None and (started := change.group_starts)
        ]
        if starts:
            facts |= {"starts": starts, "limits": dict(guard.limits)}
        return facts

    def understand(self, status: str, guard: Guard) -> None:
        """Handle a script's status. Raises if a condition of the guard does not hold."""
        if status == "BURIED":
            raise NodeBuriedError(str(guard.node))
        if status == "CLAIMED":
            raise ClaimedElsewhereError
        if status == "STALE":
            raise StaleBaseError

    def encode(
        self, changes: Sequence[Change], claim_id: str | None = None, more: Sequence[Operation] = ()
    ) -> tuple[list[str], list[Operation], list[Any]]:
        """The new marks of jobs, the frames and lanes to send, and all words."""
        news = self._encoder.shared(changes)
        words, marks = operation_words([*news, *more]), []
        for change in changes:
            mark, more_words = self._encoder.words(change, claim_id)
            marks.append(mark)
            words += more_words
        return marks, [one for one in news if one[0] == "HSET"], words

    def _remember(self, part: Sequence[Change], marks: Sequence[str], refused: Collection[int]) -> None:
        for place, (change, mark) in enumerate(zip(part, marks, strict=True), start=1):
            if place in refused or change.after is None or change.aside is not None:
                self.shared.entries.pop(change.key, None)
            elif change.after.attempts:
                self.shared.remember(Entry(change.key, mark, change.after, change.tally, change.orders))
            else:
                self.shared.entries.pop(change.key, None)

    def set_aside(self, entries: Sequence[Entry]) -> None:
        """Set jobs aside that a query could not read, if they have not changed since."""
        changes = [set_aside(entry, entry.damage) for entry in entries if entry.damage is not None]
        # Such as a server that is full, or that is being healed: what was asked for has been read.
        with suppress(ResponseError, HeldError):
            if changes:
                self.write(changes, Guard())

    # -- revisions ---------------------------------------------------------------------------------

    def revision(self, source: str) -> str | None:
        found = self.ask("HGET", "rev", source)
        return None if found is None else str(found, "utf-8")

    def write_revision(self, step: Step, changes: Sequence[Change], effect: Effect) -> Collection[str]:
        facts: dict[str, Any] = {"whole": True, "has_news": effect.has_news, "source": step.source}
        if step.base is not None:
            facts["base"] = step.base
        while True:
            more = revision_operations(self, step, effect)
            marks, news, words = self.encode(changes, more=more)
            ((status, found, seq),) = self.run("commit", Call(facts, words))
            if status == "FROZEN":
                self.wait_for(found)
                continue
            self.understand(status, Guard())
            if not found:
                self.shared.ring.add(Written(facts, words), len(changes), seq)
                self._remember(changes, marks, ())
                self.definitions.told(news)
            return {changes[place - 1].key for place in found}

    def stage(self, step: Step) -> RedisStage:
        return RedisStage(self, step)

    # -- the dead ----------------------------------------------------------------------------------

    def bury(self, limit: int, now: datetime) -> Losses:
        _, (count_, *words) = self.run_one(
            "bury",
            now=whole(now),
            limit=limit,
            lease=self.shared.lease // _MICROSECOND,
            correction=CORRECTION // _MICROSECOND,
            remembered=_DEAD_ARE_REMEMBERED // _MICROSECOND,
        )
        end = 4 * int(count_)
        buried = [node_view(*words[at : at + 4]) for at in range(0, end, 4)]
        lost: dict[str, list[tuple[str, Key]]] = {}
        held = [text_of(word) for word in words[end:]]
        for node, name in list(zip(held[::2], held[1::2], strict=True))[:limit]:
            job, identity = layout.split_name(name)
            lost.setdefault(job, []).append((node, layout.key_of(job, identity)))
        return Losses(tuple(buried), lost, len(held) // 2 > limit)

    def drop_holds(self, holds: Sequence[tuple[str, str, Key]]) -> None:
        self.ask_all(
            [
                (command, f"{kind}:{node}", layout.held_name(job, layout.id_of(job, *key)))
                for node, job, key in holds
                for command, kind in (("HDEL", "o"), ("SREM", "x"))
            ]
        )


def _present(values: Sequence[Any], texts: Sequence[Any]) -> list[Any]:
    return [value for value, text in zip(values, texts, strict=True) if text is not None]


def read_skip(job: str, name: bytes, reason: bytes) -> Skip:
    """A skip of a job."""
    text = str(name, "ascii")
    first, last = layout.time_number(text), layout.time_number(text[layout.DIGITS :])
    return Skip(job, an_instant(first), an_instant(last), text_of(reason))


def node_view(id_: bytes, facts: bytes, until: bytes, held: bytes | int) -> NodeView:
    """The view of a node. If its facts cannot be read, the view has only the id."""
    try:
        node = rows.read_node(facts)
    except UNREADABLE:
        node = Node(text_of(id_))
    return NodeView(node, an_instant(int(until)), int(held))
