"""Texts that many rows share, under small numbers: policies, lanes, and the names of nodes.

A number is never used for another text, so what was read or written once is known as long as the
connection lives; after a transaction that was undone, the writer begins with an empty shelf.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection


class Shelf:
    """The shared texts, as one connection knows them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._policies: dict[int, str] = {}
        self._policy_numbers: dict[str, int] = {}
        self._lanes: dict[tuple[str, str], int] = {}
        self._nodes: dict[int | None, str | None] = {None: None}
        self._node_numbers: dict[str | None, int | None] = {None: None}

    # -- policies ----------------------------------------------------------------------------------

    def policy(self, number: int) -> str:
        """The text of a policy; LookupError if there is none."""
        text = self._policies.get(number)
        if text is None:
            row = self._connection.execute(
                "SELECT text FROM policies WHERE policy_no = ?", (number,)
            ).fetchone()
            if row is None:
                raise LookupError(f"there is no policy {number}")
            text = self._policies[number] = row[0]
        return text

    def policy_number(self, text: str) -> int:
        """The number of a policy's text, which is written if it is new."""
        number = self._policy_numbers.get(text)
        if number is None:
            self._connection.execute("INSERT OR IGNORE INTO policies (text) VALUES (?)", (text,))
            (number,) = self._connection.execute(
                "SELECT policy_no FROM policies WHERE text = ?", (text,)
            ).fetchone()
            self._policy_numbers[text] = number
        return number

    # -- lanes -------------------------------------------------------------------------------------

    def lane_number(self, queue: str, kind: str) -> int:
        """The number of a lane, which is written if it is new."""
        number = self._lanes.get((queue, kind))
        if number is None:
            self._connection.execute("INSERT OR IGNORE INTO lanes (queue, kind) VALUES (?, ?)", (queue, kind))
            (number,) = self._connection.execute(
                "SELECT lane_no FROM lanes WHERE queue = ? AND kind = ?", (queue, kind)
            ).fetchone()
            self._lanes[queue, kind] = number
        return number

    def lanes(self, queue: str, kinds: Collection[str] | None) -> list[int]:
        """The lanes of a queue that lead to these kinds; None: to any. Always read: others may add some."""
        rows = self._connection.execute("SELECT lane_no, kind FROM lanes WHERE queue = ?", (queue,))
        return [number for number, kind in rows if kinds is None or kind in kinds]

    # -- nodes -------------------------------------------------------------------------------------

    def node(self, number: int | None) -> str | None:
        """The id of a node; LookupError if there is none."""
        try:
            return self._nodes[number]
        except KeyError:
            row = self._connection.execute(
                "SELECT id FROM node_names WHERE node_no = ?", (number,)
            ).fetchone()
            if row is None:
                raise LookupError(f"there is no node {number}") from None
            found: str = row[0]
            self._nodes[number] = found
            return found

    def known_node(self, id_: str) -> int | None:
        """The number of a node's id, if it has one."""
        number = self._node_numbers.get(id_)
        if number is None:
            row = self._connection.execute("SELECT node_no FROM node_names WHERE id = ?", (id_,)).fetchone()
            if row is not None:
                number = self._node_numbers[id_] = row[0]
        return number

    def node_number(self, id_: str | None) -> int | None:
        """The number of a node's id, which is written if it is new."""
        try:
            return self._node_numbers[id_]
        except KeyError:
            self._connection.execute("INSERT OR IGNORE INTO node_names (id) VALUES (?)", (id_,))
            return self.known_node(str(id_))
