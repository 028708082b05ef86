"""`foliot run list | show | logs | cancel` and `foliot node list`, on a store with a past: see `shop`."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from cli.calls import command, on_a_terminal
from cli.shop import REFRESH, REPORT, SLOW, Shop
from foliot.stores.sqlite import SqliteStore


def test_runs_are_listed_newest_first(shop: Shop) -> None:
    assert shop.call("run", "list").out.splitlines() == [
        "RUN                                   TRY  STATE      STARTED          TOOK   LATE   TRIGGER   NODE  ERROR",  # noqa: E501 - as it is
        "billing/slow@2026-03-02T08:00:00Z     #1   running    5 s ago                 0 ms   schedule  n1",
        "billing/refresh@2026-03-02T08:00:00Z  #1   succeeded  7 s ago          2.0 s  0 ms   schedule  n1",
        "billing/report@2026-03-02T07:00:00Z   #2   failed     59 min 31 s ago  2.0 s         retry     n1    ValueError: no figures",  # noqa: E501 - as it is
        "billing/report@2026-03-02T07:00:00Z   #1   failed     1 h ago          2.0 s  2.0 s  schedule  n1    ValueError: no figures",  # noqa: E501 - as it is
        "billing/refresh@2026-03-02T07:00:00Z  #1   succeeded  1 h ago          2.0 s  0 ms   schedule  n1",
    ]


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (("--job", "billing/report"), [(REPORT, 2), (REPORT, 1)]),
        (("--outcome", "failed", "-n", "1"), [(REPORT, 2)]),
        (("--open",), [(SLOW, 1)]),
        (("--job", "refresh", "--since", "30m"), [("billing/refresh@2026-03-02T08:00:00Z", 1)]),
        (("--outcome", "lost"), []),
    ],
)
def test_runs_can_be_narrowed(shop: Shop, words: tuple[str, ...], runs: list[tuple[str, int]]) -> None:
    attempts = shop.call("run", "list", *words, "-ojson").json()["attempts"]
    assert [(attempt["run"], attempt["number"]) for attempt in attempts] == runs
    assert (shop.call("run", "list", *words).out == "No runs.\n") == (not runs)


def test_a_duration_that_cannot_be_read_says_how_to_write_one(shop: Shop) -> None:
    result = shop.call("run", "list", "--since", "5")
    assert result.code == 2
    assert 'such as "30s", "5m" or "1h30m"' in result.err


def test_a_run_is_shown_with_its_attempts(shop: Shop) -> None:
    assert shop.call("run", "show", REPORT).out.splitlines() == [
        "run            billing/report@2026-03-02T07:00:00Z",
        "job            billing/report",
        "state          failed",
        "scheduled for  2026-03-02T07:00:00Z (1 h ago)",
        "reason         the attempt before it failed",
        "error          ValueError: no figures",
        "",
        "TRY  STATE   TRIGGER   STARTED          TOOK   LATE   NODE",
        "#1   failed  schedule  1 h ago          2.0 s  2.0 s  n1",
        "#2   failed  retry     59 min 31 s ago  2.0 s         n1",
    ]


def test_a_run_in_json_has_all_fields_whether_they_have_a_value_or_not(shop: Shop) -> None:
    document = shop.call("run", "show", SLOW, "-ojson").json()
    assert (document["run"], document["job"], document["outcome"]) == (SLOW, "billing/slow", None)
    (attempt,) = document["attempts"]
    assert (attempt["outcome"], attempt["finished_at"], attempt["node"]) == (None, None, "n1")
    assert attempt["claimed_at"] == "2026-03-02T08:00:00+00:00"


def test_an_error_of_many_lines_is_shown_whole_and_escaped(shop: Shop) -> None:
    async def fail(store: SqliteStore) -> None:
        (attempt,) = await store.held("n1")
        await shop.finish(store, attempt, "ValueError: bad \x1b[31mfigures\n  File x\n  \x07beep")

    shop.act(fail)
    out = shop.call("run", "show", SLOW).out
    assert "error          ValueError: bad \\x1b[31mfigures\n" in out
    assert out.endswith("\n\n  File x\n  \\x07beep\n")


@pytest.mark.parametrize(
    ("code", "word", "words", "signal"),
    [
        (3, "3", "exit code 3", None),
        (-15, "SIGTERM", "killed by SIGTERM", "SIGTERM"),
        (-9, "SIGKILL", "killed by SIGKILL", "SIGKILL"),
        (-77, "signal 77", "killed by signal 77", "signal 77"),
    ],
)
def test_what_a_process_ended_with_is_shown(
    shop: Shop, code: int, word: str, words: str, signal: str | None
) -> None:
    async def fail(store: SqliteStore) -> None:
        (attempt,) = await store.held("n1")
        await shop.finish(store, attempt, "it failed", exit_code=code)

    shop.act(fail)
    shown = shop.call("run", "show", SLOW).out
    assert f"ended with     {words}\n" in shown
    assert re.search(rf"^#1 +failed +{word} +schedule", shown, re.MULTILINE)
    heading, first, *_ = shop.call("run", "list").out.splitlines()
    assert heading.split()[:4] == ["RUN", "TRY", "STATE", "EXIT"]
    assert first.startswith(f"{SLOW}     #1   failed     {word}")
    facts = shop.call("run", "list", "-ojson").json()["attempts"]
    assert [(fact["exit_code"], fact["signal"]) for fact in facts[:2]] == [(code, signal), (None, None)]


def test_a_job_without_a_run_means_its_latest_one(shop: Shop) -> None:
    latest = shop.call("run", "list", "--job", "refresh", "-ojson").json()["attempts"][0]["run"]
    assert shop.call("run", "show", "refresh") == shop.call("run", "show", latest)
    assert shop.call("run", "logs", "billing/report").out == shop.call("run", "logs", REPORT).out


def test_the_key_of_a_run_may_name_the_job_alone(shop: Shop) -> None:
    short = REFRESH.removeprefix("billing/")
    assert shop.call("run", "show", short) == shop.call("run", "show", REFRESH)
    assert shop.call("run", "show", REPORT.removeprefix("billing/")).code == 2  # two jobs are called report


@pytest.mark.parametrize("name", ["show", "logs", "cancel", "rerun"])
def test_a_run_that_is_not_there_is_not_found(shop: Shop, name: str) -> None:
    result = shop.call("run", name, "refresh@2026-03-02T07:01:00Z")
    assert (result.code, result.out) == (4, "")
    assert result.err == (
        "error: there is no run refresh@2026-03-02T07:01:00Z\n"
        "hint: foliot run list --job billing/refresh shows what is remembered\n"
    )


def test_logs_are_harmless_in_a_pipe_too_unless_asked_for_raw(shop: Shop) -> None:
    result = shop.call("run", "logs", REPORT)
    assert (result.code, result.out, result.err) == (0, "try 2\n\\x1b[1mdone\n", "")
    assert shop.call("run", "logs", REPORT, "--attempt", "1").out == "try 1\n\\x1b[1mdone\n"
    assert shop.call("run", "logs", REPORT, "--raw").out == "try 2\n\x1b[1mdone\n"
    assert shop.call("run", "logs", REPORT, "-ojson").json() == {
        "run": REPORT, "attempt": 2, "text": "try 2\n\x1b[1mdone\n", "dropped": 0,
    }  # fmt: skip


def test_logs_cannot_steer_a_terminal(shop: Shop) -> None:
    with on_a_terminal(command("foliot", "run", "logs", REPORT, "--store", shop.url)) as screen:
        assert screen.read_to_end() == 0
        assert screen.lines == ["try 2", "\\x1b[1mdone"]


def test_who_wrote_nothing_has_no_logs_and_who_was_not_there_is_not_found(shop: Shop) -> None:
    silent = shop.call("run", "logs", SLOW)
    assert (silent.code, silent.out, silent.err) == (0, "", "note: attempt 1 wrote nothing so far\n")
    missing = shop.call("run", "logs", REPORT, "--attempt", "3")
    assert missing.code == 4
    assert missing.err == f"error: there is no attempt 3 of {REPORT}\nhint: its attempts are 1, 2\n"


def test_a_run_that_waits_to_be_tried_again_shows_what_its_last_try_said(shop: Shop) -> None:
    async def fail_once(store: SqliteStore) -> None:
        await shop.pass_time(store, timedelta(hours=23))
        (attempt,) = [a for a in await shop.claim(store) if a.job == "billing/report"]
        await shop.finish(store, attempt, "ValueError: once\n  more")

    shop.act(fail_once)
    run = "billing/report@2026-03-03T07:00:00Z"
    assert shop.call("run", "logs", run).out == "try 1\n\\x1b[1mdone\n"
    assert shop.call("run", "logs", run, "--attempt", "2").err == "note: attempt 2 wrote nothing so far\n"
    shown = shop.call("run", "show", run).out
    assert "state          pending\n" in shown
    assert "error          ValueError: once\n" in shown
    assert shown.endswith("\n\n  more\n")


def test_a_run_that_runs_is_asked_to_end(shop: Shop) -> None:
    assert shop.call("run", "cancel", "slow@2026-03-02T08:00:00Z").out == f"ok: {SLOW} is asked to end\n"

    async def look(store: SqliteStore) -> None:
        assert (await store.renew("n1")).cancels == ((SLOW, 1),)

    shop.act(look)
    assert shop.call("run", "cancel", SLOW, "-ojson").json()["state"] == "cancelling"


def test_a_run_that_waits_never_starts(shop: Shop) -> None:
    shop.call("job", "trigger", "once", "--request", "r")
    assert shop.call("run", "cancel", "once!r").out == "ok: ops/once!r will not start\n"
    ended = shop.call("run", "cancel", "once!r")
    assert ended.code == 1
    assert ended.err == "error: ops/once!r: the run has ended: cancelled\n"


@pytest.mark.parametrize("columns", [80, 50])
def test_on_a_terminal_the_name_of_a_job_is_not_drowned_by_the_key_of_its_run(
    shop: Shop, columns: int
) -> None:
    with on_a_terminal(command("foliot", "run", "list", "--store", shop.url), columns) as screen:
        assert screen.read_to_end() == 0
    heading, *rows = screen.lines
    assert heading.split()[:3] == ["JOB", "FOR", "STATE"] or heading.split()[:2] == ["JOB", "FOR"]
    assert all("billing/" in row and "2026-03-02T0" in row for row in rows)
    assert max(map(len, screen.lines)) <= columns


def test_a_run_is_found_by_the_beginning_of_its_request(shop: Shop) -> None:
    for request in ("deploy-118", "deploy-119"):
        assert shop.call("job", "trigger", "once", "--request", request).code == 0
    assert shop.call("run", "show", "once!deploy-118", "-ojson").json()["run"] == "ops/once!deploy-118"
    assert shop.call("run", "cancel", "once!deploy-119").code == 0
    assert shop.call("run", "show", "ops/once!deploy-1").code == 4, "there are two"
    assert shop.call("run", "show", "once!dep").code == 4, "too short"
    shop.call("job", "trigger", "billing/slow", "--request", "0123456789abcdef0123456789abcdef")
    found = shop.call("run", "show", "slow!0123456789ab", "-ojson").json()
    assert found["run"] == "billing/slow!0123456789abcdef0123456789abcdef"
