"""Turns jobs into documents and back, and makes the guarded write of a document.

A write finds a job by its `_id` alone, and compares the mark within a pipeline. If another writer was
quicker, the pipeline fails, and the driver reports which of many writes failed. The server finds an `_id`
without planning, so this is also quicker than a filter by `_id` and mark (docs/adr/0044).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pymongo import InsertOne, UpdateOne

from foliot.errors import DamagedRecordError
from foliot.model.attempt import Attempt, AttemptState
from foliot.model.damage import Damage, Flaw, damage_of
from foliot.model.json_text import clean_text
from foliot.model.state import Record, State
from foliot.stores.mongodb import layout
from foliot.stores.mongodb.connection import Document
from foliot.stores.optimistic.change import Change
from foliot.stores.optimistic.definition import Definitions
from foliot.stores.optimistic.entry import Entry
from foliot.stores.optimistic.names import attempt_id, run_member, skip_member
from foliot.stores.optimistic.rows import read_body, write_body, write_ended
from foliot.stores.sql.codes import UNREADABLE, micros, whole

# All optional fields: a write removes those that are None.
REMOVABLE = ("q", "w", "d", "b", "c", "z", "r", "e", "x", "next")
_UNREADABLE_MARK = "?"
Claim = tuple[str, int]  # a claim id, and the position of an attempt in the claim
Effect = list[Any]  # an entry of an outbox


class MongoEntry(Entry):
    """A job that was read. `raw`: its mark as stored. `claims`: the claim of each open attempt.

    `outbox`: effects of the last write that may not be carried out yet. `is_aside`: it is set aside.
    `is_hidden`: queries do not show it. `staged`: the id of a revision that may be under way for it.
    """

    __slots__ = ("claims", "is_aside", "is_hidden", "outbox", "raw", "staged")

    def __init__(self, key: str, raw: Any) -> None:
        super().__init__(key, raw if isinstance(raw, str) and raw else _UNREADABLE_MARK)
        self.raw = raw
        self.claims: Mapping[str, Claim] = {}
        self.outbox: Sequence[Effect] = ()
        self.is_aside = False
        self.is_hidden = False
        self.staged: str | None = None


# -- reading ---------------------------------------------------------------------------------------


def read_entry(document: Document, definitions: Definitions) -> MongoEntry:
    """The entry of a document, also of a damaged one."""
    entry = MongoEntry(document["_id"], document.get("m"))
    tags = document.get("z")
    entry.is_hidden = isinstance(tags, list) and layout.HIDDEN in tags
    staged = document.get("next")
    entry.staged = staged.get("r") if isinstance(staged, dict) else None
    entry.outbox = document.get("e") or ()
    if entry.is_hidden:
        return entry
    try:
        state, attempts, entry.orders, entry.tally = read_body(entry.key, _text(document, "b"))
        entry.remains = state, attempts
        entry.claims = _claims(document.get("c"))
        entry.record = Record(definitions.job(entry.key, _text(document, "d")), state, attempts)
        entry.remains = None
    except DamagedRecordError as error:
        entry.damage = damage_of(error)
    except UNREADABLE as error:
        entry.damage = Damage(f"{type(error).__name__}: {error}", Flaw.STRUCTURE)
    if "x" in document:
        entry.is_aside, entry.damage = True, Damage(str(document["x"]))
    return entry


def _text(document: Document, field: str) -> str:
    found = document.get(field)
    if not isinstance(found, str):
        raise DamagedRecordError(field, found, "is no text", flaw=Flaw.TYPE, expected="a text")
    return found


def _claims(found: Any) -> dict[str, Claim]:
    return {one["i"]: (one["k"], int(one["p"])) for one in found or () if "k" in one}


# -- writing ---------------------------------------------------------------------------------------


class Encoder:
    """Encodes changes as fields."""

    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._starts = 0

    def fields(self, change: Change, claim_id: str | None = None) -> Document:
        """The new fields of a job; None removes a field. The caller adds the mark."""
        entry = change.entry
        effects = list(self._effects(change)) or None
        if change.after is None:
            return {**dict.fromkeys(REMOVABLE), "z": [layout.HIDDEN], "e": effects}
        _, state, attempts = after = change.after
        is_aside = isinstance(entry, MongoEntry) and entry.is_aside and not change.is_defined
        wake = None if is_aside else micros(state.wake_at)
        tags = [*_tags(state), layout.ASIDE] if is_aside else _tags(state)
        fields: Document = {
            "b": write_body(after, change.orders, change.tally),
            "w": wake,
            "c": self._open(entry, attempts, claim_id) or None,
            "z": tags or None,
            "r": change.tally.ripe_at,
            "e": effects,
            "next": None,
        }
        if change.is_defined or change.before is None:
            job = after.job
            fields["q"] = layout.lane_of(job.queue, job.action.kind)
            fields["d"] = self._definitions.text(job)
            fields["x"] = None
        return fields

    def next_place(self) -> int:
        """The position of the next attempt, in the order of starts."""
        self._starts += 1
        return self._starts

    def _open(self, entry: Entry, attempts: Sequence[Attempt], claim_id: str | None) -> list[Document]:
        known = entry.claims if isinstance(entry, MongoEntry) else {}
        found: list[Document] = []
        for attempt in attempts:
            identity = attempt_id(attempt)
            one: Document = {"i": identity, "n": (attempt.node or "") if attempt.is_running else ""}
            if attempt.state is AttemptState.CANCELLING:
                one["x"] = True
            if identity in known:
                one["k"], one["p"] = known[identity]
            elif claim_id is not None and attempt.is_running:
                one["k"], one["p"] = claim_id, self.next_place()
            found.append(one)
        return found

    def _effects(self, change: Change) -> Iterator[Effect]:
        for attempt, order in change.ended:
            yield ["a", run_member(attempt), attempt_id(attempt), write_ended(attempt, order)]
        for skip in change.skips:
            yield ["k", skip_member(skip), clean_text(skip.reason)]
        for told in change.alerts:
            alert = told.alert
            yield ["t", alert.id, told.channel, whole(alert.at), alert.kind.value, alert.to_json()]
        version = change.version
        if version is not None and version.job is not None:
            span = (micros(version.since), micros(version.until), version.replaced_by)
            yield ["v", version.number, self._definitions.version_text(version.job, span)]


def _tags(state: State) -> list[str]:
    if state.removed_at is not None:
        return [layout.GONE]
    paused = [layout.PAUSED] if state.paused_at is not None else []
    return [*paused, layout.FAILING] if state.failures_in_row > 0 else paused


def guarded(
    entry: Entry, mark: str | None, fields: Mapping[str, Any], computed: Mapping[str, Any] | None = None
) -> UpdateOne:
    """Write fields, if the job still has the mark of its entry. `mark` None: it keeps its mark.

    `computed`: fields whose values the server computes. If another writer has changed the job, the pipeline
    tries to convert the job's key to a number. That always fails, because each key has a slash.
    """
    raw = entry.raw if isinstance(entry, MongoEntry) else entry.mark
    return guarded_by(entry.key, raw, mark, fields, computed)


def guarded_by(
    key: str, raw: Any, mark: str | None, fields: Mapping[str, Any], computed: Mapping[str, Any] | None = None
) -> UpdateOne:
    """The same, with the job's key and its expected mark."""
    is_ours: Document = {"$eq": ["$m", {"$literal": raw}]}
    kept: Any = "$m" if mark is None else {"$literal": mark}
    if raw is None:
        is_ours = {"$in": [{"$type": "$m"}, ["missing", "null"]]}
        kept = "$$REMOVE" if mark is None else kept
    values = {name: "$$REMOVE" if value is None else {"$literal": value} for name, value in fields.items()}
    checked: Document = {"$cond": [is_ours, kept, {"$toInt": "$_id"}]}
    return UpdateOne({"_id": key}, [{"$set": {"m": checked, **values, **(computed or {})}}])


def prepared(entry: Entry, mark: str, staged: Document) -> UpdateOne | InsertOne[Document]:
    """Store a revision's new version of a job inside the job. A new job is hidden until it counts."""
    if entry.is_there:
        return guarded(entry, mark, {"next": staged})
    return InsertOne({"_id": entry.key, "m": mark, "z": [layout.HIDDEN], "next": staged})


def aside(change: Change) -> UpdateOne:
    """Set a job aside; nothing else of it changes."""
    tags = {"$setUnion": [{"$cond": [{"$isArray": "$z"}, "$z", []]}, [layout.ASIDE]]}
    return guarded(change.entry, None, {"w": None, "x": clean_text(str(change.aside))}, {"z": tags})
