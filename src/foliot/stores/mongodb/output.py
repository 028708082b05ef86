"""Outputs of attempts, one document each: parts while an attempt runs, and then one text."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from pymongo import ReplaceOne
from pymongo.errors import DuplicateKeyError

from foliot.model.output import HEAD, Output, OutputPart, joined
from foliot.stores.mongodb.layout import both
from foliot.stores.mongodb.session import MongoSession

_PLAIN, _PACKED = b"t", b"z"
_SHORT = 500  # bytes; a shorter text is not compressed


def _pack(text: str) -> bytes:
    plain = text.encode(errors="replace")
    return _PLAIN + plain if len(plain) < _SHORT else _PACKED + zlib.compress(plain, 1)


def _unpack(packed: bytes) -> str:
    rest = packed[1:]
    return (zlib.decompress(rest) if packed[:1] == _PACKED else rest).decode(errors="replace")


def write_outputs(session: MongoSession, outputs: Sequence[Output]) -> None:
    """Keep whole outputs. An output that exists is replaced."""
    documents = [
        {"_id": both(one.run_key, one.number), "j": one.job, "dropped": one.dropped, "whole": _pack(one.text)}
        for one in outputs
    ]
    session.write_all("outputs", [ReplaceOne({"_id": one["_id"]}, one, upsert=True) for one in documents])


def append_outputs(session: MongoSession, parts: Sequence[OutputPart]) -> None:
    """Keep new parts of the output of running attempts. A part that comes after the whole is ignored."""
    for part in parts:
        name = both(part.run_key, part.number)
        change = {"$set": {"j": part.job, "dropped": 0, f"parts.{part.start}": _pack(part.text)}}
        wanted = {"_id": name, "whole": {"$exists": False}}
        try:
            session.ready("outputs").update_one(wanted, change, upsert=True)
        except DuplicateKeyError:
            continue
        if part.kept_from > HEAD:
            _drop_middle(session, name, part.kept_from)


def _drop_middle(session: MongoSession, name: str, kept_from: int) -> None:
    found = session["outputs"].find_one({"_id": name}, {"parts": 1}) or {}
    middle = [start for start in found.get("parts", {}) if HEAD <= int(start) < kept_from]
    if middle:
        session["outputs"].update_one({"_id": name}, {"$unset": {f"parts.{start}": "" for start in middle}})


def output(session: MongoSession, run_key: str, number: int, after: int = 0) -> Output | None:
    """The output of an attempt from a position on; None if its job was removed."""
    found = session["outputs"].find_one({"_id": both(run_key, number)})
    if found is None or session["jobs"].find_one({"_id": found["j"]}, {"_id": 1}) is None:
        return None
    text = _unpack(found["whole"]) if "whole" in found else ""
    whole = Output(found["j"], run_key, number, text, int(found["dropped"]))
    if "parts" not in found:
        return whole.since(after)
    texts = sorted((int(start), _unpack(packed)) for start, packed in found["parts"].items())
    return joined(whole, texts).since(after)
