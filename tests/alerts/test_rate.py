from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.sample import AT, many
from foliot.alerts.rate import Plan, Rate, plan_sends
from foliot.errors import InvalidChannelError

MINUTE = timedelta(minutes=1)


def sizes(plan: Plan) -> list[int]:
    return [len(part) for part in plan.parts]


@pytest.mark.parametrize(
    ("sent", "waiting", "parts"),
    [
        (0, 0, []),
        (0, 1, [1]),
        (0, 5, [1, 1, 1, 1, 1]),
        (0, 6, [6]),
        (0, 37, [37]),
        (17, 3, [1, 1, 1]),
        (18, 3, [3]),
        (19, 1, [1]),
        (19, 2, [2]),
        (20, 1, []),
        (25, 9, []),
    ],
)
def test_messages_apart_or_together(sent: int, waiting: int, parts: list[int]) -> None:
    plan = plan_sends(Rate(), [AT - n * timedelta(seconds=1) for n in range(sent)], many(waiting), AT)

    assert sizes(plan) == parts


def test_it_waits_until_the_oldest_message_is_old_enough() -> None:
    sent = [AT - 9 * MINUTE, *[AT] * 19]

    plan = plan_sends(Rate(), sent, many(3), AT)

    assert plan == Plan((), AT + MINUTE)
    assert sizes(plan_sends(Rate(), sent, many(3), AT + MINUTE)) == [3]


def test_in_a_flood_digests_come_evenly_when_half_of_the_room_is_used() -> None:
    sent = [AT - n * timedelta(seconds=2) for n in range(10)]

    assert sizes(plan_sends(Rate(), sent[1:], many(6), AT)) == [6]
    assert plan_sends(Rate(), sent, many(6), AT) == Plan((), AT + timedelta(seconds=30))
    assert sizes(plan_sends(Rate(), sent, many(6), AT + timedelta(seconds=30))) == [6]
    assert sizes(plan_sends(Rate(), sent, many(5), AT)) == [1] * 5, "this is no flood"


def test_a_rate_that_was_lowered_waits_until_there_is_room_again() -> None:
    sent = [AT - 9 * MINUTE, AT - 2 * MINUTE, AT - MINUTE]

    assert plan_sends(Rate(messages=2), sent, many(1), AT).wait_until == AT + 8 * MINUTE


def test_old_messages_do_not_count() -> None:
    assert sizes(plan_sends(Rate(), [AT - 10 * MINUTE] * 50, many(2), AT)) == [1, 1]


def test_without_a_rate_every_alert_goes_out_alone() -> None:
    assert sizes(plan_sends(None, [AT] * 100, many(30), AT)) == [1] * 30


def test_a_clock_that_was_set_back_does_not_silence_a_channel() -> None:
    sent = [AT + timedelta(days=30)] * 20

    plan = plan_sends(Rate(), sent, many(1), AT)

    assert plan.wait_until == AT + 10 * MINUTE


@given(
    st.integers(1, 30),
    st.lists(st.integers(-1200, 1200), max_size=40),
    st.integers(0, 40),
)
def test_never_more_than_the_rate_and_nothing_is_lost(limit: int, offsets: list[int], waiting: int) -> None:
    rate = Rate(messages=limit)
    sent = [AT + timedelta(seconds=offset) for offset in offsets]
    alerts = many(waiting)

    plan = plan_sends(rate, sent, alerts, AT)

    recent = [at for at in sent if at > AT - rate.within]
    assert len(recent) + len(plan.parts) <= max(limit, len(recent))
    told = [alert for part in plan.parts for alert in part]
    assert told in (alerts, [])
    assert (plan.wait_until is not None) == (bool(alerts) and not told)
    assert plan.wait_until is None or AT < plan.wait_until <= AT + rate.within


@given(st.lists(st.integers(0, 3600), min_size=1, max_size=200))
def test_a_flood_drains_within_the_rate_and_in_order(arrivals: list[int]) -> None:
    rate, sent, told = Rate(messages=3), list[datetime](), list[str]()
    alerts = [
        a._replace(at=AT + timedelta(seconds=s)) for a, s in zip(many(200), sorted(arrivals), strict=False)
    ]
    now = AT
    while len(told) < len(alerts):
        plan = plan_sends(rate, sent, [a for a in alerts[len(told) :] if a.at <= now], now)
        for part in plan.parts:
            sent.append(now)
            told += [alert.id for alert in part]
        now += timedelta(seconds=30)

    assert told == [alert.id for alert in alerts]
    for at in sent:
        assert sum(at <= other < at + rate.within for other in sent) <= 3


@pytest.mark.parametrize("fields", [{"messages": 0}, {"messages": True}, {"within": timedelta(0)}])
def test_rates_that_cannot_be_right(fields: dict[str, int | timedelta]) -> None:
    with pytest.raises(InvalidChannelError):
        Rate(**fields)  # type: ignore[arg-type]
