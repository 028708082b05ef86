"""`foliot job list | show | next | why`, on a store with a past: see `shop`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from cli.calls import Result
from cli.shop import JOBS, Shop
from foliot.model.chain import Link, On
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.model.splay import offset_of
from foliot.schedules import Cron, Never
from foliot.schedules.duration import format_duration
from foliot.stores.sqlite import SqliteStore


def test_the_list_shows_how_jobs_are_and_when_they_run(shop: Shop) -> None:
    result = shop.call("job", "list")
    assert (result.code, result.err) == (0, "")
    assert [line.split("  ")[0].strip() for line in result.out.splitlines()] == [
        "JOB", "billing/refresh", "billing/report", "billing/slow", "ops/once", "ops/report",
    ]  # fmt: skip
    _, refresh, report, slow, *_ = result.out.splitlines()
    assert (
        " ".join(refresh.split()[1:])
        == "ok in 59 min 55 s succeeded 5 s ago 0 * * * * Europe/Berlin default python:refresh"
    )
    assert "failing 1x  in 22 h 59 min  failed     59 min 31 s ago" in report
    assert "running" in slow


def test_the_list_in_json(shop: Shop) -> None:
    document = shop.call("job", "list", "-o", "json").json()
    assert document["next"] is None
    assert document["jobs"][2] == {
        "id": "billing~2Fslow",
        "key": "billing/slow",
        "source": "billing",
        "name": "slow",
        "job": "billing/slow",
        "state": ["running"],
        "damage": None,
        "schedule": "0 8 * * *",
        "timezone": "UTC",
        "queue": "default",
        "group": None,
        "action": "python:slow",
        "next_at": "2026-03-03T08:00:00+00:00",
        "last_attempt_at": "2026-03-02T08:00:00+00:00",
        "last_outcome": None,
        "last_success_at": None,
        "failures_in_row": 0,
        "open_runs": ["billing/slow@2026-03-02T08:00:00Z"],
        "paused_at": None,
        "paused_reason": None,
        "paused_until": None,
        "version": 1,
    }


def keys(result: Result) -> list[str]:
    return [job["job"] for job in result.json()["jobs"]]


def test_the_list_can_be_narrowed_and_paged(shop: Shop) -> None:
    assert keys(shop.call("job", "list", "--source", "ops", "-ojson")) == ["ops/once", "ops/report"]
    first = shop.call("job", "list", "-n", "2", "-ojson")
    assert first.json()["next"] == "billing/report"
    rest = shop.call("job", "list", "--after", "billing/report", "-ojson")
    assert keys(first) + keys(rest) == keys(shop.call("job", "list", "-ojson"))
    assert "there are more: --after billing/report" in shop.call("job", "list", "-n2").err
    unknown = shop.call("job", "list", "--source", "opps")
    assert (unknown.code, unknown.err) == (4, "error: there is no source opps\nhint: did you mean ops?\n")


def test_removed_jobs_are_shown_when_asked_for(shop: Shop) -> None:
    async def remove(store: SqliteStore) -> None:
        await shop.declare(store, JOBS[:1], removed=("report",))

    shop.act(remove)
    assert "billing/report" not in shop.call("job", "list").out
    assert ["removed", "failing"] in [
        job["state"] for job in shop.call("job", "list", "--removed", "-ojson").json()["jobs"]
    ]
    assert shop.call("job", "show", "report", "-ojson").json()["job"] == "ops/report"
    assert "removed" in shop.call("job", "show", "billing/report").out
    assert shop.call("job", "pause", "billing/report").code == 4


def test_all_of_a_job_is_shown(shop: Shop) -> None:
    assert shop.call("job", "show", "billing/report").out == (
        "job           billing/report\n"
        "state         failing 1x\n"
        "schedule      0 7 * * MON-FRI\n"
        "meaning       at 07:00 on weekdays, UTC\n"
        "action        python:report\n"
        'payload       {"to": "boss"}\n'
        "queue         default\n"
        "policy        retry.max=1, timeout=5m\n"
        "revision      r1, since 2026-03-02T06:30:00Z (1 h 30 min ago)\n"
        "version       1, since 2026-03-02T06:30:00Z (1 h 30 min ago)\n"
        "known since   2026-03-02T06:30:00Z (1 h 30 min ago)\n"
        "next run      2026-03-03T07:00:00Z (in 22 h 59 min)\n"
        "last run      billing/report@2026-03-02T07:00:00Z\n"
        "last outcome  failed\n"
        "last failure  2026-03-02T07:00:36Z (59 min 29 s ago)\n"
        "failures      1 in a row\n"
    )


def test_all_of_a_job_in_json(shop: Shop) -> None:
    document = shop.call("job", "show", "slow", "-ojson").json()
    assert document["definition"]["schedule"] == {
        "cron": "0 8 * * *",
        "dialect": "standard",
        "timezone": "UTC",
    }
    assert document["explanation"] == "at 08:00 every day, UTC"
    assert document["stored_state"]["paused_at"] is None
    assert [attempt["state"] for attempt in document["attempts"]] == ["running"]
    assert document["skips"] == []


def test_the_next_occurrences_are_in_the_zone_of_the_job(shop: Shop) -> None:
    assert shop.call("job", "next", "refresh", "-n", "2").out.splitlines() == [
        "OCCURRENCE                   UTC               DUE",
        "Mon 2026-03-02 10:00 +01:00  2026-03-02 09:00  in 59 min 55 s",
        "Mon 2026-03-02 11:00 +01:00  2026-03-02 10:00  in 1 h 59 min",
    ]


def test_what_keeps_a_job_from_running_is_told_with_its_occurrences(shop: Shop) -> None:
    shop.call("job", "pause", "ops/report")
    document = shop.call("job", "next", "ops/report", "-n1", "-ojson").json()
    assert document["notes"] == [
        "it is paused since 2026-03-02T08:00:05Z (now)",
        "no running node can run shell (queue night)",
    ]
    assert (
        document["occurrences"][0]["in_seconds"]
        == timedelta(hours=15, minutes=59, seconds=55).total_seconds()
    )


def test_a_node_whose_lease_has_run_out_serves_nothing(shop: Shop) -> None:
    assert shop.call("job", "next", "slow", "-ojson").json()["notes"] == []
    shop.wait(timedelta(minutes=1))
    assert "no running node can run" in shop.call("job", "next", "slow").out


def test_a_job_that_is_switched_off_says_so_and_what_it_skipped_is_shown(shop: Shop) -> None:
    shop.call("job", "pause", "refresh")
    shop.wait(timedelta(hours=1))
    shop.call("job", "resume", "refresh")
    assert (
        "last skip     2026-03-02T09:00:00Z (5 s ago): the job was paused\n"
        in shop.call("job", "show", "refresh").out
    )

    async def switch_off(store: SqliteStore) -> None:
        await shop.declare(store, (replace(JOBS[0], enabled=False),))

    shop.act(switch_off)
    assert "note: its definition switches it off\n" in shop.call("job", "next", "refresh").out
    assert "disabled" in shop.call("job", "show", "refresh").out


def test_an_hour_that_comes_twice_is_explained(empty_shop: Shop) -> None:
    async def declare(store: SqliteStore) -> None:
        await empty_shop.declare(store, JOBS)

    empty_shop.wait(datetime(2026, 10, 24, 23, 30, tzinfo=UTC) - empty_shop.clock.now())
    empty_shop.act(declare)
    lines = empty_shop.call("job", "next", "refresh", "-n", "2").out.splitlines()
    assert lines[2].endswith("2nd time")
    assert lines[3] == "2nd time: the clocks go back, so this wall time comes twice"
    assert empty_shop.call("node", "list").out == "No nodes.\n"


def test_a_job_without_occurrences_says_so(shop: Shop) -> None:
    shop.wait(timedelta(days=8))
    assert shop.call("job", "next", "once").out.startswith("No occurrence is left.\n")


AFTER = replace(JOBS[0], name="after", schedule=Never(), policy=Policy(after=Link("refresh", On.SUCCESS)))
IDLE = [
    (AFTER, "after refresh", "when a run of refresh has succeeded"),
    (
        replace(AFTER, schedule=Never(at_boot=True)),
        "@reboot",
        "when a run of refresh has succeeded, and once after each boot",
    ),
    (replace(AFTER, schedule=Never(at_boot=True), policy=Policy()), "@reboot", "once after each boot"),
    (
        replace(AFTER, policy=Policy()),
        "never",
        "only when somebody asks: foliot job trigger billing/after",
    ),
]


@pytest.mark.parametrize(("job", "rule", "starts"), IDLE, ids=["chain", "chain and boot", "boot", "never"])
def test_of_a_job_without_times_it_is_told_what_starts_it(
    empty_shop: Shop, job: Job, rule: str, starts: str
) -> None:
    async def declare(store: SqliteStore) -> None:
        await empty_shop.declare(store, (JOBS[0], job))

    empty_shop.act(declare)
    words = f"It has no times: it runs {starts}"
    assert empty_shop.call("job", "next", "after").out.splitlines()[0] == words
    assert empty_shop.call("job", "next", "after", "-ojson").json()["idle"] == words
    assert f"next run     {starts}\n" in empty_shop.call("job", "show", "after").out
    assert f" {rule} " in empty_shop.call("job", "list").out
    empty_shop.call("job", "pause", "after")
    assert "next run" not in empty_shop.call("job", "show", "after").out


def test_the_jobs_that_send_alerts_are_shown_by_their_source_only(shop: Shop) -> None:
    async def declare(store: SqliteStore) -> None:
        await shop.declare(store, (replace(JOBS[0], source="foliot.alerts", name="ops"),))

    before = keys(shop.call("job", "list", "-ojson"))
    shop.act(declare)
    assert keys(shop.call("job", "list", "-ojson")) == before
    assert keys(shop.call("job", "list", "--source", "foliot.alerts", "-ojson")) == ["foliot.alerts/ops"]
    assert len(keys(shop.call("job", "list", "-n3", "-ojson"))) == 3
    assert f"{len(before)} jobs," in shop.call("top", "--once").out
    assert "foliot.alerts" not in shop.call("top", "--once").out
    assert f"jobs: {len(before)}," in shop.call("store", "check").out


@pytest.mark.parametrize(
    ("words", "verdict", "text"),
    [
        (("slow",), "runs", "billing/slow@2026-03-02T08:00:00Z runs since"),
        (("refresh", "--at", "2026-03-02T08:00"), "ran", "succeeded"),  # Berlin: 7:00 in UTC
        (("refresh", "--at", "2026-03-02T07:00Z"), "ran", "succeeded"),
        (("billing/report", "--at", "2026-03-02T07:00"), "ran", "ValueError: no figures"),
        (("billing/report", "--at", "2026-03-03T07:00"), "will_run", "2026-03-03T07:00:00Z is an occurrence"),
        (("billing/report", "--at", "2026-03-08T07:00"), "will_not", "is no occurrence of"),
        (("once",), "will_run", "2026-03-09T12:00:00Z is next"),
    ],
)
def test_why(shop: Shop, words: tuple[str, ...], verdict: str, text: str) -> None:
    document = shop.call("job", "why", *words, "-ojson").json()
    assert document["verdict"] == verdict
    assert text in document["text"]
    assert document["text"] in shop.call("job", "why", *words).out


def test_why_names_the_rule_and_the_revision_that_decided(shop: Shop) -> None:
    words = ("job", "why", "refresh", "--at", "2026-03-02T07:00Z")
    document = shop.call(*words, "-ojson").json()
    assert (document["rule"], document["revision"]) == ("0 * * * * (Europe/Berlin)", "r1")
    assert document["revision_since"] == "2026-03-02T06:30:00+00:00"
    assert shop.call(*words).out.endswith(
        "\nrule: 0 * * * * (Europe/Berlin) of revision r1, since 2026-03-02T06:30:00Z (1 h 30 min ago)\n"
    )

    async def change(store: SqliteStore) -> None:
        await shop.declare(store, (replace(JOBS[0], revision="abc"),))

    shop.act(change)
    assert shop.call(*words).out.endswith(
        "\nrule: 0 * * * * (Europe/Berlin) of revision abc (an earlier revision may have decided)\n"
    )
    assert "revision      abc\n" in shop.call("job", "show", "refresh").out
    assert shop.call("job", "show", "refresh", "-ojson").json()["source"]["revision"] == "r2"


def test_why_knows_the_hour_that_the_clocks_leave_out(shop: Shop) -> None:
    out = shop.call("job", "why", "refresh", "--at", "2026-03-29T02:00").out
    assert out.startswith("billing/refresh: 2026-03-29T01:00:00Z is an occurrence"), (
        "an hourly rule goes on: it is 3:00"
    )

    async def declare(store: SqliteStore) -> None:
        at_two = replace(JOBS[0], name="at-two", schedule=Cron("30 2 * * *", timezone="Europe/Berlin"))
        await shop.declare(store, (at_two,))

    shop.act(declare)
    assert shop.call("job", "why", "at-two", "--at", "2026-03-29T02:30").out.startswith(
        "billing/at-two: 02:30 of 2026-03-29 does not exist in Europe/Berlin: its clocks go forward;"
        " the next one after it is 2026-03-30T00:30:00Z\n"
    )


def test_what_has_come_and_was_not_met_is_due(shop: Shop) -> None:
    shop.wait(timedelta(hours=3))
    heading, refresh, *_ = shop.call("job", "list").out.splitlines()
    assert refresh[heading.index("NEXT") :].startswith("due ")
    assert (
        "next run      2026-03-02T09:00:00Z (due, and not met yet)\n"
        in shop.call("job", "show", "refresh").out
    )


def test_why_tells_that_no_node_can_run_it(shop: Shop) -> None:
    assert "note: no running node can run shell (queue default)" in shop.call("job", "why", "once").out


def test_a_job_is_found_by_its_name_alone_unless_two_have_it(shop: Shop) -> None:
    assert shop.call("job", "show", "slow") == shop.call("job", "show", "billing/slow")
    result = shop.call("job", "show", "report")
    assert result.code == 2
    assert "error: 2 jobs have the name report: give one of billing/report, ops/report\n" in result.err


@pytest.mark.parametrize("name", ["show", "next", "why", "pause", "resume", "trigger"])
def test_a_job_that_is_not_there_is_not_found(shop: Shop, name: str) -> None:
    result = shop.call("job", name, "refrsh")
    assert (result.code, result.out) == (4, "")
    assert result.err == "error: there is no job refrsh\nhint: did you mean billing/refresh?\n"
    error = shop.call("job", name, "refrsh", "-ojson").json()["error"]
    assert (error["type"], error["details"]) == ("JobNotFoundError", {"job": "refrsh"})


def test_a_damaged_job_is_shown_and_the_others_go_on(shop: Shop) -> None:
    with closing(sqlite3.connect(shop.path)) as connection, connection:
        connection.execute("UPDATE jobs SET frame = '{' WHERE key = 'billing/slow'")
    assert shop.call("job", "list", "-ojson").json()["jobs"][2]["state"] == ["damaged"]
    assert "damage  " in shop.call("job", "show", "slow").out
    assert shop.call("job", "show", "refresh").code == 0
    refused = shop.call("job", "pause", "slow")
    assert refused.code == 1
    assert "billing/slow cannot be read" in refused.err


@pytest.mark.req("OWN-21")
def test_a_splay_is_told_with_both_times(empty_shop: Shop) -> None:
    policy = Policy(splay=timedelta(hours=1))
    job = Job(source="ops", name="a", schedule=Cron("0 9 * * *"), action=Action(kind="shell"), policy=policy)
    empty_shop.act(lambda store: empty_shop.declare(store, (job,)))
    start = datetime(2026, 3, 2, 9, tzinfo=UTC) + offset_of(job)

    note = f"each starts {format_duration(offset_of(job))} later, by its splay of 1h"
    document = empty_shop.call("job", "next", "ops/a", "-ojson").json()
    assert document["notes"][0] == note
    assert f"note: {note}" in empty_shop.call("job", "next", "ops/a").out
    starts = f"starts at {start:%Y-%m-%dT%H:%M:%SZ}"
    assert f"next run     2026-03-02T09:00:00Z, {starts}" in empty_shop.call("job", "show", "ops/a").out
    assert f"by its splay it {starts}" in empty_shop.call("job", "why", "ops/a").out
