"""Outputs of attempts: several parts while an attempt runs, and one text when it has ended.

Long texts are compressed; the first byte says whether.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

from foliot.model.output import HEAD, Output, OutputPart, joined
from foliot.stores.redis import layout
from foliot.stores.redis.asking import pairs
from foliot.stores.redis.session import RedisSession

_PLAIN, _PACKED = b"t", b"z"
_SHORT = 500  # bytes; a shorter text is not compressed


def _pack(text: str) -> bytes:
    plain = text.encode(errors="replace")
    return _PLAIN + plain if len(plain) < _SHORT else _PACKED + zlib.compress(plain, 1)


def _unpack(packed: bytes) -> str:
    rest = packed[1:]
    return (zlib.decompress(rest) if packed[:1] == _PACKED else rest).decode(errors="replace")


def write_outputs(session: RedisSession, outputs: Sequence[Output]) -> None:
    """Keep whole outputs. An output that exists is replaced."""
    commands: list[Sequence[object]] = []
    for output in outputs:
        name = layout.output_name(output.run_key, output.number)
        commands += (("HSET", "out", name, _whole(output)), ("DEL", f"parts:{name}"))
    session.ask_all(commands)


def _whole(output: Output) -> bytes:
    facts = json.dumps((output.job, output.dropped), ensure_ascii=False).encode(errors="replace")
    return facts + b"\n" + _pack(output.text)


def append_outputs(session: RedisSession, parts: Sequence[OutputPart]) -> None:
    """Keep new parts of the output of running attempts. A part that comes after the whole is ignored."""
    names = [layout.output_name(part.run_key, part.number) for part in parts]
    empty = [_whole(Output(part.job, part.run_key, part.number, "")) for part in parts]
    session.ask_all([("HSETNX", "out", name, text) for name, text in zip(names, empty, strict=True)])
    commands: list[Sequence[object]] = []
    for name, part in zip(names, parts, strict=True):
        commands.append(("HSET", f"parts:{name}", part.start, _pack(part.text)))
        if part.kept_from > HEAD:
            starts = [int(start) for start in session.ask("HKEYS", f"parts:{name}")]
            middle = [start for start in starts if HEAD <= start < part.kept_from]
            commands += [("HDEL", f"parts:{name}", *middle)] if middle else []
    session.ask_all(commands)


def output(session: RedisSession, run_key: str, number: int, after: int = 0) -> Output | None:
    """The output of an attempt from a position on; None if its job was removed."""
    name = layout.output_name(run_key, number)
    found, parts = session.ask_all([("HGET", "out", name), ("HGETALL", f"parts:{name}")])
    if found is None:
        return None
    facts, _, packed = found.partition(b"\n")
    job, dropped = json.loads(facts)
    if not session.ask("HEXISTS", "s", job):
        return None
    whole = Output(job, run_key, number, _unpack(packed), dropped)
    if whole.text or not parts:
        return whole.since(after)
    texts = sorted((int(start), _unpack(text)) for start, text in pairs(parts))
    return joined(whole, texts).since(after)
