"""Which happenings leave which line, and how many of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

import pytest

from foliot.errors import StoreError, StoreUnavailableError
from foliot.model.attempt import Outcome, Trigger
from foliot.model.decision import Event, Happening
from foliot.model.state import Node
from foliot.model.view import NodeView, StoreHealth
from foliot.observability.lines import LINES
from foliot.observability.log import LogListener, quoted, tell
from observability.moments import NOON, ended, health, started, told

RUN = "app/a@2026-05-01T12:00:00Z"
FAILED = f"WARNING attempt_failed run={RUN} attempt=1 outcome"
LATE = f"WARNING start_late run={RUN} late"
DUE = 'reason="its occurrence has come"'


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The lines so far, as `level text`; from INFO on, as a daemon shows them."""
    caplog.set_level("INFO", logger="foliot")
    return lambda: [f"{record.levelname} {record.getMessage()}" for record in caplog.records]


CORRECTED = "the clock was set back by hours: jobs go on from now"
BATCHES: list[tuple[str, list[Event], list[str]]] = [
    ("a run that goes well", [started(), ended()], []),
    ("a run that was cancelled", [ended(outcome=Outcome.CANCELLED)], []),
    ("a start in time, if barely", [started(late=9.9)], []),
    (
        "a failure, with its error's first line",
        [ended(outcome=Outcome.FAILED, reason="failed: ValueError: no such table")],
        [f'{FAILED}=failed error="ValueError: no such table"'],
    ),
    (
        "a failure without words",
        [ended(outcome=Outcome.FAILED, number=3)],
        [f"WARNING attempt_failed run={RUN} attempt=3 outcome=failed"],
    ),
    (
        "a loss",
        [ended(outcome=Outcome.LOST, reason="its node was declared dead")],
        [f'{FAILED}=lost error="its node was declared dead"'],
    ),
    (
        "DECL-32 a late start",
        [started(late=12.5)],
        [f"{LATE}=12.5 trigger=schedule {DUE}"],
    ),
    (
        "many late starts: one line, about the latest",
        [started("app/b", late=11), *[started(late=400, trigger=Trigger.CATCH_UP)] * 998, started(late=1)],
        [f"{LATE}=400.0 trigger=catch_up {DUE} others=998"],
    ),
    (
        "what is not to start at its time is never late",
        [started(late=99, trigger=t) for t in (Trigger.RETRY, Trigger.LOST, Trigger.BACKFILL)],
        [],
    ),
    (
        "skips: one line for each reason",
        [
            told(Happening.SKIPPED, "app/a", "a run was still open"),
            told(Happening.SKIPPED, "app/b", "missed by more than its grace"),
            told(Happening.SKIPPED, "app/c", "a run was still open"),
        ],
        [
            'INFO occurrences_skipped job=app/a reason="a run was still open" others=1',
            'INFO occurrences_skipped job=app/b reason="missed by more than its grace"',
        ],
    ),
    (
        "definitions: one line for a batch, however many",
        [*[told(Happening.DECLARED)] * 10_000, told(Happening.REMOVED)],
        ["INFO jobs_changed declared=10000 removed=1"],
    ),
    (
        "what a person did to a job",
        [told(Happening.PAUSED), told(Happening.RESUMED, "app/b")],
        ["INFO job_paused job=app/a", "INFO job_resumed job=app/b"],
    ),
    (
        "what can no longer be read",
        [told(Happening.SET_ASIDE, reason="no cron")],
        ['WARNING job_set_aside job=app/a reason="no cron"'],
    ),
    (
        "a clock that was set back by hours: one line, however many jobs",
        [told(Happening.CLOCK_SET_BACK)] * 500,
        [f'WARNING clock_corrected job=app/a reason="{CORRECTED}" others=499'],
    ),
    (
        "what belongs to a run that is told already",
        [told(what) for what in (Happening.RETRY_PLANNED, Happening.WAITS, Happening.REQUESTED)],
        [],
    ),
]


@pytest.mark.parametrize(("batch", "expected"), [row[1:] for row in BATCHES], ids=[row[0] for row in BATCHES])
def test_lines(batch: list[Event], expected: list[str], lines: Callable[[], list[str]]) -> None:
    LogListener().on_events(batch)

    assert lines() == expected


def test_a_start_of_a_job_with_a_title_is_told_in_time_or_late(lines: Callable[[], list[str]]) -> None:
    log = LogListener(lambda job: "The Nightly" if job == "app/a" else None)

    log.on_events([started(), started("app/b"), started(late=12, number=2, trigger=Trigger.LOST)])

    begun = f'INFO run_started name="The Nightly" run={RUN} attempt'
    assert lines() == [f"{begun}=1 trigger=schedule", f"{begun}=2 trigger=lost"]


def test_debug_tells_every_happening(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="foliot")

    LogListener().on_events([started(), told(Happening.WAITS, reason="it is busy")])

    assert [record.getMessage() for record in caplog.records] == [
        f"happened what=started job=app/a at=2026-05-01T12:00:00Z {DUE} run={RUN} attempt=1",
        'happened what=waits job=app/a at=2026-05-01T12:00:00Z reason="it is busy"',
    ]


def test_a_store_that_stays_away_is_told_ever_more_rarely_and_its_return_once(
    lines: Callable[[], list[str]],
) -> None:
    listener = LogListener()
    listener.on_health(health())

    for _ in range(100):
        listener.on_trouble(StoreUnavailableError("claim", "the disk is full"))
    listener.on_health(health())
    listener.on_health(health())

    assert lines() == [
        "INFO node_joined node=n1",
        *(
            f'WARNING store_trouble error="claim: the disk is full" troubles={count}'
            for count in (1, 2, 4, 8, 16, 32, 64)
        ),
        "INFO store_recovered troubles=100",
    ]


def test_a_store_that_could_be_helped_is_told_with_how(lines: Callable[[], list[str]]) -> None:
    LogListener().on_trouble(StoreError("claim: the server is for reading only", hint="name all hosts"))

    assert lines() == [
        'WARNING store_trouble error="claim: the server is for reading only" hint="name all hosts" troubles=1'
    ]


def test_a_store_that_has_gone_back_is_told_once_for_each_time(lines: Callable[[], list[str]]) -> None:
    listener = LogListener()
    well = StoreHealth("redis", "7.0.15", "always", "noeviction", 0, {}, {})
    for regressions in (0, 1, 1, 2):
        listener.on_store(well._replace(regressions=regressions, last_regression="7 writes are gone"))
    assert lines() == [
        'ERROR store_regressed reason="7 writes are gone" times=1',
        'ERROR store_regressed reason="7 writes are gone" times=2',
    ]


def test_a_node_that_is_buried_and_joins_anew(lines: Callable[[], list[str]]) -> None:
    listener = LogListener()
    listener.on_health(health("n1"))
    listener.on_lease_lost("n1")
    listener.on_health(health("n2"))

    assert lines() == ["INFO node_joined node=n1", "WARNING lease_lost node=n1", "INFO node_joined node=n2"]


def test_who_was_buried_is_told_with_where_it_ran_and_what_it_held(lines: Callable[[], list[str]]) -> None:
    there = Node("n1", "shop", host="web-1", process=4711)
    LogListener().on_burial("n2", NodeView(there, NOON, 3))
    LogListener().on_burial("n2", NodeView(Node("of an older version"), NOON))

    until = "lease_until=2026-05-01T12:00:00Z"
    assert lines() == [
        f"WARNING node_declared_dead node=n1 name=shop host=web-1 process=4711 {until} attempts=3 by=n2",
        f'WARNING node_declared_dead node="of an older version" {until} attempts=0 by=n2',
    ]


def test_clocks_that_jump_or_are_wrong_are_told_once_each(lines: Callable[[], list[str]]) -> None:
    listener = LogListener()
    for now in (
        health(jump=1.9),
        health(jump=-3600),
        health(skew=5),
        health(skew=6),
        health(),
        health(skew=-5),
    ):
        listener.on_health(now)

    assert lines()[1:] == [
        "WARNING clock_jumped by=-3600.0 node=n1",
        "WARNING clock_skewed by=5.0 node=n1",
        "WARNING clock_skewed by=-5.0 node=n1",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("app/a", "app/a"),
        (1.5, "1.5"),
        ("", '""'),
        ("two words", '"two words"'),
        ("a=b", '"a=b"'),
        ('say "hi"', r'"say \"hi\""'),
        ("two\nlines", r'"two\nlines"'),
        ("red \x1b[31m", r'"red \u001b[31m"'),
        ("Zürich", "Zürich"),
        ("für immer", '"für immer"'),
        ("\x9b2J", r'"\u009b2J"'),
        ("\u202eevil", r'"\u202eevil"'),
    ],
)
def test_no_value_can_pretend_to_be_another_field_or_line(value: object, text: str) -> None:
    assert quoted(value) == text


def test_a_run_that_a_new_job_owes_is_late_only_since_the_job_is_there(
    lines: Callable[[], list[str]],
) -> None:
    prompt, slow = started("app/new", late=45), started("app/slow", late=45)
    log = LogListener()
    log.on_events([told(Happening.DECLARED, "app/new")._replace(at=prompt.at - timedelta(seconds=1))])
    log.on_events([told(Happening.DECLARED, "app/slow")._replace(at=slow.at - timedelta(seconds=11))])
    log.on_events([prompt])
    assert "start_late" not in "".join(lines())
    log.on_events([slow])
    assert "start_late run=app/slow" in "".join(lines())


def test_a_line_that_nobody_wants_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="foliot")
    with pytest.raises(KeyError):
        tell("no_such_line")

    tell("job_paused", job="app/a")

    assert not caplog.records


PINNED = {
    "happened": "DEBUG",
    "serving": "INFO",
    "api_serving": "INFO",
    "node_joined": "INFO",
    "jobs_changed": "INFO",
    "job_paused": "INFO",
    "job_resumed": "INFO",
    "occurrences_skipped": "INFO",
    "source_followed": "INFO",
    "source_moved": "INFO",
    "source_recovered": "INFO",
    "next_run": "INFO",
    "run_started": "INFO",
    "run_succeeded": "INFO",
    "run_cancelled": "INFO",
    "store_recovered": "INFO",
    "broker_recovered": "INFO",
    "results_recovered": "INFO",
    "stop_asked": "INFO",
    "stop_forced": "INFO",
    "beat_started": "INFO",
    "beat_stopping": "INFO",
    "job_enqueued": "INFO",
    "enqueues_suppressed": "INFO",
    "schedule_locked": "DEBUG",
    "enqueue_failed": "ERROR",
    "lock_failed": "ERROR",
    "state_unreadable": "ERROR",
    "state_unwritten": "ERROR",
    "schedule_unusable": "ERROR",
    "attempt_failed": "WARNING",
    "failures_suppressed": "WARNING",
    "job_set_aside": "WARNING",
    "start_late": "WARNING",
    "source_failed": "WARNING",
    "source_behind": "WARNING",
    "jobs_dropped": "WARNING",
    "jobs_passed_over": "WARNING",
    "job_unserved": "WARNING",
    "job_not_understood": "WARNING",
    "store_trouble": "WARNING",
    "broker_trouble": "WARNING",
    "broker_unconfirmed": "WARNING",
    "entry_refused": "WARNING",
    "results_trouble": "WARNING",
    "task_start_not_reported": "WARNING",
    "store_regressed": "ERROR",
    "lease_lost": "WARNING",
    "node_declared_dead": "WARNING",
    "clock_jumped": "WARNING",
    "clock_corrected": "WARNING",
    "clock_skewed": "WARNING",
    "channel_unusable": "WARNING",
    "alert_refused": "WARNING",
    "ping_failed": "WARNING",
    "executor_failed": "ERROR",
    "ends_not_stored": "ERROR",
    "listener_failed": "ERROR",
    "task_failed": "ERROR",
    "request_failed": "ERROR",
    "engine_failed": "CRITICAL",
}


def test_the_names_and_levels_are_pinned() -> None:
    assert {name: logging.getLevelName(level) for name, level in LINES.items()} == PINNED
