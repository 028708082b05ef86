"""A session: it reads entries, writes changes, and handles the server's answers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from pymongo import UpdateOne

from foliot.errors import NodeBuriedError, StoreError
from foliot.model.attempt import Attempt
from foliot.model.damage import Damage
from foliot.model.state import Skip
from foliot.stores.herd import Herds
from foliot.stores.matching import Key
from foliot.stores.mongodb import codec
from foliot.stores.mongodb.asking import Shared
from foliot.stores.mongodb.burial import Burials
from foliot.stores.mongodb.codec import Encoder, MongoEntry
from foliot.stores.mongodb.connection import DRIVER_ERRORS, Document
from foliot.stores.mongodb.place import Places
from foliot.stores.mongodb.stage import MongoStage, write_at_once
from foliot.stores.mongodb.transaction import Transactions
from foliot.stores.optimistic.change import Change, Past, set_aside
from foliot.stores.optimistic.entry import Entry, Name, name_of
from foliot.stores.optimistic.names import DIGITS, attempt_id, id_of, time_number
from foliot.stores.optimistic.revision import Effect, RevisionSession, Step
from foliot.stores.optimistic.rows import read_ended, write_body
from foliot.stores.optimistic.session import ClaimedElsewhereError, Guard, Losses
from foliot.stores.sql.codes import UNREADABLE, an_instant

_AT_ONCE = 500
MOST_BYTES = 12_000_000  # of a job's document: MongoDB keeps 16 MB, and a revision under way takes some of it
_MANY = 100  # open attempts; a job with fewer is not large
_BYTES_OF_CHARACTER = 2  # an estimate that includes the other fields of an attempt


class MongoSession(Burials, Places, Transactions, RevisionSession):
    """Reads entries and writes changes, in one thread."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._encoder = Encoder(self.definitions)
        self.next_place = self._encoder.next_place
        self.herds = Herds(self.definitions.mould)
        self.is_late = False  # whether a claim was refused because the node's lease has run out

    def catch_up(self, verb: str) -> None:
        super().catch_up(verb)
        self.staging, self.is_late = None, False

    def give_up(self, source: str) -> None:
        """End this session's revision, if it does not count yet."""
        with suppress(*DRIVER_ERRORS):
            if self.staging is not None:
                self.abort(source, self.staging)

    # -- reading -----------------------------------------------------------------------------------

    def entries(self, keys: Collection[str], *, remembered: bool = False) -> dict[str, Entry]:
        known = self.shared.entries
        # Other threads change this dictionary, too: a key that was there may be gone.
        found = {key: one for key in keys if (one := known.get(key)) is not None} if remembered else {}
        wanted = [key for key in keys if key not in found]
        while True:
            read = self.peek(wanted)
            if self.settle_staged(read.values()):
                break
        is_staging = self.staging is not None
        return found | {key: one for key, one in read.items() if is_staging or not one.is_hidden}

    def peek(self, keys: Sequence[str]) -> dict[str, MongoEntry]:
        """Jobs as they are stored, without regard to revisions under way."""
        found: dict[str, MongoEntry] = {}
        for start in range(0, len(keys), _AT_ONCE):
            documents = self["jobs"].find({"_id": {"$in": list(keys[start : start + _AT_ONCE])}})
            found |= {entry.key: entry for entry in self.read(list(documents))}
        return found

    def read(self, documents: Sequence[Document]) -> list[MongoEntry]:
        """The entries of documents. It also removes the rest of deleted jobs."""
        self.learn(documents)
        entries = []
        for document in documents:
            entry = codec.read_entry(document, self.definitions)
            if entry.is_hidden and entry.staged is None:
                self.carry_out({entry.key: entry.outbox})
                self.forget_jobs([entry.key], entry.mark)
            else:
                entries.append(entry)
        return entries

    def learn(self, documents: Iterable[Document]) -> None:
        """Read the frames of documents that are not cached."""
        texts = (text for one in documents if isinstance(text := one.get("d"), str))
        self.definitions.learn(texts, self.frames)

    def frames(self, digests: Sequence[str]) -> list[str | None]:
        """The frames of these digests."""
        found = {one["_id"]: one["f"] for one in self["frames"].find({"_id": {"$in": list(digests)}})}
        return [found.get(digest) for digest in digests]

    def orders(self, key: str, attempts: Sequence[Attempt]) -> Mapping[Name, int]:
        if not attempts:
            return {}
        self.settle_past(key)
        ids = {attempt_id(attempt): name_of(attempt) for attempt in attempts}
        rows = self["history"].find({"j": key, "i": {"$in": list(ids)}})
        return {ids[one["i"]]: json.loads(one["a"])[0] for one in rows}

    def settle_past(self, key: str) -> None:
        """Carry out a job's outbox, so that its history is complete."""
        one = self["jobs"].find_one({"_id": key}, {"m": 1, "e": 1})
        if one is not None and one.get("e"):
            self.settle_outboxes({key: (one.get("m", ""), one["e"])})

    def past(self, key: str) -> Past:
        self.settle_past(key)
        attempts = []
        for one in self["history"].find({"j": key}):
            with suppress(*UNREADABLE):
                attempts.append(read_ended(key, one["a"]))
        return Past(tuple(attempts), tuple(self.past_skips(key)))

    def past_skips(self, key: str) -> list[Skip]:
        """The skips of a job."""
        return [read_skip(one) for one in self["skips"].find({"j": key})]

    # -- writing -----------------------------------------------------------------------------------

    def write(self, changes: Sequence[Change], guard: Guard) -> Collection[str]:
        if not self.may_write(guard):
            self.is_late = True
            return {change.key for change in changes}
        refused: set[str] = set()
        for start in range(0, len(changes), _AT_ONCE):
            part = changes[start : start + _AT_ONCE]
            full = self.take_places(part, guard.limits)
            small = self._small([one for one in part if one.key not in full], guard)
            refused |= {one.key for one in part} - {one.key for one in small}
            refused |= self._write(small, guard.claim_id)
        if guard.has_news:
            self.hint()
        return refused

    def _small(self, changes: Sequence[Change], guard: Guard) -> list[Change]:
        """The changes of jobs that fit into a document. A job that is too large is set aside."""
        large = [one for one in changes if one.after is not None and _size(one) > MOST_BYTES]
        if not large:
            return list(changes)
        reason = f"with {_opened(large[0])} open attempts it is too large for MongoDB"
        if guard.node is None:
            raise StoreError(f"{self.verb}: {large[0].key}: {reason}", hint="let some of its runs end first")
        self._write([set_aside(one.entry, Damage(reason)) for one in large])
        return [one for one in changes if one not in large]

    def may_write(self, guard: Guard) -> bool:
        """Whether the guard holds: the node lives, has its lease if needed, and owns its claim id."""
        if guard.node is None:
            return True
        found = self.check_node(guard.node, guard.claim_id, guard.asker)
        if found is None:
            raise NodeBuriedError(guard.node)
        if guard.claim_id is not None and found.asker != guard.asker:
            raise ClaimedElsewhereError
        return found.is_in_time or not guard.needs_lease

    def _write(self, changes: Sequence[Change], claim_id: str | None = None) -> set[str]:
        """Write jobs, each if no other writer has changed it. Returns the keys of the others."""
        if not changes:
            return set()
        mark = self.new_mark()
        fields = [None if one.aside is not None else self._encoder.fields(one, claim_id) for one in changes]
        self.tell_definitions(changes)
        self.settle_outboxes(outboxes_of(changes))
        outboxes = {
            one.key: field.get("e") or ()
            for one, field in zip(changes, fields, strict=True)
            if field is not None and (field.get("e") or one.after is None)
        }
        writes = {
            one.key: codec.aside(one) if field is None else codec.guarded(one.entry, mark, field)
            for one, field in zip(changes, fields, strict=True)
        }
        forgotten = [one.key for one in changes if one.after is None]
        refused = self.write_with_outboxes(mark, writes, outboxes, forgotten)
        self._remember(changes, fields, mark, refused)
        return refused

    def new_mark(self) -> str:
        """A new mark. No other write has the same."""
        return next(self.shared.marks)

    def write_with_outboxes(
        self,
        mark: str,
        writes: Mapping[str, UpdateOne],
        outboxes: Mapping[str, Sequence[codec.Effect]],
        forgotten: Collection[str] = (),
    ) -> set[str]:
        """Write jobs, and carry out their outboxes. Returns the keys that another writer has changed.

        `forgotten`: jobs that are deleted at the end.
        """
        if not outboxes:
            return self.write_jobs(list(writes), list(writes.values()))
        with self.step("note"):
            self.note_write(mark, list(outboxes))
        refused = self.write_jobs(list(writes), list(writes.values()))
        with self.step("carry"):
            self.carry_out({key: outbox for key, outbox in outboxes.items() if key not in refused})
            self.forget_jobs([key for key in forgotten if key not in refused], mark)
        self.drop_note(mark)
        return refused

    def tell_definitions(self, changes: Iterable[Change]) -> None:
        """Write the frames of new definitions, before the jobs that name them."""
        jobs = [one.after.job for one in changes if one.after and (one.is_defined or one.version)]
        jobs += [one.version.job for one in changes if one.version and one.version.job]
        self.tell_frames(jobs)

    def _remember(
        self,
        changes: Sequence[Change],
        fields: Sequence[Document | None],
        mark: str,
        refused: Collection[str],
    ) -> None:
        for change, field in zip(changes, fields, strict=True):
            after = change.after
            if change.key in refused or after is None or field is None or not after.attempts:
                self.shared.entries.pop(change.key, None)
                continue
            entry = MongoEntry(change.key, mark)
            entry.record, entry.tally, entry.orders = after, change.tally, change.orders
            entry.claims = {one["i"]: (one["k"], one["p"]) for one in field["c"] or () if "k" in one}
            entry.is_aside = isinstance(change.entry, MongoEntry) and change.entry.is_aside
            self.shared.remember(entry)

    def write_trim(self, change: Change) -> bool:
        """Write the counters of a history. False if another writer has changed the job."""
        return not self._write((change,))

    def set_aside(self, entries: Sequence[Entry]) -> None:
        """Set jobs aside that a query could not read, if they have not changed since."""
        changes = [set_aside(entry, entry.damage) for entry in entries if entry.damage is not None]
        with suppress(StoreError):  # the query itself was answered
            self._write(changes)

    # -- revisions ---------------------------------------------------------------------------------

    def revision(self, source: str) -> str | None:
        found = self["sources"].find_one({"_id": source}, {"revision": 1})
        revision: str | None = found.get("revision") if found else None
        return revision

    def write_revision(self, step: Step, changes: Sequence[Change], effect: Effect) -> Collection[str]:
        return write_at_once(self, step, changes, effect)

    def stage(self, step: Step) -> MongoStage:
        return MongoStage(self, step)

    def prepare(self, changes: Sequence[Change], id_: str) -> set[str]:
        """Store a revision's new version in each job. Returns the keys that another writer has changed."""
        mark = next(self.shared.marks)
        self.tell_definitions(changes)
        self.settle_outboxes(outboxes_of(changes))
        writes = []
        for change in changes:
            new = {**self._encoder.fields(change), "m": f"{mark}+"}
            new.pop("next", None)
            writes.append(codec.prepared(change.entry, mark, {"r": id_, "set": new}))
        with self.step("prepare"):
            return self.write_jobs([change.key for change in changes], writes)

    # -- the dead ----------------------------------------------------------------------------------

    def bury(self, limit: int, now: datetime) -> Losses:
        return self.bury_nodes(limit, now)

    def drop_holds(self, holds: Sequence[tuple[str, str, Key]]) -> None:
        self.write_all(
            "jobs",
            [
                UpdateOne({"_id": job}, {"$pull": {"c": {"i": id_of(job, *key), "n": node}}})
                for node, job, key in holds
            ],
        )


def _opened(change: Change) -> int:
    return len(change.after.attempts) if change.after else 0


def _size(change: Change) -> int:
    """About how large a job will be. Only a job with many open attempts is measured."""
    if _opened(change) < _MANY or change.after is None:
        return 0
    return len(write_body(change.after, change.orders, change.tally)) * _BYTES_OF_CHARACTER


def outboxes_of(changes: Iterable[Change]) -> dict[str, tuple[str, Sequence[codec.Effect]]]:
    """The outboxes of jobs, as they were read."""
    entries = (one.entry for one in changes)
    return {one.key: (one.mark, one.outbox) for one in entries if isinstance(one, MongoEntry) and one.outbox}


def read_skip(document: Document) -> Skip:
    """The skip of a document."""
    name: str = document["_id"]
    job, first = name[DIGITS:].rsplit("\0", 1)
    return Skip(job, an_instant(time_number(first)), an_instant(time_number(name)), document["why"])
