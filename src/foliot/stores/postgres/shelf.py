"""Texts that many rows share, under small numbers: policies, lanes, and the names of nodes.

A number is never used for another text, so what was read once is known as long as the connection lives.
What this transaction has written is known until it is undone: then the shelf is emptied.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from foliot.stores.postgres import arrays
from foliot.stores.postgres.connection import Connection

_ADD_POLICIES = """
    INSERT INTO policies (digest, text)
    SELECT digest, text FROM unnest(%s::text[], %s::text[]) AS new (digest, text) ON CONFLICT DO NOTHING
"""
_ADD_LANES = """
    INSERT INTO lanes (queue, kind)
    SELECT queue, kind FROM unnest(%s::text[], %s::text[]) AS new (queue, kind) ON CONFLICT DO NOTHING
"""


class Shelf:
    """The shared texts, as one connection knows them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.forget()

    def forget(self) -> None:
        """Begin empty."""
        self._policies: dict[int, str] = {}
        self._policy_numbers: dict[str, int] = {}
        self._lanes: dict[tuple[str, str], int] = {}
        self._nodes: dict[int | None, str | None] = {None: None}
        self._node_numbers: dict[str | None, int | None] = {None: None}

    def add(self, policies: Iterable[str], lanes: Iterable[tuple[str, str]]) -> None:
        """Write what is new of these, in an order that all writers share."""
        new = sorted(set(policies) - self._policy_numbers.keys())
        if new:
            digests = arrays.texts(map(_digest, new))
            self._connection.execute(_ADD_POLICIES, (digests, arrays.texts(new)))
        pairs = sorted(set(lanes) - self._lanes.keys())
        if pairs:
            columns = zip(*pairs, strict=True)
            self._connection.execute(_ADD_LANES, [arrays.texts(column) for column in columns])

    # -- policies ----------------------------------------------------------------------------------

    def policy(self, number: int) -> str:
        """The text of a policy; LookupError if there is none."""
        text = self._policies.get(number)
        if text is None:
            row = self._connection.execute(
                "SELECT text FROM policies WHERE policy_no = %s", (number,)
            ).fetchone()
            if row is None:
                raise LookupError(f"there is no policy {number}")
            text = self._policies[number] = row[0]
        return text

    def policy_number(self, text: str) -> int:
        """The number of a policy's text, which is written if it is new."""
        number = self._policy_numbers.get(text)
        if number is None:
            self.add((text,), ())
            row = self._connection.execute(
                "SELECT policy_no FROM policies WHERE digest = %s", (_digest(text),)
            ).fetchone()
            number = self._policy_numbers[text] = _found(row)
        return number

    # -- lanes -------------------------------------------------------------------------------------

    def lane_number(self, queue: str, kind: str) -> int:
        """The number of a lane, which is written if it is new."""
        number = self._lanes.get((queue, kind))
        if number is None:
            self.add((), ((queue, kind),))
            row = self._connection.execute(
                "SELECT lane_no FROM lanes WHERE queue = %s AND kind = %s", (queue, kind)
            ).fetchone()
            number = self._lanes[queue, kind] = _found(row)
        return number

    # -- nodes -------------------------------------------------------------------------------------

    def node(self, number: int | None) -> str | None:
        """The id of a node; LookupError if there is none."""
        try:
            return self._nodes[number]
        except KeyError:
            row = self._connection.execute(
                "SELECT id FROM node_names WHERE node_no = %s", (number,)
            ).fetchone()
            if row is None:
                raise LookupError(f"there is no node {number}") from None
            found: str = row[0]
            self.know_node(number, found)
            return found

    def node_number(self, id_: str | None) -> int | None:
        """The number of a node's id, which is written if it is new."""
        try:
            return self._node_numbers[id_]
        except KeyError:
            self._connection.execute("INSERT INTO node_names (id) VALUES (%s) ON CONFLICT DO NOTHING", (id_,))
            row = self._connection.execute("SELECT node_no FROM node_names WHERE id = %s", (id_,)).fetchone()
            number = _found(row)
            self.know_node(number, id_)
            return number

    def know_node(self, number: int | None, id_: str | None) -> None:
        """Remember a node that was just read."""
        self._nodes[number] = id_
        self._node_numbers[id_] = number


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _found(row: tuple[int, ...] | None) -> int:
    if row is None:
        raise LookupError("a shared text was written, and is not there")
    return row[0]
