"""Small records that belong to no job: read a field; write some if others have not changed."""

from __future__ import annotations

from collections.abc import Sequence

from foliot.stores.redis import layout
from foliot.stores.redis.asking import Asking, text_of
from foliot.stores.redis.encode import Operation, operation_words
from foliot.stores.redis.script import Call


class Records(Asking):
    """The reads and writes of tokens, the audit and pipelines."""

    def field(self, name: str, key: str) -> str | None:
        """One field of a hash."""
        found = self.ask("HGET", name, key)
        return None if found is None else text_of(found)

    def put(self, checks: Sequence[tuple[str, ...]], operations: Sequence[Operation]) -> bool:
        """Write, if each check holds. A check: hash, field, and value; without a value: no such field."""
        return self.put_each([(checks, operations)])[0]

    def put_each(self, writes: Sequence[tuple[Sequence[tuple[str, ...]], Sequence[Operation]]]) -> list[bool]:
        """Several writes at once, each if its own checks hold."""
        calls = [Call({"checks": checks}, operation_words(operations)) for checks, operations in writes]
        return [bool(one.facts[0]) for one in self.run("put", *calls)] if calls else []

    def forget_before(self, name: str, index: str, at: int, limit: int, more: Sequence[str] = ()) -> int:
        """Delete records up to a time, by an index, at most `limit`. Returns how many."""
        members = self.old_members(index, at, limit)
        keys = [member[layout.DIGITS :] for member in members]
        if members:
            hashes = [("HDEL", one, *keys) for one in (name, *more)]
            self.ask_all([*hashes, ("ZREM", index, *members)])
        return len(members)

    def old_members(self, index: str, at: int, limit: int) -> list[str]:
        """The entries of an index up to a time, at most `limit`."""
        last = f"({layout.time_text(at + 1)}"
        found = self.ask("ZRANGEBYLEX", index, "-", last, "LIMIT", 0, limit) if limit > 0 else ()
        return [text_of(member) for member in found]
