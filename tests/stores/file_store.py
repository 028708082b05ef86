"""A store in one file, shared by processes: a double that proves what the store in memory cannot.

Each verb takes a copy of everything, does its work on the copy, and puts it in the file's place if nobody
else has meanwhile; otherwise it begins again. So it is optimistic through and through, the opposite of
the store in memory, which has a lock: between them they meet every case of the suite.
"""

from __future__ import annotations

import copyreg
import fcntl
import pickle  # noqa: TID251 - a double for tests; nothing that is shipped is pickled
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from foliot.errors import FoliotError
from foliot.model.damage import damage_of
from foliot.protocols import Clock, Store
from foliot.stores.memory import MemoryStore


def proxy(mapping: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(mapping)


copyreg.pickle(MappingProxyType, lambda mapping: (proxy, (dict(mapping),)))
UNSHARED = ("_clock", "_lock", "_due")


class FileStore:
    """Every verb of the store in memory, on a copy that is put back if nobody else was quicker."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = Path(path)
        self._clock = clock

    def __getattr__(self, verb: str) -> Any:
        if not hasattr(MemoryStore, verb):
            raise AttributeError(verb)

        async def act(*args: Any, **kwargs: Any) -> Any:
            while True:
                before = self._path.read_bytes() if self._path.exists() else b""
                store = self._unpacked(before)
                answer = error = None
                try:
                    answer = await getattr(store, verb)(*args, **kwargs)
                except FoliotError as refusal:
                    error = refusal
                if self._put(before, self._packed(store)):
                    if error is not None:
                        raise error
                    return answer

        return act

    async def damage(self, job: str) -> None:
        before = self._path.read_bytes()
        store = self._unpacked(before)
        store.set_aside(job, damage_of(ValueError("it was damaged on purpose")))
        assert self._put(before, self._packed(store))

    def _unpacked(self, data: bytes) -> MemoryStore:
        store = MemoryStore(self._clock)
        if data:
            vars(store).update(pickle.loads(data))  # noqa: S301 - its own file
            for record in store._records.values():
                store._due.push(record)
        return store

    def _packed(self, store: MemoryStore) -> bytes:
        return pickle.dumps({name: value for name, value in vars(store).items() if name not in UNSHARED})

    def _put(self, before: bytes, after: bytes) -> bool:
        """Whether the file was still the same, and is now what it should be."""
        with self._path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (self._path.read_bytes() if self._path.exists() else b"") != before:
                return False
            if after != before:
                fresh = self._path.with_suffix(".new")
                fresh.write_bytes(after)
                fresh.rename(self._path)
            return True


@asynccontextmanager
async def open_file(where: str, clock: Clock) -> AsyncIterator[Store]:
    yield FileStore(where, clock)
