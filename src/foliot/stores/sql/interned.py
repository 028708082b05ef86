"""Texts that many rows share, under small numbers: policies, lanes, and the names of nodes.

A number is never reused, so a text that was read once stays valid for the connection's life. A text that a
transaction has written becomes invalid if the transaction is rolled back: see `forget`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from foliot.model.kinds import serves
from foliot.stores.sql import upsert
from foliot.stores.sql.dialect import Answer, Dialect

LANES = "SELECT queue, kind, lane_no FROM lanes WHERE queue IN :texts"


class Interned:
    """The shared texts, as one connection knows them."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._find_policy = (
            f"SELECT policy_no FROM policies WHERE {dialect.policies.columns.split(', ')[0]} = :key"  # noqa: S608 - a constant
        )
        self.forget()

    def forget(self) -> None:
        """Clear the cache."""
        self._policies: dict[int, str] = {}
        self._policy_numbers: dict[str, int] = {}
        self._lanes: dict[tuple[str, str], int] = {}
        self._nodes: dict[int | None, str | None] = {None: None}
        self._node_numbers: dict[str | None, int | None] = {None: None}

    def add(self, policies: Iterable[str], lanes: Iterable[tuple[str, str]]) -> None:
        """Write the new ones of these texts, in the same order as all writers."""
        new = sorted(set(policies) - self._policy_numbers.keys())
        self._dialect.upsert(self._dialect.policies, list(map(self._dialect.policy_row, new)))
        self._dialect.upsert(upsert.ADD_LANE, sorted(set(lanes) - self._lanes.keys()))

    # -- policies ----------------------------------------------------------------------------------

    def policy(self, number: int) -> str:
        """The text of a policy; LookupError if there is none."""
        text = self._policies.get(number)
        if text is None:
            found = self._dialect.run("SELECT text FROM policies WHERE policy_no = :number", number=number)
            row = found.fetchone()
            if row is None:
                raise LookupError(f"there is no policy {number}")
            text = self._policies[number] = row[0]
        return text

    def policy_number(self, text: str) -> int:
        """The number of a policy's text, which is written if it is new."""
        number = self._policy_numbers.get(text)
        if number is None:
            self.add((text,), ())
            key = self._dialect.policy_row(text)[0]
            number = self._policy_numbers[text] = _found(self._dialect.run(self._find_policy, key=key))
        return number

    # -- lanes -------------------------------------------------------------------------------------

    def lane_number(self, queue: str, kind: str) -> int:
        """The number of a lane, which is written if it is new."""
        number = self._lanes.get((queue, kind))
        if number is None:
            self.add((), ((queue, kind),))
            asked = "SELECT lane_no FROM lanes WHERE queue = :queue AND kind = :kind"
            number = self._lanes[queue, kind] = _found(self._dialect.run(asked, queue=queue, kind=kind))
        return number

    def lanes(self, queues: Collection[str], kinds: Collection[str] | None) -> Mapping[str, list[int]]:
        """The lanes of queues that lead to these kinds; None: to any. Always read: others may add some."""
        return lanes_of(self._dialect.among(LANES, queues).fetchall(), kinds)

    # -- nodes -------------------------------------------------------------------------------------

    def node(self, number: int | None) -> str | None:
        """The id of a node; LookupError if there is none."""
        try:
            return self._nodes[number]
        except KeyError:
            found = self._dialect.run("SELECT id FROM node_names WHERE node_no = :number", number=number)
            row = found.fetchone()
            if row is None:
                raise LookupError(f"there is no node {number}") from None
            id_: str = row[0]
            self.know_node(number, id_)
            return id_

    def node_number(self, id_: str | None) -> int | None:
        """The number of a node's id, which is written if it is new."""
        try:
            return self._node_numbers[id_]
        except KeyError:
            self._dialect.upsert(upsert.ADD_NODE_NAME, [(id_,)])
            number = _found(self._dialect.run("SELECT node_no FROM node_names WHERE id = :id", id=id_))
            self.know_node(number, id_)
            return number

    def know_node(self, number: int | None, id_: str | None) -> None:
        """Remember a node that was just read."""
        self._nodes[number] = id_
        self._node_numbers[id_] = number


def lanes_of(rows: Iterable[tuple[str, str, int]], kinds: Collection[str] | None) -> Mapping[str, list[int]]:
    """The numbers of lanes by queue, for these kinds. `rows`: queue, kind and number of each lane."""
    lanes: dict[str, list[int]] = {}
    for queue, kind, number in rows:
        if serves(kinds, kind):
            lanes.setdefault(queue, []).append(number)
    return lanes


def _found(answer: Answer) -> int:
    row = answer.fetchone()
    if row is None:
        raise LookupError("a shared text was written, but cannot be found")
    number: int = row[0]
    return number
