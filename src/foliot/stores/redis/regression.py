"""A store that has gone back in time: nodes notice it, report it, and write lost data again.

A server may lose the last writes that it has confirmed: a replica that was behind is promoted, the disk was
not written yet, a backup is restored. A node sees this by two signs. The count of writes is lower than the
count that this process has seen. Or the server is another process than before (`run_id`): then the store's
`meta` has the count at its start, written by the first client that connected.

    noticed ──▶ while several nodes live, no job changes for 2 s (`hold_until`): claims find nothing, and
                other writes wait; a lost write cannot be written again on a job that has changed since
            ──▶ each process writes again what it wrote and the server has lost (`optimistic.ring`)

Then an occurrence runs twice only if the process that had claimed it died in the same event, or could not
reach the server within these 2 s. A store that was emptied has another birth: nothing is written again there,
because a person may have emptied it on purpose. A migration to a newer schema must also change the birth:
then every older program notices it at its next write, reads the schema, and stops.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from foliot.errors import StoreError, StoreUnavailableError
from foliot.model.view import KEPT_OUTAGES
from foliot.stores.redis import script
from foliot.stores.redis.script import Call
from foliot.stores.redis.shared import Shared
from foliot.stores.redis.wire import Wire
from foliot.stores.redis.written import Written

SCHEMA = 1
STEPS_OF_NEW = 1  # a new store has taken all steps of `migration`
_HOLD = 2.0  # seconds in which only lost data is written
_EMPTIED = "its data is gone, or is other data than before"


class HeldError(StoreUnavailableError):
    """Processes write again what the server has lost, so no other write may change a job now."""

    def __init__(self) -> None:
        super().__init__("write", "the server was replaced; nodes write again what it may have lost")


def begin(wire: Wire, shared: Shared, run_id: str, *, has_lost: bool = False) -> tuple[str, int, int]:
    """Create the store if there is none. Returns its birth, its count of writes, and the count at its start.

    If the server is another process than before, it may have lost writes; `has_lost`: the caller knows that
    it has. In both cases other writes wait for a short time. StoreError if the schema is too new.
    """
    shared.begins += 1
    found = wire.ask("HGET", f"{shared.prefix}:meta", "schema")
    if found is not None:
        check_schema(found)
    facts = {"birth": uuid4().hex, "schema": str(SCHEMA), "step": STEPS_OF_NEW, "run": run_id,
             "hold": int(_HOLD * 1_000_000)}  # fmt: skip
    call = Call({**facts, "has_lost": has_lost})
    ((_, _, seq, birth, resumed),) = script.run(wire, shared.prefix, "begin", [call], shared.counts)
    return str(birth, "ascii"), int(seq), int(resumed)


def check_schema(found: bytes) -> None:
    """StoreError if a newer program has made the store, or has migrated it."""
    if not found.isdigit() or int(found) > SCHEMA:
        told = found.decode(errors="replace")
        raise StoreError(
            f"the store has schema {told}, and this version of Foliot knows {SCHEMA} at most",
            details={"found": told, "known": SCHEMA},
            hint="a newer version of Foliot has migrated it: use that version, or a copy from before",
        )


def meet(wire: Wire, shared: Shared, run_id: str) -> None:
    """Handle a new connection. If the server is another process than before, write lost data again."""
    with shared.lock:
        if not shared.birth or run_id == shared.run_id:
            return
        birth, seq, resumed = begin(wire, shared, run_id)
        if birth != shared.birth:
            begin_anew(shared, birth, seq)
        else:
            before, shared.seq = shared.seq, seq
            lost = shared.ring.note_loss(resumed)
            if lost or resumed < before:
                shared.forget()
                _note(shared, max(before - resumed, lost), heal(wire, shared))
        shared.run_id = run_id


def begin_anew(shared: Shared, birth: str, seq: int) -> None:
    """The store is another one than this process knew: forget everything about the old one."""
    shared.birth, shared.seq = birth, seq
    shared.ring.clear()
    shared.nodes.clear()
    shared.forget()
    shared.counts.note_regression(_EMPTIED)


def count_back(wire: Wire, shared: Shared, before: int, began: int, seq: int) -> StoreUnavailableError:
    """The count of writes has fallen on an open connection: heal. Returns the error for the caller."""
    with shared.lock:
        if shared.seq > seq:  # otherwise another connection has noticed it already
            begin(wire, shared, shared.run_id, has_lost=True)
            shared.seq = seq
            shared.forget()
            shared.ring.note_loss(began)
            _note(shared, before - began, heal(wire, shared))
    return went_back("call", shared.counts.last_regression)


def _note(shared: Shared, lost: int, healed: int) -> None:
    shared.counts.note_regression(
        f"{lost} writes that it had answered are gone, or more; {healed} of them were written again"
    )


def heal(wire: Wire, shared: Shared) -> int:
    """Write lost data again. Returns how many writes took effect; some wait for other processes."""
    shared.heals_until = shared.clock.monotonic() + _HOLD
    lease = shared.lease // timedelta(microseconds=1)
    for node, facts in list(shared.nodes.items()):
        asked = {"verb": "join", "node": node, "lease": lease, "outages": KEPT_OUTAGES, "facts": facts}
        script.run(wire, shared.prefix, "heartbeat", [Call(shared.known() | asked)], shared.counts)
    return heal_more(wire, shared)


def heal_more(wire: Wire, shared: Shared) -> int:
    """Try again the writes that had to wait for other processes."""

    def write(written: Written) -> tuple[int, Written | None]:
        facts, words, name = written
        call = Call({**shared.known(), **facts, "heals": True}, words)
        ((status, _, seq, *refused),) = script.run(wire, shared.prefix, name, [call], shared.counts)
        if status == b"OK" and not refused:
            return int(seq), None
        left = written.at(refused)
        is_nothing = status != b"OK" or "whole" in facts or len(left.words) == len(words)
        return (0, written) if is_nothing else (int(seq), left)

    healed = 0
    while shared.ring.has_lost and (more := shared.ring.write_again(write)):
        healed += more
    return healed


def catch_up(wire: Wire, shared: Shared) -> None:
    """Before a call: try the writes again that had to wait for other processes."""
    if shared.ring.has_lost and shared.clock.monotonic() < shared.heals_until:
        with shared.lock:
            heal_more(wire, shared)


def went_back(verb: str, how: str) -> StoreUnavailableError:
    """The error for a server that has lost data."""
    return StoreUnavailableError(
        verb,
        f"the store has gone back in time: {how}",
        hint="was the server flushed, restored, or failed over? What it has forgotten may run again",
    )
