"""Finishes, recovery and commands: read, decide, write, and again where another writer was quicker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from foliot.errors import CommandRefusedError, JobNotFoundError
from foliot.model.attempt import AttemptState, Ending, Refused
from foliot.model.damage import Damage, damage_of
from foliot.model.decision import Decision, Event
from foliot.model.decision import set_aside as told_aside
from foliot.model.state import State
from foliot.protocols import DecideCommand, DecideEnded, DecideLost, Finished, Recovered
from foliot.stores.matching import Key, by_job, in_order, part_held, swap_end, swap_loss
from foliot.stores.optimistic.change import Change, change_of, set_aside
from foliot.stores.optimistic.entry import Entry, Name, name_of
from foliot.stores.optimistic.session import Guard, OptimisticSession


def change_by(session: OptimisticSession, entry: Entry, decision: Decision) -> Change | None:
    """The change of a decision about a readable job; None if it writes nothing."""
    change = change_of(entry, decision, known_orders(session, entry, decision))
    if change is not None and decision.remove:
        change.past = session.past(entry.key)
    return change


def known_orders(session: OptimisticSession, entry: Entry, decision: Decision) -> Mapping[Name, int]:
    """The attempts of a decision that are in the history already, each with its order of opening."""
    if all(attempt.is_open for attempt in decision.attempts):
        return {}
    ended = [attempt for attempt in entry.opens_anew(decision) if not attempt.is_open]
    return session.orders(entry.key, ended) if ended else {}


def ask(
    session: OptimisticSession, entry: Entry, decide: DecideCommand
) -> tuple[Decision | None, Change | None]:
    """Ask for a decision about a job. Returns it with its change.

    A job that cannot be decided about is set aside.
    """
    if entry.record is None:
        entry.damage = entry.damage or Damage("it cannot be read")
        return None, None if entry.is_unknown_here else set_aside(entry, entry.damage)
    try:
        decision = decide(entry.record)
    except Exception as error:  # noqa: BLE001 - one bad job must not stop all good ones (rule 6)
        entry.damage = damage_of(error)
        return None, set_aside(entry, entry.damage)
    return decision, change_by(session, entry, decision)


def finish(
    session: OptimisticSession, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
) -> Finished:
    """Record how attempts ended; one counts only if it is open under its own node and token."""
    turns = _Turns(session, now, Guard(node=node))
    refused: list[Refused] = []

    def about(entry: Entry, reported: Sequence[Ending]) -> DecideCommand | None:
        held, others = part_held(entry.record, reported, node)
        turns.on_written(entry.key, lambda: refused.extend(others))
        if not held:
            return None
        turns.on_aside(
            entry.key, lambda: refused.extend(Refused(one, "the job was set aside") for one in held)
        )
        return partial(swap_end, decide, held, now)

    reports = by_job(endings)
    turns.go(reports, about, is_sure=lambda entry, told: not part_held(entry.record, told, node)[1])
    return Finished(in_order(refused, endings), tuple(turns.events))


def recover(session: OptimisticSession, limit: int, now: datetime, decide: DecideLost) -> Recovered:
    """Bury nodes whose lease is over, and lose at most `limit` of their attempts."""
    buried, lost, more = session.bury(limit, now)
    turns = _Turns(session, now, Guard())
    gone: list[tuple[str, str, Key]] = []

    def about(entry: Entry, held: Sequence[tuple[str, Key]]) -> DecideCommand | None:
        if entry.record is None and entry.is_damaged:
            return partial(swap_loss, decide, (), now)
        there = {attempt.key: attempt for attempt in entry.record.attempts} if entry.record else {}
        keys = [key for node, key in held if key in there and there[key].node == node]
        if not entry.is_unknown_here:
            gone.extend((node, entry.key, key) for node, key in held if key not in keys)
        return partial(swap_loss, decide, keys, now) if keys else None

    if lost:
        turns.go(lost, about)
    if gone:
        session.drop_holds(gone)
    return Recovered(tuple(turns.events), more, buried)


class _Turns:
    """Decides about many jobs. Jobs that another writer has changed meanwhile get another turn."""

    def __init__(self, session: OptimisticSession, now: datetime, guard: Guard) -> None:
        self._session = session
        self._now = now
        self._guard = guard
        self._written: dict[str, Callable[[], None]] = {}
        self._aside: dict[str, Callable[[], None]] = {}
        self.events: list[Event] = []

    def on_written(self, key: str, do: Callable[[], None]) -> None:
        """Call `do` when the decision about a job is written."""
        self._written[key] = do

    def on_aside(self, key: str, do: Callable[[], None]) -> None:
        """Call `do` when a job was set aside."""
        self._aside[key] = do

    def go(
        self,
        facts: Mapping[str, Sequence[object]],
        about: Callable[..., DecideCommand | None],
        is_sure: Callable[..., bool] | None = None,
    ) -> None:
        """Decide about each job and its facts, until all is written.

        `is_sure`: whether this process may decide with its own last write of a job, without reading it.
        """
        left, remembered = dict(facts), is_sure is not None
        while True:
            entries = dict(self._session.entries(left, remembered=remembered))
            if remembered and is_sure is not None:
                doubtful = [
                    key for key, told in left.items() if not is_sure(entries.get(key, Entry(key)), told)
                ]
                for key in doubtful:
                    entries.pop(key, None)
                entries.update(self._session.entries(doubtful) if doubtful else {})
            remembered = False
            left = self._turn({key: (entries.get(key) or Entry(key), left[key]) for key in left}, about)
            if not left:
                return

    def _turn(
        self,
        jobs: Mapping[str, tuple[Entry, Sequence[object]]],
        about: Callable[..., DecideCommand | None],
    ) -> dict[str, Sequence[object]]:
        changes: list[Change] = []
        told: dict[str, tuple[Event, ...]] = {}
        aside: set[str] = set()
        for key, (entry, facts) in jobs.items():
            told[key] = ()
            decide = about(entry, facts)
            if decide is None:
                continue
            decision, change = ask(self._session, entry, decide)
            changes += () if change is None else (change,)
            if decision is None:
                aside.add(key)
                told[key] = (told_aside(key, self._now, entry.damage),) if change else ()
            else:
                told[key] = decision.events
        refused = self._session.write(changes, self._guard)
        for key in jobs:
            if key not in refused:
                self._settle(key, told[key], is_aside=key in aside)
        return {key: facts for key, (_, facts) in jobs.items() if key in refused}

    def _settle(self, key: str, events: tuple[Event, ...], *, is_aside: bool) -> None:
        self.events += events
        if key in self._written:
            self._written[key]()
        if is_aside and key in self._aside:
            self._aside[key]()


def update(session: OptimisticSession, job: str, decide: DecideCommand) -> Decision:
    """Carry out a person's command on one job."""
    while True:
        entry = session.entries((job,)).get(job)
        if entry is None or entry.record is None or entry.damage is not None:
            raise JobNotFoundError(job)
        decision = decide(entry.record)
        _refuse_what_has_run(session, entry, decision)
        change = change_by(session, entry, decision)
        guard = Guard(has_news=is_news(entry.record.state, decision))
        if change is None or not session.write((change,), guard):
            return decision


def _refuse_what_has_run(session: OptimisticSession, entry: Entry, decision: Decision) -> None:
    """Refuse a request or an attempt that the history already has."""
    opened = [attempt for attempt in entry.opens_anew(decision) if attempt.is_open]
    ran = session.orders(entry.key, opened) if opened else {}
    for attempt in opened:
        if name_of(attempt) in ran:
            raise CommandRefusedError(entry.key, f"{attempt.run_key} has run already")


def is_news(before: State | None, decision: Decision) -> bool:
    """Whether other nodes should look at the store now."""
    was, wake_at = before.wake_at if before else None, decision.state.wake_at
    if wake_at is not None and (was is None or wake_at < was):
        return True
    return any(attempt.state is AttemptState.CANCELLING for attempt in decision.attempts)
