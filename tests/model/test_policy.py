"""Policies: what each door's preset says, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import NamedTuple

import pytest

from foliot.errors import InvalidPolicyError
from foliot.model.policy import (
    FirstSeen,
    Keep,
    Misfire,
    MisfireMode,
    OnChange,
    OnLost,
    Overlap,
    OverlapMode,
    Policy,
    Retry,
    parallel,
)
from foliot.model.presets import API, BEAT, CELERY, CODE, DECLARATIVE, ROLLCRON

NO = timedelta(0)
SECOND = timedelta(seconds=1)


class Row(NamedTuple):
    """A column of the table in DESIGN §4: one door's preset."""

    first_seen: str
    misfire: str
    before_first_run: str
    on_change: str
    overlap: str
    retry: str
    on_lost: str
    timeout: str


# Grace is 60 s and history the last 100 of 30 days, for all of them.
PRESETS = {
    "rollcron": (
        ROLLCRON,
        Row("wait", "skip", "no", "now", "skip", "none", "give_up", "10s"),
    ),
    "declarative": (
        DECLARATIVE,
        Row("if_matching", "once", "no", "last", "wait", "10s, for ever, pre-empted", "restart", "none"),
    ),
    "beat": (
        BEAT,
        Row("now", "once", "yes", "now", "parallel", "1s, for ever, pre-empted", "restart", "none"),
    ),
    "celery": (
        CELERY,
        Row("wait", "once", "yes", "now", "parallel", "1s, for ever, pre-empted", "restart", "none"),
    ),
    "api": (API, Row("wait", "once", "yes", "now", "parallel", "none", "restart", "none")),
    "code": (CODE, Row("wait", "once", "yes", "now", "skip", "none", "restart", "none")),
}


def in_words(policy: Policy) -> Row:
    retry = policy.retry
    count = "for ever" if retry.max is None else f"{retry.max} times"
    words = [f"{retry.delay.seconds}s", count, *(["pre-empted"] if retry.is_preempted else [])]
    return Row(
        first_seen=policy.first_seen,
        misfire=policy.misfire.mode,
        before_first_run="yes" if policy.before_first_run else "no",
        on_change=policy.on_change,
        overlap=policy.overlap.mode,
        retry="none" if retry.max == 0 else ", ".join(words),
        on_lost=policy.on_lost,
        timeout=f"{policy.timeout.seconds}s" if policy.timeout else "none",
    )


@pytest.mark.parametrize(("policy", "row"), PRESETS.values(), ids=PRESETS)
def test_a_door_has_the_preset_of_the_design(policy: Policy, row: Row) -> None:
    assert in_words(policy) == row
    assert policy.misfire.grace == timedelta(seconds=60)
    assert (policy.keep.last, policy.keep.days, policy.keep.problems_only) == (100, 30, False)
    assert policy.overlap.most == (None if row.overlap == "parallel" else 1)


def test_only_declarative_tasks_forget() -> None:
    forgetful = {name for name, (policy, _) in PRESETS.items() if not policy.remembers}
    assert forgetful == {"declarative"}


@pytest.mark.parametrize(
    ("overlap", "most"),
    [
        (Overlap(), 1),
        (Overlap(mode=OverlapMode.WAIT), 1),
        (Overlap(mode=OverlapMode.REPLACE), 1),
        (Overlap(mode=OverlapMode.WAIT, limit=5), 1),
        (parallel(), None),
        (parallel(1), 1),
        (parallel(7), 7),
    ],
    ids=str,
)
def test_how_many_runs_may_be_open(overlap: Overlap, most: int | None) -> None:
    assert overlap.most == most


REFUSED: dict[str, Callable[[], object]] = {
    "misfire.limit": lambda: Misfire(limit=0),
    "misfire.grace": lambda: Misfire(grace=-SECOND),
    "overlap.limit": lambda: parallel(0),
    "retry.max": lambda: Retry(max=-1),
    "retry.delay": lambda: Retry(delay=-SECOND),
    "retry.longest": lambda: Retry(longest=-SECOND),
    "retry.backoff": lambda: Retry(backoff=0.9),
    "retry.backoff inf": lambda: Retry(backoff=float("inf")),
    "retry.backoff nan": lambda: Retry(backoff=float("nan")),
    "retry.delay long": lambda: Retry(delay=timedelta.max),
    "retry.longest long": lambda: Retry(longest=timedelta.max),
    "retry.jitter": lambda: Retry(jitter=1.1),
    "keep.last": lambda: Keep(last=0),
    "keep.days": lambda: Keep(days=0),
    "keep.days long": lambda: Keep(days=2**63),
    "timeout": lambda: Policy(timeout=NO),
    "timeout long": lambda: Policy(timeout=timedelta.max),
    # What is of another type. Booleans are no numbers, and words are no booleans.
    "misfire.limit flag": lambda: Misfire(limit=True),
    "misfire.limit half": lambda: Misfire(limit=1.5),  # type: ignore[arg-type]
    "misfire.grace number": lambda: Misfire(grace=5),  # type: ignore[arg-type]
    "misfire.grace text": lambda: Misfire(grace="soon"),  # type: ignore[arg-type]
    "misfire.mode number": lambda: Misfire(mode=5),  # type: ignore[arg-type]
    "overlap.limit half": lambda: Overlap(limit=2.5),  # type: ignore[arg-type]
    "overlap.limit flag": lambda: parallel(True),  # noqa: FBT003
    "overlap.limit huge": lambda: parallel(10**400),
    "retry.max text": lambda: Retry(max="3"),  # type: ignore[arg-type]
    "retry.max flag": lambda: Retry(max=True),
    "retry.max huge": lambda: Retry(max=10**400),
    "retry.delay number": lambda: Retry(delay=10),  # type: ignore[arg-type]
    "retry.backoff flag": lambda: Retry(backoff=True),
    "retry.backoff text": lambda: Retry(backoff="2"),  # type: ignore[arg-type]
    "retry.jitter text": lambda: Retry(jitter="0.1"),  # type: ignore[arg-type]
    "retry.is_preempted": lambda: Retry(is_preempted="no"),  # type: ignore[arg-type]
    "keep.last text": lambda: Keep(last="5"),  # type: ignore[arg-type]
    "keep.last flag": lambda: Keep(last=True),
    "keep.days half": lambda: Keep(days=1.5),  # type: ignore[arg-type]
    "keep.problems_only": lambda: Keep(problems_only=1),  # type: ignore[arg-type]
    "timeout number": lambda: Policy(timeout=5),  # type: ignore[arg-type]
    "timeout flag": lambda: Policy(timeout=True),  # type: ignore[arg-type]
    "retry": lambda: Policy(retry=5),  # type: ignore[arg-type]
    "keep": lambda: Policy(keep=5),  # type: ignore[arg-type]
    "overlap": lambda: Policy(overlap=5),  # type: ignore[arg-type]
    "misfire": lambda: Policy(misfire=5),  # type: ignore[arg-type]
    "on_lost": lambda: Policy(on_lost=5),  # type: ignore[arg-type]
    "on_lost text": lambda: Policy(on_lost="perhaps"),  # type: ignore[arg-type]
    "on_change": lambda: Policy(on_change=None),  # type: ignore[arg-type]
    "first_seen": lambda: Policy(first_seen=True),  # type: ignore[arg-type]
    "before_first_run": lambda: Policy(before_first_run="no"),  # type: ignore[arg-type]
    "remembers": lambda: Policy(remembers=0),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("field", "build"), REFUSED.items(), ids=REFUSED)
def test_a_policy_that_cannot_be_right_is_refused_by_name(field: str, build: Callable[[], object]) -> None:
    field = field.partition(" ")[0]
    with pytest.raises(InvalidPolicyError, match=f"^invalid {field} ") as caught:
        build()
    assert caught.value.details["field"] == field


def test_what_stands_in_the_place_of_a_policy_is_told_what_would_be_right() -> None:
    for field, hint in {"retry": "Retry(max=5)", "keep": "Keep(last=5)", "overlap": "parallel(5)"}.items():
        with pytest.raises(InvalidPolicyError) as caught:
            Policy(**{field: 5})  # type: ignore[arg-type]
        assert hint in str(caught.value.hint)


def test_a_word_becomes_the_member_that_the_planner_looks_for() -> None:
    policy = Policy(on_lost="give_up", on_change="last", first_seen="now")  # type: ignore[arg-type]
    assert policy.on_lost is OnLost.GIVE_UP
    assert (policy.on_change, policy.first_seen) == (OnChange.LAST, FirstSeen.NOW)


def test_edges_that_are_right() -> None:
    assert Misfire(limit=1, grace=NO).grace == NO
    assert Retry(max=0, delay=NO, backoff=1, jitter=1).delay == NO
    assert Policy(timeout=timedelta(microseconds=1)).timeout
    assert Keep(last=None, days=None) == Keep(last=None, days=None)


def test_a_negative_jitter_and_an_unreadable_delay_are_refused() -> None:
    with pytest.raises(InvalidPolicyError):
        Retry(jitter=-0.1)
    with pytest.raises(InvalidPolicyError, match=r"invalid retry\.delay soon: is no duration"):
        Retry(delay="soon")


def test_durations_of_a_retry_may_be_written() -> None:
    written = Retry(3, "10s", backoff=2, longest="1h30m")
    assert written == Retry(3, timedelta(seconds=10), backoff=2.0, longest=timedelta(minutes=90))
    assert hash(written) == hash(Retry(3, timedelta(seconds=10), backoff=2.0, longest=timedelta(minutes=90)))


def test_policies_are_frozen() -> None:
    for value, name in ((CODE, "overlap"), (CODE.retry, "max"), (CODE.misfire, "grace"), (CODE.keep, "last")):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, None)


def test_one_look_opens_a_bounded_number_of_runs() -> None:
    assert Misfire(mode=MisfireMode.ALL, limit=1000).limit == 1000
    with pytest.raises(InvalidPolicyError, match="must be at most 1000"):
        Misfire(mode=MisfireMode.ALL, limit=1001)
