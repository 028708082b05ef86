"""Finds the server of a namespace: that of the URL, or the one that Sentinels or a cluster name now.

Each connection asks again. A server that is no longer the master refuses commands (`READONLY`, `MOVED`); then
its connection is closed, and the next call finds the new master.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from redis.crc import key_slot
from redis.exceptions import RedisError

from foliot.errors import StoreUnavailableError
from foliot.stores.redis.address import SENTINEL, Address
from foliot.stores.redis.wire import Wire

Place = tuple[str, int]


def open_wire(address: Address, deadline: timedelta) -> Wire:
    """A connection to the server that has the namespace."""
    return Wire(find(address, deadline), deadline)


def find(address: Address, deadline: timedelta) -> Address:
    """The address of that server. StoreUnavailableError if no Sentinel or node knows it."""
    if not address.way:
        return address
    ask = _ask_sentinel if address.way == SENTINEL else _ask_cluster
    place = _first_answer(address, deadline, ask)
    if place is not None:
        return address.at(*place)
    if address.way == SENTINEL:
        reason = f"the Sentinels know no service {address.service!r}"
        raise StoreUnavailableError("connect", reason, hint="redis+sentinel://host:26379/service")
    reason = f"no node of the cluster has the slot of {address.prefix}"
    raise StoreUnavailableError("connect", reason, hint="CLUSTER INFO shows what the cluster lacks")


def _first_answer(
    address: Address, deadline: timedelta, ask: Callable[[Address, Wire], Place | None]
) -> Place | None:
    """The answer of the first host that knows; None if no host knows. Raises if no host answers."""
    trouble: Exception | None = None
    has_answer = False
    for host, port in address.hosts:
        try:
            wire = Wire(_asked(address).at(host, port), deadline)
            try:
                if (place := ask(address, wire)) is not None:
                    return place
                has_answer = True
            finally:
                wire.close()
        except (RedisError, OSError) as error:
            trouble = error
    if trouble is not None and not has_answer:
        raise trouble
    return None


def _asked(address: Address) -> Address:
    """The address for asking a host: a Sentinel has its own users and passwords."""
    if address.way != SENTINEL:
        return address
    of_master = ("db", "username", "password")
    server = {name: value for name, value in address.server.items() if name not in of_master}
    return address._replace(server=server | address.sentinel)


def _ask_sentinel(address: Address, wire: Wire) -> Place | None:
    found = wire.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", address.service)
    return None if found is None else (found[0].decode(), int(found[1]))


def _ask_cluster(address: Address, wire: Wire) -> Place | None:
    slot = key_slot(address.prefix.encode())
    for first, last, master, *_ in wire.ask("CLUSTER", "SLOTS"):
        if first <= slot <= last:
            return _place_of(master, wire)
    return None


def _place_of(master: list[Any], wire: Wire) -> Place:
    """Host and port. If a node does not know its own host, it is the host that was asked."""
    host, port = master[0], int(master[1])
    return (host.decode() if host else wire.host), port
