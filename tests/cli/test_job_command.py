"""`foliot job pause | resume | trigger | backfill` do what they say, and say what they did."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from cli.calls import PATIENCE, call, command, run, start
from cli.shop import START, Shop
from foliot import Cron, Foliot, JobRun, Retry
from foliot.engine.plan_command import Cancel, plan_command
from foliot.model.attempt import Outcome, Trigger
from foliot.protocols import RunQuery
from foliot.stores.sqlite import SqliteStore

NEVER = Cron("0 0 1 1 *")
SOON = "billing/slow!r"


def test_pause_and_resume(shop: Shop) -> None:
    assert shop.call("job", "pause", "refresh").out == "ok: billing/refresh is paused\n"
    assert shop.call("job", "pause", "refresh").out == "ok: billing/refresh was paused already\n"
    assert "paused" in shop.call("job", "list").out
    shop.wait(timedelta(hours=2))
    document = shop.call("job", "resume", "refresh", "-ojson").json()
    assert document == {
        "job": "billing/refresh",
        "changed": True,
        "paused_at": None,
        "next_at": "2026-03-02T11:00:00+00:00",
    }
    assert shop.call("job", "resume", "refresh").out == "ok: billing/refresh was not paused\n"
    why = shop.call("job", "why", "refresh", "--at", "2026-03-02T09:00Z")
    assert why.out == (
        "billing/refresh: skipped: the job was paused;"
        " so were all from 2026-03-02T09:00:00Z to 2026-03-02T10:00:00Z\n"
        "note: 2026-03-02T09:00:00Z is Mon 2026-03-02 10:00 in Europe/Berlin\n"
        "rule: 0 * * * * (Europe/Berlin) of revision r1, since 2026-03-02T06:30:00Z (3 h 30 min ago)\n"
    )


def test_trigger_asks_for_a_run_once(shop: Shop) -> None:
    words = ("job", "trigger", "once", "--request", "deploy-1")
    first, again = shop.call(*words), shop.call(*words, "-ojson")
    assert first.out == "ok: ops/once!deploy-1 is requested\n"
    assert first.err == "note: it waits for a node: none that lives serves the queue default and runs shell\n"
    assert again.json() == {"job": "ops/once", "run": "ops/once!deploy-1", "new": False}
    assert shop.call("run", "list", "--job", "once", "-ojson").json()["attempts"][0]["trigger"] == "manual"
    assert shop.call("job", "trigger", "once", "--request", "de!ploy").code == 1
    assert shop.call("job", "trigger", "once", "--timeout", "1s").code == 2


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A store with an application at work."""
    url = f"sqlite:///{tmp_path}/live.db"
    app = Foliot(url, name="app", poll="50ms")

    @app.job(NEVER, name="good")
    def good() -> None:
        pass

    @app.job(NEVER, name="bad", retry=Retry(max=1, delay="0s"))
    def bad(run: JobRun) -> None:
        run.log("now")
        raise ValueError("no figures")

    app.start()
    yield url
    app.stop()
    app.close()


def test_trigger_waits_for_the_run_and_passes_its_failure_on(url: str) -> None:
    good = call("job", "trigger", "good", "--wait", "--request", "r", "--store", url)
    assert (good.code, good.err) == (0, "")
    assert good.out.startswith("ok: app/good!r succeeded after ")
    again = call("job", "trigger", "good", "--wait", "--request", "r", "--store", url)
    assert (again.code, again.out) == (0, good.out)
    bad = call("job", "trigger", "bad", "--wait", "--request", "r", "--store", url)
    assert (bad.code, bad.out) == (8, "")
    assert bad.err.startswith("error: app/bad!r failed after ")
    assert bad.err.endswith(": ValueError: no figures\n")
    served = call("job", "trigger", "bad", "--wait", "--request", "r", "--store", url, "-ojson")
    assert served.code == 8
    assert [attempt["outcome"] for attempt in served.json()["attempts"]] == ["failed", "failed"]


@pytest.mark.parametrize(
    ("outcome", "exit_code", "passed_on"),
    [
        (Outcome.SUCCEEDED, 0, 0),
        (Outcome.SUCCEEDED, None, 0),
        (Outcome.FAILED, 1, 1),
        (Outcome.FAILED, 3, 3),
        (Outcome.FAILED, 255, 255),
        (Outcome.FAILED, -9, 137),
        (Outcome.FAILED, -15, 143),
        (Outcome.FAILED, None, 8),
        (Outcome.FAILED, 0, 8),
        (Outcome.FAILED, 256, 8),
        (Outcome.FAILED, -200, 8),
        (Outcome.TIMED_OUT, -15, 8),
        (Outcome.CANCELLED, 3, 8),
        (Outcome.INTERRUPTED, -15, 8),
        (Outcome.LOST, None, 8),
    ],
)
def test_whoever_waits_exits_as_the_command_did(
    shop: Shop, outcome: Outcome, exit_code: int | None, passed_on: int
) -> None:
    words = ("job", "trigger", "refresh", "--request", "r")
    shop.call(*words)

    async def run_it(store: SqliteStore) -> None:
        (attempt,) = await shop.claim(store)
        await store.update(attempt.job, lambda record: plan_command(record, Cancel(attempt.run_key), START))
        await shop.finish(store, attempt, outcome=outcome, exit_code=exit_code)

    shop.act(run_it)
    assert shop.call(*words, "--wait").code == passed_on
    document = shop.call(*words, "--wait", "-ojson")
    assert (document.code, document.json()["exit_code"]) == (passed_on, exit_code)


def test_whoever_waits_for_nobody_can_set_a_limit_or_leave(shop: Shop) -> None:
    words = command("foliot", "job", "trigger", "once", "--wait", "--store", shop.url)
    result = run([*words, "--timeout", "1s"])
    assert result.code == 1
    assert result.err.endswith("is still pending\n")
    with start(words) as process:
        assert process.stderr
        assert "it waits for a node" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert "Traceback" not in process.stderr.read()


def test_backfill_runs_what_lies_in_a_time_of_the_past(shop: Shop) -> None:
    span = ("job", "backfill", "refresh", "--from", "2026-03-02T04:00", "--to", "2026-03-02T06:00")
    runs = [f"billing/refresh@2026-03-02T0{hour}:00:00Z" for hour in (3, 4, 5)]  # it is Berlin's time
    dry = shop.call(*span, "--dry-run")
    assert dry.out.splitlines() == [*runs, "ok: 3 would run"]
    document = shop.call(*span, "--dry-run", "-ojson").json()
    starts = document.pop("would")["starts"]
    assert document == {"job": "billing/refresh", "runs": runs, "dry_run": True}
    assert [(start["run"], start["at"] is None) for start in starts] == [
        (runs[0], False), (runs[1], True), (runs[2], True),
    ]  # fmt: skip
    assert shop.call(*span).out.splitlines() == [*runs, "ok: requested: 3"]

    async def look(store: SqliteStore) -> None:
        attempts = await store.runs(RunQuery(job="billing/refresh", is_open=True))
        assert [a.run_key for a in attempts] == runs[::-1]
        assert {a.trigger for a in attempts} == {Trigger.BACKFILL}

    shop.act(look)


def test_backfill_runs_nothing_again_unless_told_to(shop: Shop) -> None:
    span = ("job", "backfill", "refresh", "--from", "2026-03-02T07:00Z", "--to", "2026-03-02T08:00Z")
    refused = shop.call(*span)
    assert refused.code == 1
    assert "has run already" in refused.err
    assert "--rerun" in refused.err
    assert shop.call(*span, "--rerun").out.endswith("ok: requested: 2\n")


@pytest.mark.parametrize(
    ("span", "code", "text"),
    [
        (("2026-03-02T07:01Z", "2026-03-02T07:59Z"), 0, "ok: no occurrence lies in that time\n"),
        (("2026-03-02T07:00Z", "2026-03-02T06:00Z"), 2, "--to lies before --from"),
        (("2026-03-02T07:00Z", "2027-03-02T06:00Z"), 1, "only past occurrences can be filled in"),
        (("yesterday", "2027-03-02T06:00Z"), 2, "is not an ISO 8601 time"),
        (("0001-01-01T00:00+14:00", "2026-03-02T06:00Z"), 2, "the very edge of the calendar"),
    ],
)
def test_backfill_of_strange_times(shop: Shop, span: tuple[str, str], code: int, text: str) -> None:
    result = shop.call("job", "backfill", "refresh", "--from", span[0], "--to", span[1])
    assert result.code == code
    assert text in result.out + result.err


# -- dry runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (
            ("job", "pause", "refresh"),
            "ok: billing/refresh would be paused\n  2026-03-02T09:00:00Z would be next, and passes\n",
        ),
        (("job", "resume", "refresh"), "ok: billing/refresh was not paused\n"),
        (
            ("job", "trigger", "slow", "--request", "r"),
            f"ok: {SOON} would be requested\n  {SOON} starts when a run that is open has ended\n",
        ),
        (("run", "cancel", "slow"), "ok: billing/slow@2026-03-02T08:00:00Z would be asked to end\n"),
        (
            ("run", "rerun", "refresh", "--request", "r"),
            "ok: billing/refresh!r would be requested\n  billing/refresh!r starts now\n",
        ),
    ],
)
def test_a_dry_run_tells_what_would_follow_and_changes_nothing(
    shop: Shop, words: tuple[str, ...], out: str
) -> None:
    before = [shop.call(*look, "-ojson").out for look in (("job", "list"), ("run", "list"))]
    result = shop.call(*words, "--dry-run")
    assert (result.code, result.out) == (0, out)
    document = shop.call(*words, "--dry-run", "-ojson").json()
    assert document["dry_run"] is True
    assert set(document["would"]) == {"starts", "drops", "cancels", "skips", "next_at"}
    assert [shop.call(*look, "-ojson").out for look in (("job", "list"), ("run", "list"))] == before


def test_a_pause_tells_its_reason(shop: Shop) -> None:
    words = ("job", "pause", "refresh", "--reason", "the disk is full")
    assert shop.call(*words, "--dry-run").out.startswith(
        "ok: billing/refresh would be paused: the disk is full"
    )
    document = shop.call(*words, "-ojson").json()
    assert (document["changed"], document["reason"]) == (True, "the disk is full")
    refused = shop.call("job", "pause", "refresh", "--reason", "x" * 201)
    assert (refused.code, "a reason must be a printable text of 1 to 200" in refused.err) == (1, True)


# -- follow and rerun ------------------------------------------------------------------------------


def test_trigger_follows_all_attempts_of_the_run_and_passes_its_failure_on(url: str) -> None:
    good = call("job", "trigger", "good", "-f", "--request", "f", "--store", url)
    assert good.code == 0
    assert re.search(r"^ok: attempt 1 succeeded after ", good.err, re.MULTILINE)
    for _ in ("while it runs", "after its end: nothing is left out"):
        bad = call("job", "trigger", "bad", "--follow", "--request", "f", "--store", url)
        assert (bad.code, bad.out) == (8, "now\nnow\n")
        end = re.compile(r"^error: attempt (\d) failed after .*: ValueError: no figures$", re.MULTILINE)
        assert end.findall(bad.err) == ["1", "2"]
    again = call("run", "rerun", "bad", "--wait", "--request", "again", "--store", url)
    assert again.code == 8
    shown = call("run", "show", "app/bad!again", "--store", url, "-ojson").json()
    assert shown["attempts"][0]["reason"].startswith("triggered manually, to repeat app/bad!")


def test_following_has_a_limit_and_is_no_document(shop: Shop) -> None:
    limited = run(command("foliot", "job", "trigger", "once", "-f", "--timeout", "1s", "--store", shop.url))
    assert limited.code == 1
    assert limited.err.endswith("is still pending after 1 s\n")
    refused = shop.call("job", "trigger", "once", "-f", "-ojson")
    assert (refused.code, refused.json()["error"]["message"]) == (2, "--follow prints text, and no JSON")
    assert len(shop.call("run", "list", "--job", "once", "-ojson").json()["attempts"]) == 1, "refused before"


def test_only_what_has_ended_is_repeated(shop: Shop) -> None:
    refused = shop.call("run", "rerun", "slow")
    assert refused.code == 1
    assert "the run has not ended: it is running" in refused.err
    assert (
        shop.call("run", "rerun", "refresh", "--request", "r").out == "ok: billing/refresh!r is requested\n"
    )
    assert shop.call("run", "show", "refresh!r").out.splitlines()[4] == (
        "reason         triggered manually, to repeat billing/refresh@2026-03-02T08:00:00Z"
    )


def test_backfill_chooses_what_was_missed_or_what_failed(shop: Shop) -> None:
    span = ("--from", "2026-03-02T06:00Z", "--to", "2026-03-02T08:00Z", "--dry-run", "-ojson")
    missed = shop.call("job", "backfill", "refresh", "--which", "missed", *span).json()
    assert missed["runs"] == ["billing/refresh@2026-03-02T06:00:00Z"]
    assert shop.call("job", "backfill", "refresh", "--which", "missed", "--rerun", *span).code == 2
    failed = shop.call(
        "job", "backfill", "billing/report", "--which", "failed",
        "--from", "2026-03-02T06:00Z", "--to", "2026-03-02T07:00Z", "--dry-run", "-ojson",
    ).json()  # fmt: skip
    assert failed["would"]["starts"][0]["number"] == 3
