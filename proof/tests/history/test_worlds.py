"""What a job's definition can have been, by a log that is not always sure."""

from __future__ import annotations

import pytest

from foliot.model.policy import Policy
from foliot_proof.history import Change, Definition, Operation, Rule, Verdict
from foliot_proof.history.worlds import World, stretches
from history.case_builder import JOB, clock

OLD = Definition(Rule("*/10 * * * *"))
NEW = Definition(Rule("*/7 * * * *"))
FORGETS = Definition(Rule("*/10 * * * *"), Policy(remembers=False))


def declare(
    at: str, definition: Definition, until: str | None = None, verdict: Verdict = Verdict.APPLIED
) -> Change:
    answered = None if until is None else clock(until)
    return Change(Operation.DECLARE, JOB, clock(at), answered, verdict, definition)


def ask(what: Operation, at: str, until: str | None = None, verdict: Verdict = Verdict.APPLIED) -> Change:
    return Change(what, JOB, clock(at), None if until is None else clock(until), verdict)


def shown(*changes: Change) -> list[tuple[str, set[World]]]:
    """When what we know changes, and to what."""
    found = stretches(changes, clock("09:00"), clock("11:00"))
    return [
        (f"{stretch.begin:%H:%M}", set(stretch.worlds)) for stretch in found if stretch.end > stretch.begin
    ]


NOTHING = World()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([], [("09:00", {NOTHING})]),
        ([declare("10:00", OLD)], [("09:00", {NOTHING}), ("10:00", {World(OLD)})]),
        (
            [declare("10:00", OLD), declare("10:10", OLD)],
            [("09:00", {NOTHING}), ("10:00", {World(OLD)})],
        ),
        (
            [declare("10:00", OLD), declare("10:10", NEW, "10:12")],
            [
                ("09:00", {NOTHING}),
                ("10:00", {World(OLD)}),
                ("10:10", {World(OLD), World(NEW)}),
                ("10:12", {World(NEW)}),
            ],
        ),
        (
            [declare("10:00", OLD), declare("10:10", NEW, "10:12", Verdict.UNKNOWN), declare("10:30", NEW)],
            [
                ("09:00", {NOTHING}),
                ("10:00", {World(OLD)}),
                ("10:10", {World(OLD), World(NEW)}),
                ("10:12", {World(OLD), World(NEW)}),
                ("10:30", {World(NEW)}),
            ],
        ),
        (
            [declare("10:00", OLD), ask(Operation.REMOVE, "10:10"), ask(Operation.PAUSE, "10:20")],
            [("09:00", {NOTHING}), ("10:00", {World(OLD)}), ("10:10", {World(OLD, is_removed=True)})],
        ),
        (
            [declare("10:00", OLD), ask(Operation.PAUSE, "10:10", verdict=Verdict.REFUSED)],
            [("09:00", {NOTHING}), ("10:00", {World(OLD)})],
        ),
    ],
)
def test_what_is_known(changes: list[Change], expected: list[tuple[str, set[World]]]) -> None:
    assert shown(*changes) == expected


@pytest.mark.parametrize(
    ("definition", "expected"),
    [(OLD, {World(OLD, is_paused=True)}), (FORGETS, {World(FORGETS), World(FORGETS, is_paused=True)})],
    ids=["a pause survives a removal", "unless the job forgets"],
)
def test_a_job_that_comes_back(definition: Definition, expected: set[World]) -> None:
    changes = [
        declare("10:00", definition),
        ask(Operation.PAUSE, "10:10"),
        ask(Operation.REMOVE, "10:20"),
        declare("10:30", definition),
    ]
    assert shown(*changes)[-1] == ("10:30", expected)


def test_changes_under_way_together_may_end_in_either_order() -> None:
    found = shown(
        declare("10:00", OLD),
        ask(Operation.PAUSE, "10:10", "10:20"),
        ask(Operation.RESUME, "10:15", "10:25"),
        declare("10:18", NEW, "10:22"),
    )
    assert found[-1] == ("10:25", {World(NEW), World(NEW, is_paused=True)})
    assert len(found[-2][1]) == 4


def test_many_changes_at_once_are_taken_in_the_order_they_were_asked() -> None:
    changes = [declare(f"10:0{n}", OLD if n % 2 else NEW, "10:30") for n in range(6)]
    assert shown(*changes)[-1] == ("10:30", {World(OLD)})


def test_what_counts() -> None:
    assert World(OLD).is_live
    assert not World(OLD, is_paused=True).is_live
    assert not World(OLD, is_removed=True).is_live
    assert not World(OLD._replace(enabled=False)).is_live
    assert not NOTHING.is_live
