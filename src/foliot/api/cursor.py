"""Cursors: opaque places in a list.

A cursor belongs to the filters of the question that it was given for, and to the sources that its client may
see: its sum tells whether it was changed. A client could make up a sum as well, which wins nothing: a place
only says where to go on in what the client may see, and no place names what it may not see.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64Error
from collections.abc import Sequence
from hashlib import sha256
from typing import Annotated, TypeVar

import msgspec

from foliot.api.problem import ProblemError

MOST = 200
_DIGITS = 12


class Query(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """What stands behind the `?` of a URL."""


class Paged(Query, frozen=True):
    """A question that is answered page by page."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST)] = 50
    cursor: Annotated[str, msgspec.Meta(max_length=4000)] | None = None


Place = TypeVar("Place")
Sources = Sequence[str] | None  # those that a client may see; None: all


class _Cursor(msgspec.Struct, array_like=True, frozen=True):
    sum: str
    place: msgspec.Raw


def write_cursor(path: str, query: Paged, sources: Sources, place: object) -> str:
    """The cursor of a place in the list that a query asks for."""
    text = msgspec.json.encode(place)
    cursor = _Cursor(_sum(path, query, sources, text), msgspec.Raw(text))
    return urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def read_cursor(path: str, query: Paged, sources: Sources, kind: type[Place]) -> Place | None:
    """The place of a query's cursor, None if it has none; 400 if it is no cursor of that question."""
    if query.cursor is None:
        return None
    try:
        text = urlsafe_b64decode(query.cursor + "=" * (-len(query.cursor) % 4))
        cursor = msgspec.json.decode(text, type=_Cursor)
        place = msgspec.json.decode(cursor.place, type=kind)
    except (ValueError, BadBase64Error, msgspec.MsgspecError):
        raise bad_cursor("it is no cursor of this server") from None
    if _ODD.search(text):
        raise bad_cursor("it is no cursor of this server")
    if cursor.sum != _sum(path, query, sources, bytes(cursor.place)):
        raise bad_cursor("it was changed, or belongs to another question: the filters must stay the same")
    return place


def bad_cursor(reason: str) -> ProblemError:
    """400: a cursor cannot be used."""
    hint = "begin without a cursor, then give what the page before has as `next`"
    return ProblemError(400, "BAD_CURSOR", f"the cursor cannot be used: {reason}", hint=hint)


def _sum(path: str, query: Paged, sources: Sources, place: bytes) -> str:
    filters = {name: value for name, value in msgspec.to_builtins(query).items() if name not in _OF_THE_PAGE}
    text = msgspec.json.encode([path, sorted(filters.items()), sources])
    return sha256(text + place).hexdigest()[:_DIGITS]


_OF_THE_PAGE = ("limit", "cursor")
_ODD = re.compile(rb"\\u00[01]|\\u[dD][89a-fA-F]")  # characters that no database takes, and no page gives
