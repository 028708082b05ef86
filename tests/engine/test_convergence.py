"""Nodes of different revisions agree, whatever the order in which they start, look again and go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any, NamedTuple

from hypothesis import example, given, settings
from hypothesis import strategies as st

from foliot.engine.convergence import PATIENCE, Declared, Mark, Wait, mark_of, next_wait, other_marks, wanted
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.model.view import NodeView
from foliot.schedules import Cron

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAMES = "abcd"
RULES = ("0 1 * * *", "0 2 * * *")
Says = Mapping[str, str]  # a rule for each name
Story = list[tuple[Any, ...]]  # what happens, and to which nodes

says = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(RULES), max_size=4)
numbers = st.integers(0, 3)
deeds = st.one_of(
    st.tuples(st.just("join"), numbers),
    st.tuples(st.just("declare"), numbers),
    st.tuples(st.just("go"), numbers),
    st.tuples(st.just("look"), numbers),
    st.tuples(st.just("race"), numbers, numbers),
)


def job(name: str, rule: str, kind: str) -> Job:
    return Job(source="s", name=name, schedule=Cron(rule), action=Action(kind=kind))


def code(said: Says) -> Declared:
    """What a program's code declares: each job has the kind of its function."""
    text = repr(sorted(said.items()))
    jobs = {name: job(name, rule, f"python:{name}") for name, rule in said.items()}
    return Declared("s", mark_of("code:s", text), jobs, text)


def task_list(said: Says) -> Declared:
    """What a declarative scheduler declares: all tasks have one kind, or that of their list."""
    mark = Mark("declarative:s", f"declarative:s/{''.join(sorted(said))}")
    return Declared("s", mark, {name: job(name, rule, mark.shared) for name, rule in said.items()})


class Seen(NamedTuple):
    """What a node has read of the store, to write what follows from it."""

    base: int
    others: frozenset[str]
    jobs: Mapping[str, Job]


class World:
    """A store, and nodes that come and go. A write counts only if its base is the present revision."""

    def __init__(self, declared: Iterable[Declared]) -> None:
        self.all = list(declared)
        self.living: dict[int, tuple[frozenset[str], int] | None] = {}  # what each has agreed to
        self.jobs: dict[str, Job] = {}
        self.revision = 0
        self._revisions = count(1)
        self.writes = 0

    @property
    def nodes(self) -> list[NodeView]:
        return [NodeView(Node(str(n), kinds=tuple(self.all[n].mark)), NOON) for n in self.living]

    def read(self, number: int) -> Seen:
        return Seen(self.revision, other_marks(self.all[number].mark, self.nodes), dict(self.jobs))

    def write(self, number: int, seen: Seen, *, is_start: bool) -> None:
        declared = self.all[number]
        if seen.base != self.revision or (not is_start and self.living[number] == (seen.others, seen.base)):
            return
        after = {
            name: there
            for name in {**seen.jobs, **declared.jobs}
            if (there := wanted(declared, seen.others, name, seen.jobs.get(name), is_start=is_start))
        }
        if after != self.jobs:
            self.jobs, self.revision = after, next(self._revisions)
            self.writes += 1
        self.living[number] = seen.others, self.revision

    def do(self, what: str, number: int, other: int = 0) -> None:
        if what == "join":
            self.living.setdefault(number, None)
        elif what == "declare":
            self.do("join", number)
            self.write(number, self.read(number), is_start=True)
        elif what == "go":
            self.living.pop(number, None)
        elif what == "look" and self.living.get(number):
            self.write(number, self.read(number), is_start=False)
        elif what == "race" and self.living.get(number) and self.living.get(other):
            seen = self.read(number)
            self.write(other, self.read(other), is_start=False)
            self.write(number, seen, is_start=False)

    def come_to_rest(self) -> None:
        """Every node looks again, in turn, until no node writes; it must not take long."""
        for number, agreed in list(self.living.items()):
            if agreed is None:
                self.do("declare", number)
        for _ in range(2 + 2 * len(self.living)):
            before = self.writes
            for number in self.living:
                self.do("look", number)
            if self.writes == before:
                return
        raise AssertionError("the nodes declare again and again")


def played(kind: Callable[[Says], Declared], lists: list[Says], story: Story) -> World:
    world = World(map(kind, lists))
    for what, *who in story:
        world.do(what, *who)
    world.come_to_rest()
    return world


four = st.lists(says, min_size=4, max_size=4)
stories = st.lists(deeds, min_size=1, max_size=30)


@settings(max_examples=300)
@given(four, stories)
def test_code_of_one_revision_becomes_all_that_there_is(lists: list[Says], story: Story) -> None:
    world = played(code, lists, story)
    living = [world.all[number] for number in world.living]
    assert {name for declared in living for name in declared.jobs} <= set(world.jobs) or not living
    if len({declared.revision for declared in living}) == 1:
        assert world.jobs == living[0].jobs


@settings(max_examples=300)
@given(four, stories)
@example(
    lists=[{"d": RULES[0]}, {"a": RULES[0]}, {"b": RULES[0]}, {}],
    story=[("declare", 0), ("join", 1), ("join", 2), ("declare", 1), ("declare", 2)],
)
def test_a_task_comes_to_nodes_that_have_it_and_to_no_others(lists: list[Says], story: Story) -> None:
    world = played(task_list, lists, story)
    living = [world.all[number] for number in world.living]
    for name, there in world.jobs.items():
        servers = [declared for declared in living if there.action.kind in declared.mark]
        if any(name in declared.jobs for declared in living):
            assert servers, f"{name} is left alone"
            assert all(name in declared.jobs for declared in servers), f"{name} is claimed in vain"
    assert all(name in world.jobs for declared in living for name in declared.jobs)
    if len({declared.mark for declared in living}) == 1:
        assert set(world.jobs) == set(living[0].jobs)


@given(four, stories)
def test_code_that_starts_again_where_only_it_lives_writes_nothing(lists: list[Says], story: Story) -> None:
    world = played(code, lists, story)
    if len({world.all[number].mark for number in world.living}) == 1:
        before = world.writes
        for number in world.living:
            world.write(number, world.read(number), is_start=True)
        assert world.writes == before


def test_the_marks_of_other_revisions_are_those_of_the_same_source() -> None:
    mark = Mark("code:shop", "code:shop/1")
    kinds = ("code:shop", "code:shop/1", "code:shop/2", "code:shopping/3", "python:a")
    assert other_marks(mark, [NodeView(Node("n", kinds=kinds), NOON)]) == {"code:shop/2"}
    assert other_marks(mark, [NodeView(Node("all"), NOON)]) == frozenset()


# -- commits, which git puts in an order ---------------------------------------------------------------

LONG = PATIENCE.total_seconds()


def waits(wait: Wait | None, known: str | None, now: float, *, is_alone: bool = False) -> Wait | None:
    return next_wait(wait, "old", known, is_newer=False, is_alone=is_alone, now=now)


def test_a_node_that_is_behind_waits_for_five_minutes() -> None:
    wait = waits(None, "new", 7.0)
    assert wait == Wait("new", 7.0)
    assert waits(wait, "new", 7.0 + LONG - 1) == wait
    assert waits(wait, "new", 7.0 + LONG) is None


def test_a_further_commit_is_waited_for_from_when_it_came() -> None:
    assert waits(Wait("new", 0.0), "newer", LONG) == Wait("newer", LONG)


def test_there_is_nothing_to_wait_for() -> None:
    assert waits(None, None, 0.0) is None
    assert waits(None, "new", 0.0, is_alone=True) is None
    assert waits(None, "old", 0.0) is None
    assert next_wait(None, "old", "new", is_newer=True, is_alone=False, now=0.0) is None


@given(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=30))
def test_nodes_whose_pulls_lag_end_at_the_newest_commit(looks: list[int]) -> None:
    """Each look of a node pulls one commit more; the store never goes back while others are there."""
    pulled, stored = [0, 0, 0], 0
    waiting: list[Wait | None] = [None, None, None]
    for now, number in enumerate([*looks, *[0, 1, 2] * 10]):
        pulled[number] = min(9, pulled[number] + 1)
        mine, before = pulled[number], stored
        wait = next_wait(
            waiting[number], str(mine), str(stored), is_newer=mine > stored, is_alone=False, now=float(now)
        )
        waiting[number] = wait
        stored = mine if wait is None else stored
        assert stored >= before
    assert stored == 9
