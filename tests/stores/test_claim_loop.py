"""The claim loop on a store that compares before it writes: looked at, decided, refused, looked at again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from foliot.model.attempt import Attempt
from foliot.model.damage import Damage, Flaw
from foliot.model.decision import Decision, Happening
from foliot.model.state import Record, State
from foliot.protocols import Claimed
from foliot.stores.claim_cursor import ClaimCursor
from foliot.stores.claim_loop import LONGEST, MOST_LOOKS, ClaimLoop, DueJobs, Page
from foliot.stores.group_places import GroupPlaces
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import a_job, pass_over, start_due

CLOCK = ManualClock()
NOW = CLOCK.now()


@dataclass
class Found:
    """A copy of a record, with the version that it had."""

    key: str
    record: Record | None
    version: int
    place: tuple[Any, str]
    damage: Damage | None = None
    is_unknown_here: bool = False


@dataclass
class Optimistic(DueJobs[Found]):
    """Records with versions; `meddle` is called before each write, as another writer."""

    records: dict[str, Record] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    meddle: Callable[[Optimistic], None] = lambda _: None
    decided: list[tuple[Found, Decision]] = field(default_factory=list)
    pages: list[list[str]] = field(default_factory=list)
    unknown: frozenset[str] = frozenset()

    def add(self, *names: str, **facts: Any) -> None:
        for late, name in enumerate(names):
            job, wake_at = a_job(name, **facts), NOW - timedelta(seconds=len(names) - late)
            self.records[job.key] = Record(job, State(0, NOW, wake_at=wake_at, next_at=wake_at))
            self.versions[job.key] = 0

    def change(self, name: str, **facts: Any) -> None:
        key = a_job(name).key
        record = self.records[key]
        self.records[key] = record._replace(state=record.state._replace(**facts))
        self.versions[key] += 1

    def due(self, queue: str, count: int, after: Any | None) -> Page[Found]:
        assert queue == "default"
        found = [
            Found(key, record, self.versions[key], (record.state.wake_at, key))
            for key, record in self.records.items()
            if record.state.wake_at is not None and record.state.wake_at <= NOW
        ]
        found.sort(key=lambda one: one.place)
        page = [one for one in found if after is None or one.place > after][:count]
        self.pages.append([one.key.partition("/")[2] for one in page])
        for one in page:
            if one.key in self.unknown:
                one.is_unknown_here, one.damage = True, Damage("a newer word", Flaw.UNKNOWN_HERE)
        return Page(page)

    def sign(self, queue: str) -> Hashable:
        return queue

    def has_run(self, job: Found, attempt: Attempt) -> bool:
        del job, attempt
        return False

    def decide(self, job: Found, ask: Callable[[Record], Decision]) -> Decision | None:
        assert job.record is not None
        decision = ask(job.record)
        self.decided.append((job, decision))
        return decision

    def write(self) -> Collection[str]:
        self.meddle(self)
        refused = set()
        for job, decision in self.decided:
            if self.versions[job.key] != job.version:
                refused.add(job.key)
            elif job.record is not None and not decision.is_nothing(job.record):
                self.versions[job.key] += 1
                self.records[job.key] = Record(job.record.job, decision.state, decision.attempts)
                job.record = self.records[job.key]
        self.decided.clear()
        return refused


def claim(
    store: Optimistic,
    room: int,
    decide: Any = start_due,
    told: set[str] | None = None,
    groups: GroupPlaces | None = None,
) -> Claimed:
    cursor = ClaimCursor(CLOCK, has_litter=False)
    facts: dict[str, Any] = {
        "node": "a",
        "now": NOW,
        "decide": decide,
        "told": set() if told is None else told,
    }
    facts["groups"] = groups or GroupPlaces({}, lambda _: 0)
    return ClaimLoop(store, cursor, CLOCK, **facts).claim({"default": room}, 0)


def names(claimed: Claimed) -> list[str]:
    return [run.job.name for run in claimed.runs]


def once(*changes: Callable[[Optimistic], None]) -> Callable[[Optimistic], None]:
    left = list(changes)

    def meddle(store: Optimistic) -> None:
        if left:
            left.pop(0)(store)

    return meddle


def test_what_another_writer_has_taken_does_not_count_and_leaves_its_room_to_others() -> None:
    store = Optimistic(meddle=once(lambda store: store.change("b", wake_at=None, next_at=None)))
    store.add("a", "b", "c", "d")
    claimed = claim(store, 3)
    assert names(claimed) == ["a", "c", "d"]
    assert [event.job for event in claimed.events] == [run.job.key for run in claimed.runs]
    assert store.pages == [["a", "b", "c"], ["d"]]


def test_a_group_is_counted_once_and_only_if_a_job_of_it_is_due() -> None:
    store, counted = Optimistic(), list[str]()

    def hold(group: str) -> int | None:
        counted.append(group)
        return None if group == "held by another claim" else 0

    groups = GroupPlaces({"db": 2, "disk": 2, "held by another claim": 2}, hold)
    store.add("a", "b", "c", group="db")
    store.add("x", group="held by another claim")
    store.add("y", group="without a limit")
    assert sorted(names(claim(store, 9, groups=groups))) == ["a", "b"]
    assert sorted(counted) == ["db", "held by another claim"]


def test_what_another_writer_has_changed_is_looked_at_again_as_it_is_now() -> None:
    store = Optimistic(
        meddle=once(lambda store: store.change("a", token=7), lambda s: s.change("a", token=8))
    )
    store.add("a", "b")
    claimed = claim(store, 5)
    assert names(claimed) == ["b", "a"]
    assert claimed.runs[1].attempt.token == 9, "by the record that was written last"
    assert not claimed.more


def test_what_was_refused_comes_before_what_is_behind_it() -> None:
    store = Optimistic(meddle=once(lambda store: store.change("b", token=7)))
    store.add("a", "b", "c", "d")

    def decide(record: Record, *facts: Any) -> Decision:
        return (pass_over if record.job.name == "a" else start_due)(record, *facts)

    assert names(claim(store, 2, decide)) == ["b", "c"]


def test_a_store_that_refuses_for_ever_ends_the_claim_and_not_the_node() -> None:
    store = Optimistic(meddle=lambda store: store.change("a", token=1 + store.versions[a_job("a").key]))
    store.add("a")
    claimed = claim(store, 5)
    assert (names(claimed), claimed.events, claimed.more) == ([], (), True)
    assert len(store.pages) == MOST_LOOKS


def test_a_claim_that_takes_long_ends_after_the_look_that_took_it(monkeypatch: pytest.MonkeyPatch) -> None:
    store, passed = Optimistic(), [0.0]
    store.add(*"abcdef")

    def slow(*facts: Any) -> Decision:
        passed[0] += LONGEST / 2.5
        return start_due(*facts)

    monkeypatch.setattr(CLOCK, "monotonic", lambda: passed[0])
    claimed = claim(store, 6, slow)
    assert (names(claimed), claimed.more) == (["a", "b", "c"], True)


def test_what_only_this_node_does_not_understand_is_passed_over_and_told_of_once() -> None:
    store, told = Optimistic(unknown=frozenset({a_job("a").key})), set[str]()
    store.add("a", "b")
    first, second = claim(store, 5, told=told), claim(store, 5, told=told)
    assert names(first) == ["b"]
    assert [event.what for event in first.events] == [Happening.PASSED_OVER, Happening.STARTED]
    assert (second.runs, second.events, second.more) == ((), (), False)


def test_jobs_that_are_passed_over_are_asked_about_once_in_a_claim() -> None:
    store = Optimistic()
    store.add(*(f"n{number:03}" for number in range(700)))
    asked: list[str] = []

    def decide(record: Record, *facts: Any) -> Decision:
        asked.append(record.job.name)
        return start_due(record, *facts) if record.job.name == "n650" else pass_over(record, *facts)

    assert names(claim(store, 1, decide)) == ["n650"]
    assert len(asked) == len(set(asked)) == 651
