"""`foliot job pause | resume`: with an end, and for all jobs; and lists of what needs attention."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cli.shop import Shop


def test_a_pause_can_have_an_end(shop: Shop) -> None:
    told = shop.call("job", "pause", "refresh", "--until", "2h", "--reason", "the disk is full")
    assert told.out == "ok: billing/refresh is paused until 2026-03-02T10:00:05Z: the disk is full\n"
    why = shop.call("job", "why", "refresh").out
    assert "it is paused since 2026-03-02T08:00:05Z until 2026-03-02T10:00:05Z: the disk is full" in why
    shown = shop.call("job", "show", "refresh", "-ojson").json()
    assert shown["paused_until"] == "2026-03-02T10:00:05+00:00"
    assert "until 2026-03-02T10:00:05Z" in shop.call("job", "show", "refresh").out


@pytest.mark.parametrize(
    ("until", "end"),
    [
        ("18:00", "2026-03-02T17:00:00Z"),  # the job's zone is Berlin
        ("08:00", "2026-03-03T07:00:00Z"),  # of today it has passed
        ("tomorrow 07:00", "2026-03-03T06:00:00Z"),
        ("2026-03-05", "2026-03-04T23:00:00Z"),
        ("90m", "2026-03-02T09:30:05Z"),
    ],
)
def test_the_end_is_given_as_people_say_it(shop: Shop, until: str, end: str) -> None:
    assert shop.call("job", "pause", "refresh", "--until", until).out == (
        f"ok: billing/refresh is paused until {end}\n"
    )


def test_an_end_that_is_past_or_no_time_is_refused(shop: Shop) -> None:
    past = shop.call("job", "pause", "refresh", "--until", "2026-03-01")
    assert (past.code, "is past" in past.err) == (1, True)
    assert shop.call("job", "pause", "refresh", "--until", "soon").code == 2
    assert shop.call("job", "list", "--paused").out == "No paused jobs.\n"


def test_all_jobs_of_a_source_are_paused_and_resumed_with_a_count(shop: Shop) -> None:
    preview = shop.call("job", "pause", "--all", "--source", "billing", "--dry-run")
    assert preview.out.splitlines() == [
        "billing/refresh would be paused",
        "billing/report would be paused",
        "billing/slow would be paused",
        "ok: 3 of 3 jobs of the source billing would change",
    ]
    assert shop.call("job", "list", "--paused").out == "No paused jobs.\n"
    shop.call("job", "pause", "slow", "--reason", "move")
    done = shop.call("job", "pause", "--all", "--source", "billing", "--reason", "move")
    assert done.out.splitlines()[-1] == "ok: 2 of 3 jobs of the source billing changed; 1 stay as they are"
    listed = shop.call("job", "list", "--paused", "-ojson").json()["jobs"]
    assert [job["job"] for job in listed] == ["billing/refresh", "billing/report", "billing/slow"]
    assert shop.call("job", "resume", "--all").out.splitlines()[-1] == (
        "ok: 3 of 5 jobs changed; 2 stay as they are"
    )
    assert len(shop.call("job", "resume", "--all", "-ojson").json()["jobs"]) == 5


@pytest.mark.parametrize(
    "words", [(), ("refresh", "--all"), ("refresh", "--source", "billing")], ids=["none", "both", "source"]
)
def test_a_job_or_all_must_be_named(shop: Shop, words: tuple[str, ...]) -> None:
    for verb in ("pause", "resume"):
        refused = shop.call("job", verb, *words)
        assert (refused.code, "name a JOB, or give --all" in refused.err) == (2, True)
    assert shop.call("job", "pause", "--all", "--source", "bling").code == 4


def test_jobs_that_fail_are_listed(shop: Shop) -> None:
    listed = shop.call("job", "list", "--failing", "-ojson").json()["jobs"]
    assert [job["job"] for job in listed] == ["billing/report"]
    shop.wait(timedelta(minutes=5))
    assert "no Foliot process is running, so nothing will start" in shop.call("job", "list", "--failing").err
