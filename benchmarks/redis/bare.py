"""A bare loop on redis-py: the same keys, reads and writes as a run through the store, and no decisions.

Each step is one script for a whole batch, which compares marks, checks the node's lease and counts the write,
as the store's own do. The texts are put together from what was read.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from time import perf_counter
from typing import Any

from benchmarks.fire.batches import DUE, NOW, REASON, run_key
from foliot.stores.redis.address import read_address
from foliot.stores.redis.layout import lane_id, time_text
from foliot.stores.redis.wire import Wire

_NODE = "bare"
_KEPT = 30 * 86_400_000_000  # microseconds
_OPEN = f'null,null,null,null,"{REASON}",0,0,null,1,null'
_LOOK = """#!lua
local T = KEYS[1]
if not redis.call('HGET', T .. ':until', ARGV[1]) then return {} end
local last = '(' .. ARGV[3] .. '\\255'
local members = redis.call('ZRANGEBYLEX', T .. ':w:' .. ARGV[2], '-', last, 'LIMIT', 0, ARGV[4])
if #members == 0 then return {} end
local keys = {}
for at, member in ipairs(members) do keys[at] = string.sub(member, 17) end
return { keys, redis.call('HMGET', T .. ':s', unpack(keys)), redis.call('HMGET', T .. ':d', unpack(keys)) }
"""
_COMMON = """#!lua
local T = KEYS[1]
if not redis.call('HGET', T .. ':until', ARGV[1]) then return 0 end
local function part(number)
  local count, found = tonumber(ARGV[2]), {}
  for at = 1, count do found[at] = ARGV[2 + (number - 1) * count + at] end
  return found
end
local function pairs_of(first, second)
  local found = {}
  for at = 1, #first do found[2 * at - 1], found[2 * at] = first[at], second[at] end
  return found
end
local function scored(members)
  local found = {}
  for at = 1, #members do found[2 * at - 1], found[2 * at] = 0, members[at] end
  return found
end
local keys, marks, texts, names = part(1), part(2), part(3), part(4)
for at, text in ipairs(redis.call('HMGET', T .. ':s', unpack(keys))) do
  if not text or string.match(text, '^%S*') ~= marks[at] then return 0 end
end
redis.call('HSET', T .. ':s', unpack(pairs_of(keys, texts)))
redis.call('INCR', T .. ':seq')
"""
_START = f"""{_COMMON}
local members, claims, lane, ones = part(5), part(6), ARGV[#ARGV], {{}}
for at = 1, #keys do ones[at] = '1' end
local due = {{}}
for at, key in ipairs(keys) do due[at] = string.sub(members[at], 1, 16) .. key end
redis.call('ZREM', T .. ':w:' .. lane, unpack(due))
redis.call('HSET', T .. ':o:' .. ARGV[1], unpack(pairs_of(names, claims)))
redis.call('ZADD', T .. ':e', unpack(scored(members)))
redis.call('HSET', T .. ':busy', unpack(pairs_of(keys, ones)))
redis.call('SADD', T .. ':holders', ARGV[1])
redis.call('SET', T .. ':c:' .. claims[1], ARGV[1], 'PX', 30000)
return 1
"""
_END = f"""{_COMMON}
local ids, ended, ripe, at_ = part(5), part(6), {{}}, ARGV[#ARGV]
redis.call('HDEL', T .. ':o:' .. ARGV[1], unpack(names))
redis.call('HDEL', T .. ':busy', unpack(keys))
for at, key in ipairs(keys) do
  redis.call('HSET', T .. ':h:' .. key, ids[at], ended[at])
  ripe[2 * at - 1], ripe[2 * at] = at_, key
end
redis.call('ZADD', T .. ':ripe', unpack(ripe))
return 1
"""


def bare_loop(url: str, runs: int, batch: int) -> float:
    """Seconds for so many runs of the jobs that are there."""
    address = read_address(url)
    wire = Wire(address, timedelta(seconds=60))
    digests = [wire.ask("SCRIPT", "LOAD", text) for text in (_LOOK, _START, _END)]
    wire.ask("HSET", f"{address.prefix}:until", _NODE, str(1 << 60))
    try:
        return _work(wire, address.prefix, digests, runs, batch)
    finally:
        wire.close()


def _work(wire: Wire, prefix: str, digests: list[bytes], runs: int, batch: int) -> float:
    lane, due_by, marks = lane_id("default", "bench"), time_text(NOW), count(1)
    look, start, end = digests
    wake, begin, done = time_text(DUE), perf_counter(), 0
    while done < runs:
        found = wire.ask("EVALSHA", look, 1, prefix, _NODE, lane, due_by, batch)
        keys = [key.decode() for key in found[0]]
        olds = [text.decode() for text in found[1]]
        size = len(keys)
        started = [_started(key, old, f"b.{next(marks):x}") for key, old in zip(keys, olds, strict=True)]
        names = [f"{key}\n@2026-03-02T09:00:00Z#1" for key in keys]
        members = [f"{wake}{key}\0\0{1:010}" for key in keys]
        claims = [f"{number:x} {done}" for number in range(size)]
        words: list[Any] = [old.partition(" ")[0] for old in olds]
        texts = [text for _, text, _ in started]
        _sure(wire.ask("EVALSHA", start, 1, prefix, _NODE, size, *keys, *words, *texts, *names, *members,
                       *claims, lane))  # fmt: skip
        ends = [_ended(text, f"b.{next(marks):x}") for text in texts]
        ids = ["@2026-03-02T09:00:00Z#1"] * size
        rows = [f'[1,{row}{NOW},{NOW},1,null,"{REASON}",0,0,null,1]' for _, _, row in started]
        _sure(wire.ask("EVALSHA", end, 1, prefix, _NODE, size, *keys, *(mark for mark, _, _ in started),
                       *ends, *names, *ids, *rows, DUE))  # fmt: skip
        done += size
    return perf_counter() - begin


def _sure(answer: int) -> None:
    if answer != 1:
        raise ValueError("a bare write was refused")


def _started(key: str, old: str, mark: str) -> tuple[str, str, str]:
    """The mark, the text of a job whose run has started, and the row of the attempt."""
    _, _, _, body = old.split(" ", 3)
    format_, token, rest = body.split(",", 2)
    number = int(token[1:]) + 1
    row = (
        f'1,0,1,{DUE},null,null,null,"{_NODE}",{number},{NOW},null,'  # and then how it ended, and why it ran
    )
    state = (
        f'[{number},{NOW},null,{DUE},null,null,null,1,0,{NOW},null,"{run_key(key)}",1,null,null,null,null]'
    )
    assert rest  # noqa: S101 - all of it was read
    return mark, f"{mark} - - {format_},{state},[[1,{row}{_OPEN}]],[1,1,225,null,{DUE},null]]", row


def _ended(text: str, mark: str) -> str:
    """The text of the same job when its run has ended."""
    head, _, tail = text.partition(",[[")
    _, _, tally = tail.partition("]],")
    counts = tally.split(",", 3)
    return (
        f"{mark} {head.split(' ', 1)[1]},[],{counts[0]},{counts[1]},{counts[2]},{NOW + _KEPT},{DUE},{NOW}]]"
    )
