"""`foliot cron explain` and `foliot cron check`."""

from __future__ import annotations

import pytest

from cli.calls import call
from foliot import Cron
from foliot.schedules.explain import explain

START = ("--from", "2026-01-01")
GAP = ("30 2 * * *", "--tz", "Europe/Berlin", *START)


def test_explains_in_one_sentence() -> None:
    result = call("cron", "explain", "0 9 * * 1-5", "--tz", "Europe/Berlin")
    assert result.code == 0
    assert result.out == "at 09:00 on weekdays, Berlin time\n"


def test_explains_in_json() -> None:
    result = call("cron", "explain", "0 9 * * MON-FRI", "--tz", "Europe/Berlin", "-o", "json")
    assert result.json() == {
        "expression": "0 9 * * MON-FRI",
        "dialect": "standard",
        "dst": "exact",
        "timezone": "Europe/Berlin",
        "explanation": "at 09:00 on weekdays, Berlin time",
        "canonical": "0 9 * * 1-5",
    }


def test_a_good_expression_is_ok_and_explained() -> None:
    result = call("cron", "check", "0 9 * * 1-5", *START)
    assert result.code == 0
    assert result.out == f"ok: {explain(Cron('0 9 * * 1-5'))}\n"
    assert result.err == ""


def test_warnings_and_notes_follow_and_are_no_failure() -> None:
    result = call("cron", "check", "*/7 * 31 * 1", *START)
    lines = result.out.splitlines()
    assert result.code == 0
    assert lines[0].startswith("ok: ")
    assert [line.split(":")[0] for line in lines[1:]] == ["warning", "note"]


def test_strict_turns_a_warning_into_findings() -> None:
    assert call("cron", "check", *GAP, "--strict").code == 9


def test_strict_does_not_mind_a_note() -> None:
    result = call("cron", "check", "*/7 * * * *", "--strict", *START)
    assert "note: " in result.out
    assert result.code == 0


def test_findings_depend_on_where_one_looks_from() -> None:
    # Moscow moved its clocks for the last time in 2014.
    call_on = ("cron", "check", "30 2 * * *", "--tz", "Europe/Moscow", "--strict", "--from")
    assert call(*call_on, "2009-01-01").code == 9
    assert call(*call_on, "2015-01-01").code == 0


def test_checks_in_json() -> None:
    result = call("cron", "check", *GAP, "--strict", "-o", "json")
    facts = result.json()
    assert result.code == 9
    assert list(facts) == [
        "ok",
        "expression",
        "dialect",
        "dst",
        "timezone",
        "explanation",
        "canonical",
        "findings",
    ]
    assert facts["ok"] is True
    assert [finding["code"] for finding in facts["findings"]] == ["dst-gap", "dst-overlap"]
    assert facts["findings"][0]["severity"] == "warning"
    # A wall time that the clocks leave out is no instant, and has no offset.
    assert facts["findings"][0]["times"][0] == "2026-03-29T02:30:00"


def test_a_clean_check_has_no_findings_in_json() -> None:
    assert call("cron", "check", "0 9 * * *", "-o", "json", *START).json()["findings"] == []


@pytest.mark.parametrize(("dialect", "code"), [("standard", 0), ("seconds", 0), ("posix", 3)])
def test_the_dialect_decides(dialect: str, code: int) -> None:
    assert call("cron", "check", "*/5 * * * *", "--dialect", dialect, *START).code == code
