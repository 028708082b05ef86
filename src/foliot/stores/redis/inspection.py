"""Inspects a store without changing it: its schema version, and whether its parts agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import TypeVar

from redis.exceptions import RedisError

from foliot.clock import SystemClock
from foliot.errors import StoreUnavailableError
from foliot.model.view import Schema
from foliot.stores.redis import layout
from foliot.stores.redis.address import Address, read_address
from foliot.stores.redis.durability import Server, look_at, refuse
from foliot.stores.redis.migration import STEPS, found_step, number_of
from foliot.stores.redis.regression import check_schema
from foliot.stores.redis.route import open_wire
from foliot.stores.redis.session import RedisSession
from foliot.stores.redis.shared import Shared
from foliot.stores.redis.size import sizes
from foliot.stores.redis.walk import parts, rising
from foliot.stores.redis.wire import Wire, translated
from foliot.stores.sql.codes import whole

Found = TypeVar("Found")
_DEADLINE = timedelta(seconds=5)


def connect(address: Address, deadline: timedelta) -> tuple[Wire, Server]:
    """A connection to a server that can be used; StoreError if it cannot."""
    wire = open_wire(address, deadline)
    try:
        server = look_at(wire)
        refuse(server, address)
    except BaseException:
        wire.close()
        raise
    return wire, server


def _looking(url: str, verb: str, look: Callable[[RedisSession], Found]) -> Found:
    address = read_address(url)
    try:
        wire, _ = connect(address, _DEADLINE)
        try:
            shared = Shared(address.prefix, SystemClock(), _DEADLINE)
            return look(RedisSession(wire, shared))
        finally:
            wire.close()
    except (RedisError, OSError) as error:
        failure = translated(verb, error)
    raise failure


def look_at_schema(url: str) -> Schema:
    """The schema version of a store. StoreUnavailableError if there is no answer, or no store yet."""
    return _looking(url, "open", _schema)


def _schema(session: RedisSession) -> Schema:
    found = session.ask("HGET", "meta", "schema")
    if found is None:
        hint = "`foliot serve` creates it on its first start, and so does `foliot store migrate`"
        raise StoreUnavailableError("open", f"there is no store {session.shared.prefix} yet", hint=hint)
    check_schema(found)
    return Schema(number_of(found_step(session)), number_of(len(STEPS)))


def find_sizes(url: str) -> Mapping[str, int]:
    """The memory of a store in bytes, by purpose."""
    return _looking(url, "check", sizes)


def find_flaws(url: str) -> tuple[str, ...]:
    """Contradictions between jobs and indices. This reads the whole store."""
    return _looking(url, "check", lambda session: tuple(_flaws(session)))


def _flaws(session: RedisSession) -> Iterator[str]:
    keys, gone, texts, definitions = session.ask_all(
        [("ZCARD", "keys"), ("ZCARD", "gone"), ("HLEN", "s"), ("HLEN", "d")]
    )
    if texts != definitions:
        yield f"{texts} job(s) have a state, and {definitions} have a definition"
    if keys + gone != texts:
        yield f"{texts} job(s) have a state, and {keys + gone} are listed"
    undue = 0
    for name in ("keys", "gone"):
        for part in parts(rising(session, name)):
            undue += _not_due(session, part)
    if undue:
        yield f"{undue} job(s) wait for a time, and no node would look at them"


def _not_due(session: RedisSession, keys: list[str]) -> int:
    """How many jobs have a wake, are in service, and are not in the index of what is due."""
    entries = session.entries(keys)
    waiting = [
        (layout.lane_id(record.job.queue, record.job.action.kind), record.state.wake_at, key)
        for key, entry in entries.items()
        if (record := entry.record) is not None and entry.damage is None
    ]
    asked = [
        ("ZSCORE", f"w:{lane}", layout.time_text(whole(at)) + key)
        for lane, at, key in waiting
        if at is not None
    ]
    return sum(score is None for score in session.ask_all(asked))
