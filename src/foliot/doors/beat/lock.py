"""`DistributedLock`: a key in Redis that one holder has, until it is released or its time is over.

The scheduler does not rely on it: a lock that expires in a pause is held by two. It is here because programs
around the scheduler look at it, and for their own use.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from foliot.doors.beat.client import address_of
from foliot.doors.beat.errors import LockError
from foliot.doors.beat.state import EXTEND, RELEASE, acquire, milliseconds
from foliot.errors import FoliotError, InvalidPolicyError, StoreError
from foliot.model.policy import read_duration
from foliot.stores.redis.link import Link, ScriptCommand
from foliot.stores.redis.wire import Answer, Command

_DEADLINE = timedelta(seconds=5)
_TTL = timedelta(seconds=60)
# One connection for all locks of a process on one server, while there is a lock or somebody asks for one.
_links: WeakValueDictionary[tuple[int, str], Link] = WeakValueDictionary()


class DistributedLock:
    """A lock that is held. `token` is a UUID that no other holder has."""

    def __init__(self, link: Link, key: str, token: str, ttl: timedelta) -> None:
        self._link = link
        self.key = key
        self.token = token
        self.ttl = ttl

    def __repr__(self) -> str:
        return f"<DistributedLock {self.key} {self.token}>"

    @classmethod
    async def acquire(cls, client: Any, key: str, ttl: timedelta | str = _TTL) -> DistributedLock | None:
        """Take the lock; None if another holder has it. LockError if Redis does not answer.

        `client` is a URL, or a client of redis-py, of which only the address is used.
        """
        ttl = _duration(ttl)
        link = _link_of(client)
        lock = cls(link, key, str(uuid4()), ttl)
        taken = await lock._ask("acquire", acquire(key, lock.token, ttl))
        return None if taken is None else lock

    async def release(self) -> bool:
        """Let go of the lock. False if it is not held by this holder any more; then nothing changes."""
        return bool(await self._ask("release", RELEASE.call((self.key,), self.token)))

    async def extend(self, ttl: timedelta | str) -> bool:
        """Hold the lock for that long from now. False if it is not held any more; then nothing changes."""
        ttl = _duration(ttl)
        has_it = bool(await self._ask("extend", EXTEND.call((self.key,), self.token, milliseconds(ttl))))
        if has_it:
            self.ttl = ttl
        return has_it

    async def _ask(self, deed: str, command: Command | ScriptCommand) -> Answer:
        try:
            (answer,) = await self._link.ask("lock", [command])
        except StoreError as error:
            raise LockError(deed, self.key, error) from error
        if isinstance(answer, FoliotError):
            raise LockError(deed, self.key, answer) from answer
        return answer


def _link_of(client: object) -> Link:
    address = address_of(client)
    name = (os.getpid(), repr(address))
    link = _links.get(name)
    if link is None:
        link = _links[name] = Link(address, _DEADLINE)
    return link


def _duration(ttl: timedelta | str) -> timedelta:
    duration = read_duration("ttl", ttl)
    if duration <= timedelta(0):
        raise InvalidPolicyError("ttl", ttl, "must be a positive duration", hint='such as "60s"')
    return duration
