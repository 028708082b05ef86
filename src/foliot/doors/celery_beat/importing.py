"""An import from RedBeat or django-celery-beat: read, translate, and carry over what can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from foliot.doors.celery_beat.cut_over import Move, added_source, move_of
from foliot.doors.celery_beat.django_rows import read_rows
from foliot.doors.celery_beat.entry import Entry, Found
from foliot.doors.celery_beat.errors import EntryRefusedError
from foliot.doors.celery_beat.redbeat import read_redbeat
from foliot.doors.celery_beat.translate import Translated, translate, translate_all

ORIGINS: dict[str, Callable[[Any], Found]] = {"redbeat": read_redbeat, "django": lambda _: read_rows()}


class Import(NamedTuple):
    """What there is to import: what is carried over, what is refused, and the names of what is done with."""

    imported: list[Translated]
    moves: list[Move]
    refusals: list[EntryRefusedError]
    done: list[str]


def read_import(app: Any, origin: str, source: str) -> Import:
    """What another scheduler keeps; of entries that the code has, too, only the last run counts."""
    code = {one.entry.name: one for one in translate_all(app, source)[0]}
    found = ORIGINS[origin](app)
    imported, refused = translate(found.entries, app, added_source(source))
    moves = [move_of(one, code.get(one.entry.name)) for one in imported]
    return Import(imported, moves, [*found.refusals, *refused], found.done)


def last_runs(found: Import) -> dict[str, Entry]:
    """The imported entries by the keys of their jobs."""
    return {move.job.key: one.entry for one, move in zip(found.imported, found.moves, strict=True)}
