"""Jobs of APScheduler 3: columns are translated and proved, pickles are refused, nothing hostile runs."""

from __future__ import annotations

import ast
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.calls import call
from foliot.doors.rollcron.config import read_config
from foliot.errors import FoliotError
from foliot.importers.apscheduler import read_export
from foliot.importers.draft import LineKind, Source
from foliot.importers.model.apscheduler import fires, read_fields
from foliot.importers.registry import Registry
from foliot.importers.work import conclude, texts

START = datetime(2026, 11, 17, tzinfo=UTC)
FROM = ("--from", "2026-11-17", "--zone", "Europe/Berlin")


def cron(**fields: str) -> dict[str, Any]:
    return {"type": "cron", "timezone": "Europe/Berlin", "fields": {"second": "0", **fields}}


def job(trigger: Any, **more: Any) -> dict[str, Any]:
    return {"id": "a", "func": "shop.jobs:report", "trigger": trigger, **more}


def read(*jobs: Any, names: Registry | None = None) -> Source:
    data = json.dumps({"apscheduler": 3, "jobs": jobs}).encode()
    return read_export("jobs.json", data, "Europe/Berlin", "python3", names or Registry())


def rule_of(**fields: str) -> str:
    (draft,) = read(job(cron(**fields))).drafts
    assert draft.when is not None
    return f"{draft.when.cron} {draft.when.dialect}"


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"hour": "2", "minute": "30"}, "30 2 * * * standard"),
        ({"hour": "2", "minute": "0", "day_of_week": "mon-fri"}, "0 2 * * 1-5 standard"),
        ({"hour": "2", "minute": "0", "day_of_week": "6"}, "0 2 * * 0 standard"),
        ({"hour": "9", "minute": "0", "day": "1st mon"}, "0 9 1-7 * 1 celery"),
        ({"hour": "9", "minute": "0", "day": "5th sun"}, "0 9 29-31 * 0 celery"),
        ({"minute": "*/15", "second": "15,45"}, "15,45 */15 * * * * seconds"),
        ({"hour": "0", "minute": "0", "day": "1", "month": "jan-mar/2"}, "0 0 1 1,3 * standard"),
    ],
)
def test_the_fields_of_a_cron_trigger_become_a_rule(fields: dict[str, str], rule: str) -> None:
    assert rule_of(**fields) == rule


# What APScheduler 3.11.3 did, asked in an environment of its own.
@pytest.mark.parametrize(
    ("start", "fields", "expected"),
    [
        ("2027-03-27", {"hour": "2", "minute": "30"}, ["03-27 01:30", "03-28 01:30", "03-29 00:30"]),
        ("2027-03-27", {"hour": "2", "minute": "0,30"}, ["03-27 01:00", "03-27 01:30", "03-28 01:00"]),
        ("2027-03-28", {"hour": "*/2", "minute": "10"}, ["03-28 01:10", "03-28 02:10", "03-28 04:10"]),
        ("2027-10-31", {"hour": "2", "minute": "30"}, ["10-31 00:30", "10-31 01:30", "11-01 01:30"]),
        ("2027-02-20", {"day": "1", "hour": "0", "minute": "0"}, ["02-28 23:00", "04-30 22:00"]),
        ("2027-02-20", {"day": "1st mon", "hour": "0", "minute": "0"}, ["02-28 23:00", "04-04 22:00"]),
    ],
)
def test_the_model_fires_when_apscheduler_did(
    start: str, fields: dict[str, str], expected: list[str]
) -> None:
    first = int(datetime.fromisoformat(f"{start}T00:00:00+00:00").timestamp())
    found = fires(read_fields({"second": "0", **fields}, "Europe/Berlin"), first, first + 75 * 86_400)
    told = [f"{datetime.fromtimestamp(at, UTC):%m-%d %H:%M}" for at in found]
    assert told[: len(expected)] == expected


# What `str(field)` was for the fields of APScheduler 3.11's CronTrigger(**given), from month to second.
@pytest.mark.parametrize(
    ("given", "whole"),
    [
        ({"hour": "2", "minute": "30"}, "* * * 2 30 0"),
        ({"hour": "2"}, "* * * 2 0 0"),
        ({"month": "3"}, "3 1 * 0 0 0"),
        ({"day": "1st mon"}, "* 1st-mon * 0 0 0"),
        ({"day_of_week": "mon"}, "* * mon 0 0 0"),
        ({"week": "*"}, "* * * 0 0 0"),
        ({"year": "*"}, "1 1 * 0 0 0"),
        ({"month": "3", "minute": "5"}, "3 * * * 5 0"),
        ({"second": "5"}, "* * * * * 5"),
        ({}, "* * * * * *"),
    ],
)
def test_fields_that_are_left_out_are_those_of_apscheduler(given: dict[str, str], whole: str) -> None:
    names = ("month", "day", "day_of_week", "hour", "minute", "second")
    words = (word.replace("-", " ") for word in whole.split())
    assert read_fields(given, "UTC") == read_fields(dict(zip(names, words, strict=True)), "UTC")


def test_an_hour_and_a_minute_run_once_a_day() -> None:
    (draft,) = read(job({"type": "cron", "fields": {"hour": "2", "minute": "30"}})).drafts
    assert draft.when
    assert (draft.when.cron, draft.when.dialect) == ("30 2 * * *", "standard")


def differences(**fields: str) -> set[str]:
    source = read(job(cron(**fields)))
    proof = conclude([source], START, 10).proofs[source.drafts[0].id]
    assert proof is not None
    return {one.code for one in proof.differences}


def test_what_is_equal_is_proved_and_what_is_not_has_its_cause() -> None:
    assert differences(hour="4", minute="30", day_of_week="mon-fri") == set()
    assert differences(hour="2", minute="30") == {"dst-gap-late"}
    assert differences(hour="0", minute="0", day="1") == {"midnight-lost"}


def test_an_interval_is_equal_if_it_begins_at_a_multiple_of_itself() -> None:
    begin = {"type": "interval", "start_date": "2026-11-17 10:00:00+01:00"}
    even, odd = read(job(begin | {"seconds": 300.0}), job(begin | {"seconds": 420})).drafts
    assert (even.when and even.when.cron, odd.when and odd.when.cron) == ("@every 300s", "@every 420s")
    proof = conclude([read(job(begin | {"seconds": 300}))], START, 10).proofs["a"]
    assert proof is not None
    assert proof.is_equal
    assert odd.original is None
    assert "this runs 300 s earlier" in odd.notes[1].text


@pytest.mark.parametrize(
    ("trigger", "code"),
    [
        ({"type": "date", "run_date": "2027-01-01"}, "once"),
        (cron(day="last"), "fields"),
        (cron(year="2027"), "fields"),
        (cron(week="5"), "fields"),
        (cron(day="1st mon,15"), "fields"),
        (cron(hour="2") | {"end_date": "2027-01-01"}, "end"),
        (cron(hour="2") | {"timezone": "Mars/Base"}, "zone"),
        (cron(hour="2") | {"start_date": "soon"}, "unreadable"),
        (cron(day="31", month="2"), "never-fires"),
        ({"type": "cron", "fields": [1]}, "unreadable"),
        ({"type": "interval", "seconds": 0.5, "start_date": "2026-11-17"}, "span"),
        ({"type": "interval", "seconds": 60}, "unreadable"),
        ({"type": "and"}, "trigger"),
        (None, "unreadable"),
    ],
)
def test_what_is_not_translated_has_its_reason(trigger: Any, code: str) -> None:
    (line,) = read(job(trigger)).lines
    assert (line.kind, line.code) == (LineKind.UNTRANSLATED, code)
    assert line.to_do


INTERVAL = {"type": "interval", "start_date": "2026-11-17"}
ENDLESS = float("inf")


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (job(cron(hour="4") | {"jitter": ENDLESS}), "number"),
        (job(INTERVAL | {"seconds": ENDLESS}), "number"),
        (job(INTERVAL | {"seconds": float("nan")}), "number"),
        (job(cron(hour="4"), args=[1, {"a": [-ENDLESS]}]), "number"),
        (job(cron(hour="4"), kwargs={"a": float("nan")}), "number"),
        (job(cron(hour="4") | {"jitter": 1e300}), "refused-here"),
        (job(cron(hour="4") | {"start_date": "0001-01-01", "timezone": "Asia/Tokyo"}), "unreadable"),
        (job(INTERVAL | {"seconds": 60, "start_date": "9999-12-31T23:00:00-05:00"}), "unreadable"),
    ],
)
def test_a_bad_value_refuses_its_own_job_and_no_other(bad: Any, code: str) -> None:
    source = read(bad, job(cron(hour="4")))
    assert [(line.kind, line.code) for line in source.lines] == [
        (LineKind.UNTRANSLATED, code), (LineKind.JOB, ""),
    ]  # fmt: skip


def test_a_number_that_is_too_large_for_python_counts_as_endless() -> None:
    text = json.dumps({"apscheduler": 3, "jobs": [job(INTERVAL | {"seconds": "?"})]}).replace('"?"', "1e999")
    (line,) = read_export("j", text.encode(), "UTC", "python3", Registry()).lines
    assert line.code == "number"


def test_arguments_are_texts_of_python_and_of_no_shell() -> None:
    args = ["it's $(evil)", 1.5, None, {"a": [True]}]
    (draft,) = read(job(cron(hour="2", minute="0"), args=args, kwargs={"x": "`y`"})).drafts
    python, option, program = draft.fields["run"]
    assert (python, option) == ("python3", "-c")
    called = ast.parse(program).body[1]
    assert isinstance(called, ast.Expr)
    assert isinstance(called.value, ast.Call)
    assert [ast.literal_eval(one) for one in called.value.args] == args
    assert ast.literal_eval(called.value.keywords[0].value) == {"x": "`y`"}


@pytest.mark.parametrize(
    "func", ["os.system", "a:b()", "a:b; evil", "", None, "a b:c", "m.:f", "m:f.", "a..b:c", "m:1f"]
)
def test_a_function_is_a_name_and_nothing_else(func: Any) -> None:
    assert read(job(cron(hour="2"), func=func)).lines[0].code == "func"


def test_policies_are_taken_over() -> None:
    trigger = cron(hour="4", minute="0") | {"jitter": 30}
    given = {"misfire_grace_time": None, "max_instances": 3, "paused": True}
    (draft,) = read(job(trigger, **given)).drafts
    kept = {name: draft.fields[name] for name in ("misfire", "concurrency", "enabled", "splay")}
    assert kept == {"misfire": "once", "concurrency": "parallel", "enabled": False, "splay": "30s"}
    (other,) = read(job(cron(hour="4"), misfire_grace_time=60)).drafts
    assert other.fields["misfire"] == {"mode": "skip", "grace": "60s"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"jobs": [{"trigger": {"__apscheduler_pickle__": "gASV"}}]}', "its triggers are pickles"),
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ('{"version": 1, "jobs": []}', "does not begin with"),
    ],
)
def test_a_file_that_is_no_export_of_columns_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "j").write_text(text)
    with pytest.raises(FoliotError, match=words):
        read_export("j", text.encode(), "UTC", "python3", Registry())
    done = call("import", "apscheduler", str(tmp_path / "j"), "--to", str(tmp_path / "ops"))
    assert (done.code, words in done.err) == (1, True)
    assert not (tmp_path / "ops").exists()


def test_the_command_writes_a_file_and_a_report(tmp_path: Path) -> None:
    text = json.dumps({"apscheduler": 3, "jobs": [job(cron(hour="4", minute="0")), job({"type": "date"})]})
    (tmp_path / "j").write_text(text)
    done = call(
        "import", "apscheduler", str(tmp_path / "j"), "--to", str(tmp_path), "--python", "/p/py", *FROM
    )
    assert done.code == 9
    assert "2 lines = 1 job + 1 not translated" in done.out
    (made,) = read_config((tmp_path / "rollcron.yaml").read_text(), source="s")
    assert made.action.data["run"][0] == "/p/py"
    assert "equal: " in (tmp_path / "IMPORT.md").read_text()


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 100) | st.text(max_size=8) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_fields = st.dictionaries(
    st.sampled_from(["hour", "minute", "day", "day_of_week", "year", "x"]), st.text(max_size=6)
)


@given(
    st.lists(
        _json
        | st.fixed_dictionaries(
            {"id": st.text(max_size=9), "func": st.just("a:b") | st.text(max_size=9)},
            optional={
                "trigger": st.fixed_dictionaries(
                    {"type": st.sampled_from(["cron", "interval", "date", "x"])},
                    optional={
                        "fields": _fields | _json, "seconds": _json, "timezone": _json, "start_date": _json,
                        "end_date": _json, "jitter": _json,
                    },
                ),
                "args": _json, "kwargs": _json, "misfire_grace_time": _json, "max_instances": _json,
            },
        ),
        max_size=4,
    )
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_every_job_is_accounted_for_once_and_the_file_is_right(jobs: list[Any]) -> None:
    names = Registry()
    source = read(*jobs, names=names)
    assert [line.number for line in source.lines] == list(range(1, len(jobs) + 1))
    assert sum(line.kind is LineKind.JOB for line in source.lines) == len(source.drafts)
    text = texts(conclude([source], START, 5), names)["rollcron.yaml"]
    assert len(read_config(text, source="s")) == len(source.drafts)
