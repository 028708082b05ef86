"""Who else declares tasks of the namespace: what a living scheduler has registered is not another's to drop.

Schedulers of one namespace may have different lists, as old and new do while a program is replaced. A task
that all who live have is of a kind that each of them serves. A task that some have not is of the kind of
its list, which only those serve that have the same names; so nobody claims what it has no callback for.
What is on nobody's list any more is dropped when all who live have the same list.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from foliot.model.view import NodeView


class Kinds(NamedTuple):
    """The kinds of action that a scheduler serves: of tasks that all have, and of those on its own list."""

    shared: str
    own: str


def kinds_of(namespace: str, names: Iterable[str]) -> Kinds:
    """What a scheduler with a list of these names serves: a million tasks are of no more kinds than one."""
    shared = f"declarative:{namespace}"
    digest = sha256("\n".join(sorted(names)).encode(errors="surrogatepass")).hexdigest()
    return Kinds(shared, f"{shared}/{digest[:12]}")  # no namespace has a slash


def other_lists(kinds: Kinds, nodes: Iterable[NodeView]) -> frozenset[str]:
    """The kinds of those lists that other living schedulers have."""
    prefix = f"{kinds.shared}/"
    served = {kind for view in nodes for kind in view.node.kinds or () if kind.startswith(prefix)}
    return frozenset(served - {kinds.own})


def kind_if_registered(kinds: Kinds, others: frozenset[str], found: str | None) -> str:
    """The kind of a task that this scheduler registers, by that under which it was found."""
    if not others or found == kinds.shared or others == {found}:
        return kinds.shared
    return kinds.own


def kind_if_not(kinds: Kinds, others: frozenset[str], found: str) -> str | None:
    """The kind of a task that this scheduler does not register; None: nobody does, and it is to be dropped.

    Who else has it cannot be told, so while there are others it stays; whoever has it takes it over.
    """
    if not others:
        return None
    return min(others) if found == kinds.shared else found
