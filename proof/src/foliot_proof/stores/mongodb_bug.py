"""Mistakes that a store on MongoDB may have, switched on in a process; each must be found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from foliot_proof.stores.kind import swap


def write_without_a_note() -> None:
    """No note tells that an outbox may not be carried out yet: what a dead node ended is not in the past."""
    from foliot.stores.mongodb.effects import Effects  # noqa: PLC0415 - the driver may not be there

    swap(Effects, "note_write", lambda *_: None)


def compare_no_mark() -> None:
    """A job is written whatever another has made of it meanwhile."""
    from foliot.stores.mongodb import codec  # noqa: PLC0415 - the driver may not be there

    real = codec.guarded_by

    def guarded_by(key: str, raw: Any, mark: Any, *fields: Any) -> Any:
        write: Any = real(key, raw, mark, *fields)
        step = write._doc[0]["$set"]  # noqa: SLF001 - a bug breaks in
        step["m"] = step["m"]["$cond"][1]
        return write

    swap(codec, "guarded_by", guarded_by)


def count_before_all_is_prepared() -> None:
    """A revision counts though a job was taken back from it: half of it is there."""
    from foliot.stores.mongodb.session import MongoSession  # noqa: PLC0415 - the driver may not be there

    real = MongoSession.prepare

    def prepare(session: Any, changes: Any, id_: str) -> Any:
        real(session, changes[::2], id_)
        return set()

    swap(MongoSession, "prepare", prepare)


BUGS: dict[str, Callable[[], None]] = {
    bug.__name__: bug for bug in (write_without_a_note, compare_no_mark, count_before_all_is_prepared)
}
