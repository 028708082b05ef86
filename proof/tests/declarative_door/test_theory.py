"""The theory of the document: safety and liveness of random lives, through the door itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from declarative_door.lives import live
from declarative_door.theory import judge
from doors.declarative.scene import MINUTE
from foliot.doors.declarative.polling import Polling
from foliot.engine import draft, plan_definition, planner, reconciler
from foliot.model.decision import Decision

SEEDS = 120
PART = 15
MOST_SEEDS = 60
Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture
def berlin(zone: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - after the usual one
    monkeypatch.setenv("TZ", "Europe/Berlin")


@pytest.mark.req("DECL-42")
@pytest.mark.usefixtures("untraced", "berlin")
@pytest.mark.parametrize("first", range(0, SEEDS, PART))
def test_safety_and_liveness_of_any_life(first: int) -> None:
    """More of them: the seeds are numbers, and each life can be lived again by its own."""
    assert [violation for seed in range(first, first + PART) for violation in judge(live(seed))] == []


@pytest.mark.usefixtures("untraced", "berlin")
def test_a_seed_gives_one_life() -> None:
    lives = [live(seed) for seed in (7, 8, 7)]
    assert lives[0].digest == lives[2].digest != lives[1].digest
    assert lives[0].entries == lives[2].entries


@pytest.mark.usefixtures("untraced", "berlin")
def test_the_lives_have_in_them_what_they_are_there_for() -> None:
    seen = {entry.what for seed in range(20) for entry in live(seed).entries}
    assert seen >= {"crash", "init_failure", "stop_end", "failure", "success"}


# -- bugs, planted: each is found within a few lives ---------------------------------------------------


def forget_to_drop(patch: pytest.MonkeyPatch) -> None:
    """What is registered no more stays, and remembers its debts."""
    patch.setattr(reconciler, "plan_removed", lambda record, _: Decision(record.state))


def begin_anew_when_overridden(patch: pytest.MonkeyPatch) -> None:
    """A change of cron or delay forgets the debts."""

    def changed(job: Any, record: Any, now: datetime) -> Decision:
        begun = plan_definition.plan_new(job, now).decision(job.key)
        return begun._replace(state=begun.state._replace(token=record.state.token))

    patch.setattr(plan_definition, "_plan_changed", changed)


def return_from_stop_at_once(patch: pytest.MonkeyPatch) -> None:
    """Whoever stops does not wait for what runs."""

    async def end(polling: Polling) -> None:
        assert polling._run._engine is not None
        polling._run._engine.stop()

    patch.setattr(Polling, "end", end)


def leave_orphans_alone(patch: pytest.MonkeyPatch) -> None:
    """What a crash has cut short is not restarted."""
    patch.setattr(planner, "_restart", lambda *_, **__: None)


def retry_at_once(patch: pytest.MonkeyPatch) -> None:
    """The delay is not waited for."""
    patch.setattr(planner, "retry_at", lambda _, __, finished_at, *___: finished_at)


def never_retry(patch: pytest.MonkeyPatch) -> None:
    """A failure is the end of it."""
    patch.setattr(planner, "may_retry", lambda *_: False)


def run_beside_itself(patch: pytest.MonkeyPatch) -> None:
    """An occurrence starts whether the callback runs or not."""
    patch.setattr(draft.Draft, "is_busy", property(lambda _: False))
    patch.setattr(draft.Draft, "places", property(lambda _: None))


def serve_a_minute_twice(patch: pytest.MonkeyPatch) -> None:
    """What has been served is owed again after a restart."""
    real = plan_definition.plan_declared

    def declared(job: Any, record: Any, now: datetime) -> Decision:
        return real(job, None if record is None else record._replace(state=_unserved(record, now)), now)

    patch.setattr(plan_definition, "plan_declared", declared)
    patch.setattr("foliot.model.job.Job.says_the_same", lambda *_: False)


def _unserved(record: Any, now: datetime) -> Any:
    minute = now.replace(second=0, microsecond=0)
    return record.state._replace(last_attempt_at=None, served_until=minute - MINUTE, next_at=minute)


BUGS: list[tuple[Plant, str]] = [
    (forget_to_drop, "S1: "),
    (begin_anew_when_overridden, "L1: "),
    (return_from_stop_at_once, "S3: "),
    (leave_orphans_alone, "L1: "),
    (retry_at_once, "S1: a start without"),
    (never_retry, "L1: "),
    (run_beside_itself, "S1: it starts beside itself"),
    (serve_a_minute_twice, "S"),
]


@pytest.mark.req("DECL-42")
@pytest.mark.usefixtures("untraced", "berlin")
@pytest.mark.parametrize(("plant", "code"), BUGS, ids=[plant.__name__ for plant, _ in BUGS])
def test_the_properties_find_a_bug_that_is_planted(
    monkeypatch: pytest.MonkeyPatch, plant: Plant, code: str
) -> None:
    plant(monkeypatch)
    for seed in range(MOST_SEEDS):
        if any(code in violation for violation in judge(live(seed))):
            return
    pytest.fail(f"{plant.__name__} was not found in {MOST_SEEDS} lives")
