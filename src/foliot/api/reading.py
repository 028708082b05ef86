"""Reads the query and the body of a request into typed values. Invalid input raises a ProblemError."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta
from starlette.requests import Request

from foliot.api.cursor import Query
from foliot.api.problem import Fault, ProblemError, pointer_of
from foliot.errors import shorten
from foliot.model.job import EARLIEST, LATEST
from foliot.model.json_text import MisfitError, read_value

Instant = Annotated[datetime, Meta(tz=True, description="An instant with an offset: 2026-11-15T07:00:00Z")]
T = TypeVar("T")
Q = TypeVar("Q", bound=Query)

_MOST_PARAMETERS = 50
_LONGEST_LENGTH = 15  # digits
_PATIENCE = 4  # a body is read up to this many times the largest size
_MOST_NESTED = 100_000  # decoding millions of lists would stop all threads, so no job would start
_NUMBER = re.compile(r"[-+0-9.eE]*")
_PLACE = re.compile(r" - at `\$?\.?([^`]*)`$")
_FIELD = re.compile(r"^Object (contains unknown|missing required) field `([^`]*)`")


def read_query(text: bytes, kind: type[Q]) -> tuple[Q, bool]:
    """The query, and whether it asks for a dry run only."""
    values, known = _read_pairs(text), kind.__struct_encode_fields__
    dry_run = values.pop("dry_run", "false")
    if dry_run not in ("true", "false"):
        raise _bad_query("dry_run must be true or false", "dry_run", "dry_run=true")
    if unknown := next((name for name in values if name not in known), None):
        hint = f"one of: {', '.join(known)}" if known else "this path takes no parameters"
        raise _bad_query(f"the parameter {shorten(unknown)} is not known", unknown, hint)
    try:
        query = msgspec.convert(values, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _misfit_in_query(error, values, kind) from None
    _check_instants(query)
    for name, value in zip(known, msgspec.structs.astuple(query), strict=True):
        # msgspec also reads numbers as times, and some words as None: refuse both.
        if isinstance(value, datetime) and _NUMBER.fullmatch(values.get(name, "T")):
            raise _bad_query(f"{name} is no time", name, "such as 2026-11-15T07:00:00Z")
        if value is None and name in values:
            raise _bad_query(f"{name} is given without a value", name, "leave it out")
    return query, dry_run == "true"


def _read_pairs(text: bytes) -> dict[str, str]:
    values: dict[str, str] = {}
    try:
        pairs = parse_qsl(
            text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except ValueError:
        raise _bad_query("the query cannot be read", "", "percent-encode it as UTF-8") from None
    for name, value in pairs:
        if name in values:
            raise _bad_query(f"the parameter {shorten(name)} is there twice", name, "give it once")
        if "\0" in value:
            raise _bad_query(f"the parameter {shorten(name)} has a NUL", name, "leave it out")
        values[name] = value
    return values


def _misfit_in_query(
    error: msgspec.ValidationError, values: dict[str, str], kind: type[Query]
) -> ProblemError:
    reason, name = _told(error)
    if "timezone" in reason:
        return _no_offset(name)
    hint = None
    if " " in values.get(name, "") and "datetime" in reason:
        hint = "write + as %2B in a URL"
    elif choices := _choices(kind, name):
        hint = f"one of: {', '.join(choices)}"
    return _bad_query(f"{name}: {reason}" if name else reason, name, hint)


def _choices(kind: type[Query], name: str) -> list[str]:
    """The values that a parameter may have, if the API lists them."""
    shape = msgspec.inspect.type_info(kind)
    assert isinstance(shape, msgspec.inspect.StructType)  # noqa: S101 - a query is a struct
    found: list[str] = []
    for field in shape.fields:
        if field.encode_name != name:
            continue
        parts = field.type.types if isinstance(field.type, msgspec.inspect.UnionType) else (field.type,)
        for part in parts:
            if isinstance(part, msgspec.inspect.EnumType):
                found += (str(member.value) for member in part.cls)
            elif isinstance(part, msgspec.inspect.LiteralType):
                found += map(str, part.values)
            elif isinstance(part, msgspec.inspect.BoolType):
                found += ("true", "false")
    return found


def _bad_query(detail: str, name: str, hint: str | None) -> ProblemError:
    fault = Fault(pointer=shorten(name), detail=detail, hint=hint)
    return ProblemError(400, "BAD_QUERY", detail, hint=hint, errors=[fault])


def _no_offset(pointer: str) -> ProblemError:
    detail, hint = "a time must have an offset", "such as 2026-11-15T07:00:00Z or …+01:00"
    return ProblemError(
        422, "OFFSET_REQUIRED", detail, hint=hint, errors=[Fault(pointer=pointer, detail=detail, hint=hint)]
    )


def _check_instants(struct: msgspec.Struct) -> None:
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, datetime) and not EARLIEST <= value <= LATEST:
            detail = f"{name} must lie between {EARLIEST.date()} and {LATEST.date()}"
            raise ProblemError(422, "INVALID", detail, errors=[Fault(pointer=f"/{name}", detail=detail)])


async def read_body(request: Request, kind: Any, most: int) -> Any:
    """The body as a value. A missing body counts as an empty object."""
    raw = await receive(request, most)
    if raw:
        _check_type(request)
    try:
        value = read_value(raw.decode("utf-8")) if raw else {}
    except UnicodeDecodeError:
        raise _malformed("the body is not UTF-8") from None
    except MisfitError as error:
        raise _malformed(f"{error.path}: {error.reason}" if error.path else error.reason) from None
    return read_struct(value, kind)


def read_struct(value: Any, kind: type[T]) -> T:
    """A value made of JSON's types as a struct; 422 if it does not fit."""
    try:
        found = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        reason, path = _told(error)
        pointer = pointer_of(path)
        if "timezone" in reason:
            raise _no_offset(pointer) from None
        detail = f"{path}: {reason}" if path else reason
        raise ProblemError(422, "INVALID", detail, errors=[Fault(pointer=pointer, detail=reason)]) from None
    if isinstance(found, msgspec.Struct):
        _check_instants(found)
    return found


async def receive(request: Request, most: int) -> bytes:
    """All of the body; 413 if it is too large.

    A body that is a little too large is still read to its end: a client that is cut off while it sends does
    not see the answer.
    """
    if request.headers.get("content-encoding", "identity") != "identity":
        raise ProblemError(415, "BAD_ENCODING", "the body must not be compressed", hint="send it as it is")
    length = request.headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > _LONGEST_LENGTH or int(length) > most * _PATIENCE:
        raise _too_large(most)
    body, total, nested = bytearray(), 0, 0
    async for chunk in request.stream():
        total += len(chunk)
        if total > most * _PATIENCE:
            break
        if total <= most and nested <= _MOST_NESTED:
            body += chunk
            nested += chunk.count(b"[") + chunk.count(b"{")
    if total > most:
        raise _too_large(most)
    if nested > _MOST_NESTED:
        raise ProblemError(413, "TOO_LARGE", f"a body has {_MOST_NESTED:,} lists and objects at most")
    return bytes(body)


def _too_large(most: int) -> ProblemError:
    headers = {"Connection": "close"}  # the rest of the body is not read
    return ProblemError(413, "TOO_LARGE", f"a body has {most:,} bytes at most", headers=headers)


def _check_type(request: Request) -> None:
    media, _, rest = request.headers.get("content-type", "").partition(";")
    charset = rest.strip().lower().replace('"', "")
    if media.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
        hint = "Content-Type: application/json"
        raise ProblemError(415, "BAD_TYPE", "the body must be JSON, in UTF-8", hint=hint)


def _malformed(reason: str) -> ProblemError:
    detail = f"the body cannot be read: {reason}"
    return ProblemError(400, "MALFORMED", detail, errors=[Fault(pointer="", detail=reason)])


def _told(error: msgspec.ValidationError) -> tuple[str, str]:
    """The reason in our words, and the path of the field."""
    text = str(error)
    place = _PLACE.search(text)
    path = place[1] if place else ""
    reason = _PLACE.sub("", text).replace("`", "")
    if found := _FIELD.match(text):
        word = "is not known" if found[1] == "contains unknown" else "is missing"
        return word, f"{path}.{found[2]}".lstrip(".")
    return reason, path
