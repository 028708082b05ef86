"""`foliot job why --at | --last`, as people tell times."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cli.shop import Shop


@pytest.mark.parametrize(
    ("at", "asked"),
    [
        ("07:00", "2026-03-02T07:00:00+00:00"),
        ("today 07:00", "2026-03-02T07:00:00+00:00"),
        ("Yesterday 7:00", None),
        ("yesterday 07:00", "2026-03-01T07:00:00+00:00"),
        ("tomorrow 07:00:30", "2026-03-03T07:00:30+00:00"),
        ("2026-03-02T07:00", "2026-03-02T07:00:00+00:00"),
        ("2026-03-02T07:00+01:00", "2026-03-02T06:00:00+00:00"),
        ("25:00", None),
        ("gestern", None),
    ],
)
def test_a_time_is_given_as_people_say_it(shop: Shop, at: str, asked: str | None) -> None:
    result = shop.call("job", "why", "billing/report", "--at", at, "-ojson")
    if asked is None:
        assert result.code == 2
        assert "07:00, yesterday, 'yesterday 07:00'" in result.json()["error"]["message"]
    else:
        assert (result.code, result.json()["asked"]) == (0, asked)


def test_a_time_of_day_is_one_of_the_jobs_zone_and_told_beside_utc(shop: Shop) -> None:
    told = shop.call("job", "why", "refresh", "--at", "09:00")
    assert "note: 2026-03-02T08:00:00Z is Mon 2026-03-02 09:00 in Europe/Berlin" in told.out


def test_a_day_means_its_occurrences(shop: Shop) -> None:
    told = shop.call("job", "why", "billing/report", "--at", "today")
    assert told.out.startswith("billing/report: attempt 2 failed on node n1")
    shop.wait(timedelta(days=1))
    again = shop.call("job", "why", "billing/report", "--at", "yesterday").out
    assert again.startswith("billing/report: attempt 2 failed on node n1")
    many = shop.call("job", "why", "refresh", "--at", "yesterday")
    assert many.code == 2
    assert "yesterday has more than 12 occurrences; name a time: --at 'yesterday 07:00'" in many.err
    none = shop.call("job", "why", "once", "--at", "yesterday")
    assert none.code == 0
    assert none.out.startswith("ops/once: ")


def test_what_happened_last(shop: Shop) -> None:
    assert shop.call("job", "why", "billing/report", "--last").out.splitlines() == [
        "billing/report: the last run, of 2026-03-02 07:00+00:00, failed: ValueError: no figures",
        "note: foliot run logs 'billing/report@2026-03-02T07:00:00Z' prints what it wrote",
    ]
    assert shop.call("job", "why", "once", "--last").out == "ops/once: nothing has happened yet\n"
    facts = shop.call("job", "why", "billing/report", "--last", "-ojson").json()
    assert facts["last_outcome"] == "failed"
    assert shop.call("job", "why", "once", "--last", "--at", "07:00").code == 2
