"""Attempts: names, states, and the table of what may follow what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import product
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.errors import IllegalTransitionError
from foliot.model.attempt import (
    TRANSITIONS,
    Attempt,
    AttemptState,
    Trigger,
    check_transition,
    format_instant,
    run_key,
)

SEVEN = datetime(2026, 11, 15, 7, tzinfo=UTC)
PENDING, RUNNING, CANCELLING, ENDED = AttemptState
LEGAL = {
    (PENDING, RUNNING),
    (PENDING, ENDED),
    (RUNNING, CANCELLING),
    (RUNNING, ENDED),
    (CANCELLING, ENDED),
}


def attempt(state: AttemptState = PENDING, request: str | None = None, number: int = 1) -> Attempt:
    return Attempt("billing/refresh", number, Trigger.SCHEDULE, state, SEVEN, request=request)


@pytest.mark.parametrize(("before", "after"), list(product(AttemptState, AttemptState)))
def test_only_what_the_table_says_may_follow(before: AttemptState, after: AttemptState) -> None:
    if (before, after) in LEGAL:
        check_transition(before, after)
    else:
        with pytest.raises(IllegalTransitionError, match=f"{before} cannot become {after}"):
            check_transition(before, after)


def test_the_table_has_every_state_and_a_reason_for_every_step() -> None:
    assert set(TRANSITIONS) == set(AttemptState)
    assert all(reason for steps in TRANSITIONS.values() for reason in steps.values())


def test_every_state_leads_to_the_end_and_the_end_leads_nowhere() -> None:
    assert all(ENDED in TRANSITIONS[state] for state in AttemptState if state is not ENDED)
    assert TRANSITIONS[ENDED] == {}


@pytest.mark.parametrize(
    ("state", "is_open", "is_running"),
    [(PENDING, True, False), (RUNNING, True, True), (CANCELLING, True, True), (ENDED, False, False)],
)
def test_which_attempts_are_open_and_which_a_node_holds(
    state: AttemptState, *, is_open: bool, is_running: bool
) -> None:
    assert (attempt(state).is_open, attempt(state).is_running) == (is_open, is_running)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (attempt(), "billing/refresh@2026-11-15T07:00:00Z"),
        (attempt(number=3), "billing/refresh@2026-11-15T07:00:00Z"),
        (attempt(state=ENDED), "billing/refresh@2026-11-15T07:00:00Z"),
        (attempt(request="ticket-7"), "billing/refresh!ticket-7"),
        (attempt(request=""), "billing/refresh!"),
    ],
)
def test_all_attempts_at_a_run_share_its_key(given: Attempt, key: str) -> None:
    assert given.run_key == key
    assert given.key == (key, given.number)


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (SEVEN, "2026-11-15T07:00:00Z"),
        (SEVEN.astimezone(ZoneInfo("Europe/Berlin")), "2026-11-15T07:00:00Z"),
        (SEVEN.astimezone(timezone(timedelta(hours=-5, minutes=-30))), "2026-11-15T07:00:00Z"),
        (SEVEN.replace(tzinfo=ZoneInfo("UTC")), "2026-11-15T07:00:00Z"),
        (SEVEN + timedelta(microseconds=5), "2026-11-15T07:00:00.000005Z"),
        (datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")), "2026-10-25T00:30:00Z"),
        (datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")), "2026-10-25T01:30:00Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
    ],
)
def test_an_instant_is_written_in_utc(instant: datetime, text: str) -> None:
    assert format_instant(instant) == text


instants = st.datetimes(
    min_value=datetime(1970, 1, 2), max_value=datetime(2100, 1, 1), timezones=st.timezones()
)


@given(instants, instants)
def test_two_instants_share_a_key_exactly_if_they_are_the_same(one: datetime, other: datetime) -> None:
    same = one.astimezone(UTC) == other.astimezone(UTC)
    assert (run_key("a/b", one, None) == run_key("a/b", other, None)) is same
    assert datetime.fromisoformat(format_instant(one)) == one.astimezone(UTC)
