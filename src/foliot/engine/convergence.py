"""Nodes that declare different revisions of one source agree on what the store has: pure decisions.

An older and a newer revision live side by side while a program is replaced, node by node. Two cases:

    no order is known    the code of a program, lists of tasks. Each living revision keeps its jobs. A job
                         that both declare says what the node says that started last. When one revision
                         is left, the store becomes exactly what that one declares.
    git knows the order  the newer commit wins. A node whose pull is behind waits; see `next_wait`.

A node announces its revision by a *mark*: one more kind of action that it serves.

    node A: declarative:shop, declarative:shop/4f1a      a list of tasks may be the node's own: each task is
    node B: declarative:shop, declarative:shop/90c2      of the shared kind if all living lists have it, and
                                                         else of the kind of one list that has it
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from typing import NamedTuple

from foliot.model.job import Job
from foliot.model.view import NodeView

PATIENCE = timedelta(minutes=5)


class Mark(NamedTuple):
    """The kinds that nodes of a source serve: `shared` by all of them, `own` by those of one revision."""

    shared: str
    own: str


class Declared(NamedTuple):
    """What a node declares of a source, by the names of jobs.

    `revision` is a digest of all definitions. None: the jobs are a list of tasks, and the mark is a digest of
    their names only; then each job gets a kind that only nodes with this task serve.
    """

    source: str
    mark: Mark
    jobs: Mapping[str, Job]
    revision: str | None = None


def mark_of(shared: str, text: str) -> Mark:
    """The mark of a revision, from a text that names the revision. A million tasks have one mark."""
    digest = sha256(text.encode(errors="surrogatepass")).hexdigest()
    return Mark(shared, f"{shared}/{digest[:12]}")


def other_marks(mark: Mark, nodes: Iterable[NodeView]) -> frozenset[str]:
    """The marks of other revisions with living nodes."""
    prefix = f"{mark.shared}/"
    served = {kind for view in nodes for kind in view.node.kinds or () if kind.startswith(prefix)}
    return frozenset(served - {mark.own})


def wanted(
    declared: Declared, others: frozenset[str], name: str, found: Job | None, *, is_start: bool
) -> Job | None:
    """The job that the store should have, given what it has; None: the store should not have the job.

    `is_start`: the node has just started, so its own declaration wins.
    """
    mine = declared.jobs.get(name)
    is_last_word = is_start or (declared.revision is not None and not others)
    job = mine if found is None or (mine is not None and is_last_word) else found
    if mine is None and not others:
        return None
    if job is None or declared.revision is not None:
        return job
    at = "" if found is None else found.action.kind
    if mine is None:
        kind = _kind_of_other_task(declared.mark, others, at)
    else:
        kind = _kind_of_own_task(declared.mark, others, at, is_start=is_start)
    return job if kind == job.action.kind else replace(job, action=replace(job.action, kind=kind))


def _kind_of_own_task(mark: Mark, others: frozenset[str], at: str, *, is_start: bool) -> str:
    """The kind of a task that the node has.

    No node knows the names on another list. So a node takes a task that it has from every larger mark, and
    hands a task that it does not have to the next larger mark: the task comes to rest at the smallest mark
    that has it.
    """
    if not others or at == mark.shared or others == {at}:
        return mark.shared
    return at if at in others and at < mark.own and not is_start else mark.own


def _kind_of_other_task(mark: Mark, others: frozenset[str], at: str) -> str:
    """The kind of a task that the node does not have, while other lists live."""
    if at == mark.shared:
        return min(others)
    return min((kind for kind in others if kind > mark.own), default=at) if at == mark.own else at


class Wait(NamedTuple):
    """A node is behind and waits to pull a commit; `since`: when it began, by its monotonic clock."""

    commit: str
    since: float


def next_wait(  # noqa: PLR0913 - all that is known
    wait: Wait | None, pulled: str, known: str | None, *, is_newer: bool, is_alone: bool, now: float
) -> Wait | None:
    """Whether a node must wait before it declares its commit, because the store has another one.

    None: the node declares.

    A node that does not even know the store's commit has a remote that lags, such as a mirror. To declare
    what it sees would take back what others have declared. But the history may have been rewritten, and then
    no node will ever pull that commit: a node that is alone, or has waited for long, declares what it sees.
    """
    if known is None or is_newer or is_alone or known == pulled:
        return None
    if wait is None or wait.commit != known:
        return Wait(known, now)
    return None if now - wait.since >= PATIENCE.total_seconds() else wait
