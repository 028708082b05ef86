"""The claim loop's view of a store that compares before it writes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable

from foliot.model.attempt import Attempt
from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.stores.claim_loop import DueJobs, Page
from foliot.stores.group_places import GroupPlaces
from foliot.stores.optimistic.change import Change
from foliot.stores.optimistic.entry import Entry
from foliot.stores.optimistic.session import Guard, OptimisticSession
from foliot.stores.optimistic.verbs import ask
from foliot.stores.sql.codes import whole


class DueEntries(DueJobs[Entry]):
    """Due entries. It collects the changes of decisions; `write` returns the keys of refused ones."""

    def __init__(self, session: OptimisticSession, node: str, guard: Guard, groups: GroupPlaces) -> None:
        self._session = session
        self._groups = groups
        self._node = node
        self._guard = guard
        self._changes: list[Change] = []

    @abstractmethod
    def due(self, queue: str, count: int, after: str | None) -> Page[Entry]: ...

    def sign(self, queue: str) -> Hashable:
        return self._node, queue

    def may_have_run(self, job: Entry) -> bool:
        """Whether its next occurrence may have an attempt already: it is not later than the newest one."""
        next_at = job.record.state.next_at if job.record else None
        newest = job.tally.newest
        return next_at is not None and newest is not None and whole(next_at) <= newest

    def has_run(self, job: Entry, attempt: Attempt) -> bool:
        return bool(self._session.orders(job.key, (attempt,)))

    def decide(self, job: Entry, ask_about: Callable[[Record], Decision]) -> Decision | None:
        decision, change = ask(self._session, job, ask_about)
        if change is not None:
            self._changes.append(change)
            if change.aside is None:
                job.record = change.after  # the loop asks whether it is due again
        return decision

    def write(self) -> Collection[str]:
        changes, self._changes = self._changes, []
        refused = self._session.write(changes, self._guard) if changes else ()
        if refused:
            self._groups.forget()
        return refused
