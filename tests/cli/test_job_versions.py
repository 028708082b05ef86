"""`foliot job versions`, and what other commands tell of a definition that has changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest

from cli.shop import JOBS, Shop
from foliot.model.job import Action
from foliot.schedules import Cron
from foliot.stores.sqlite import SqliteStore

REPORT = JOBS[1]
LATER = replace(REPORT, schedule=Cron("0 9 * * *"), action=Action(kind="python:report", data={"to": "all"}))


@pytest.fixture
def changed(shop: Shop) -> Shop:
    """The report is sent at another time, since an hour ago."""

    async def scene(store: SqliteStore) -> None:
        await shop.declare(store, (LATER,))
        await shop.pass_time(store, timedelta(hours=1))

    shop.act(scene)
    return shop


def test_the_definitions_of_a_job_are_listed(changed: Shop) -> None:
    assert changed.call("job", "versions", "billing/report").out.splitlines() == [
        "VERSION  SINCE           UNTIL    SCHEDULE         CHANGED           REPLACED BY",
        "2        1 h ago                  0 9 * * *        schedule, action",
        "1        2 h 30 min ago  1 h ago  0 7 * * MON-FRI                    r2",
    ]


def test_the_definitions_in_json(changed: Shop) -> None:
    document = changed.call("job", "versions", "billing/report", "-ojson").json()
    assert document["job"] == "billing/report"
    new, old = document["versions"]
    assert (new["version"], new["since"], new["until"]) == (2, "2026-03-02T08:00:05+00:00", None)
    assert (old["version"], old["until"], old["replaced_by"]) == (1, "2026-03-02T08:00:05+00:00", "r2")
    assert old["definition"]["action"]["data"] == {"to": "boss"}
    assert new["definition"]["action"]["data"] == {"to": "all"}
    assert (new["damage"], old["damage"]) == (None, None)


def test_a_job_that_is_unknown_has_none(shop: Shop) -> None:
    assert shop.call("job", "versions", "reprot").err.startswith("error: there is no job reprot")


def test_a_definition_that_cannot_be_read_is_told_of(changed: Shop) -> None:
    with closing(sqlite3.connect(changed.path)) as connection, connection:
        connection.execute("UPDATE definitions SET frame = '{'")
    result = changed.call("job", "versions", "billing/report")
    assert "version 1 cannot be read" in result.out + result.err
    old = changed.call("job", "versions", "billing/report", "-ojson").json()["versions"][1]
    assert (old["definition"], bool(old["damage"])) == (None, True)


def test_why_tells_the_rule_of_that_time(changed: Shop) -> None:
    words = ("job", "why", "billing/report", "--at")
    assert changed.call(*words, "2026-03-02T07:00Z").out.endswith(
        "\nrule: 0 7 * * MON-FRI (version 1; the job has another definition now)\n"
    )
    document = changed.call(*words, "2026-03-02T07:00Z", "-ojson").json()
    assert (document["rule"], document["version"]) == ("0 7 * * MON-FRI", 1)
    assert document["is_replaced"] is True
    now = changed.call(*words, "2026-03-02T09:00Z", "-ojson").json()
    assert (now["rule"], now["version"], now["is_replaced"]) == ("0 9 * * *", 2, False)


def test_a_job_is_shown_with_its_version(changed: Shop) -> None:
    out = changed.call("job", "show", "billing/report").out
    assert "\nversion       2, since 2026-03-02T08:00:05Z (1 h ago)\n" in out
    assert changed.call("job", "show", "billing/report", "-ojson").json()["version"] == 2


def test_why_a_job_is_paused_is_shown(shop: Shop) -> None:
    shop.call("job", "pause", "refresh", "--reason", "the disk is full")
    told = "2026-03-02T08:00:05Z (now): the disk is full"
    assert f"\npaused        {told}\n" in shop.call("job", "show", "refresh").out
    assert f"it is paused since {told}" in shop.call("job", "next", "refresh").out
    why = shop.call("job", "why", "refresh", "-ojson").json()
    assert why["text"] == "it is paused since 2026-03-02T08:00:05Z: the disk is full"
    (job,) = [
        job for job in shop.call("job", "list", "-ojson").json()["jobs"] if job["job"] == "billing/refresh"
    ]
    assert (job["paused_at"], job["paused_reason"]) == ("2026-03-02T08:00:05+00:00", "the disk is full")
    shop.call("job", "resume", "refresh")
    assert "disk" not in shop.call("job", "show", "refresh", "-ojson").out


def test_a_run_is_shown_with_its_payload(shop: Shop) -> None:
    given = '{"month": "2026-10", "size": "groß"}'
    key = shop.call("job", "trigger", "refresh", "--payload", given, "-ojson").json()["run"]
    assert shop.call("run", "show", key, "-ojson").json()["attempts"][0]["payload"] == {
        "month": "2026-10",
        "size": "groß",
    }
    assert 'payload        {"month":"2026-10","size":"gro' in shop.call("run", "show", key).out


@pytest.mark.parametrize(
    ("payload", "words"), [("[1]", "must be an object"), ("{", "payload"), ('{"a": NaN}', "finite")]
)
def test_a_payload_that_is_no_object_is_refused(shop: Shop, payload: str, words: str) -> None:
    result = shop.call("job", "trigger", "refresh", "--payload", payload)
    assert (result.code, words in result.err) == (2, True), result.err
