"""Calendars in rollcron.yaml: what they become, and what is wrong with them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from time import process_time

import pytest

from doors.rollcron.files import problems_of
from foliot.doors.rollcron import read_config
from foliot.doors.rollcron.calendars import FIRST_YEAR, LAST_YEAR, days_of_ics
from foliot.doors.rollcron.value import WrongValueError
from foliot.engine.plan_definition import plan_declared
from foliot.errors import ConfigInvalidError, ConfigProblem
from foliot.model.codec import decode_job, encode_job
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.protocols import JobView
from foliot.schedules import Calendar, Cron, Never, OnDays
from foliot.why import explain

ICS = """BEGIN:VCALENDAR\r
BEGIN:VEVENT\r
DTSTART;VALUE=DATE:20261224\r
DTEND;VALUE=DATE:20261227\r
SUMMARY:Christ\r
 mas\r
END:VEVENT\r
BEGIN:VEVENT\r
DTSTART:20270101T090000Z\r
DTEND:20270101T100000Z\r
END:VEVENT\r
END:VCALENDAR\r
"""
EVENT = "BEGIN:VEVENT\nDTSTART:20261224\nEND:VEVENT\n"
FILE = """
calendars:
  de: {holidays: DE-BE}
  own: {dates: [2026-12-24, 2026-12-31]}
  shop: {ics: calendars/shop.ics}
  mondays: {cron: "* * * * MON"}
defaults:
  timezone: Europe/Berlin
  except: de
jobs:
  plain: {schedule: "0 9 * * *", run: x}
  all: {schedule: "0 9 * * *", run: x, except: none}
  both: {schedule: "0 9 * * *", run: x, except: [own, shop]}
  first-monday: {schedule: "0 7 1-7 * *", run: x, only: mondays}
  beat: {schedule: "@every 2h", run: x, except: own}
  by-hand: {schedule: never, run: x}
"""


def files(patterns: Sequence[str]) -> Mapping[str, bytes]:
    return {"calendars/shop.ics": ICS.encode()} if list(patterns) == ["calendars/shop.ics"] else {}


def jobs() -> dict[str, Job]:
    return {job.name: job for job in read_config(FILE, source="s", files=files)}


def dates_of(job: Job) -> set[date]:
    assert isinstance(job.schedule, OnDays)
    return {day for one in job.schedule.exclude for day in one.dates}


@pytest.mark.req("OWN-21")
def test_a_file_names_calendars_and_jobs_use_them() -> None:
    found = jobs()
    daily = Cron("0 9 * * *", timezone="Europe/Berlin")

    assert {date(2026, 12, 25), date(2027, 3, 8)} <= dates_of(
        found["plain"]
    )  # 8 March is one of Berlin alone
    assert {day.year for day in dates_of(found["plain"])} == set(range(FIRST_YEAR, LAST_YEAR + 1))
    assert found["all"].schedule == daily
    eve = [date(2026, 12, day) for day in (24, 25, 26)]
    assert dates_of(found["both"]) == {*eve, date(2026, 12, 31), date(2027, 1, 1)}
    assert found["first-monday"].schedule == OnDays(
        Cron("0 7 1-7 * *", timezone="Europe/Berlin"),
        exclude=found["plain"].schedule.exclude,  # type: ignore[attr-defined] # as above
        only=Calendar("mondays", cron="* * * * MON"),
    )
    assert isinstance(found["beat"].schedule, OnDays)
    assert found["by-hand"].schedule == Never()


@pytest.mark.req("OWN-21")
def test_what_is_stored_needs_neither_the_package_nor_the_file() -> None:
    for job in jobs().values():
        assert decode_job(encode_job(job)) == job
        assert "DE-BE" not in encode_job(job)


@pytest.mark.req("OWN-21")
@pytest.mark.parametrize(
    ("name", "at", "reason"),
    [
        ("plain", "2026-12-25T09:00+01:00", "2026-12-25 is a day of the calendar de, and it runs except on"),
        (
            "first-monday",
            "2026-12-01T07:00+01:00",
            "2026-12-01 is no day of the calendar mondays, and it runs",
        ),
        ("plain", "2026-12-27T10:00+01:00", "2026-12-27T09:00:00Z is no occurrence of 0 9 * * * except de"),
    ],
)
def test_why_names_the_calendar_and_the_day(name: str, at: str, reason: str) -> None:
    job, now = jobs()[name], datetime(2026, 11, 15, tzinfo=UTC)
    view = JobView(job.key, Record(job, plan_declared(job, None, now).state))
    told = explain(view, (), (), kinds=None, now=now, at=datetime.fromisoformat(at).astimezone(UTC))
    assert told.text.startswith(reason)


@pytest.mark.req("OWN-21")
def test_the_planner_has_no_occurrence_on_an_excepted_day() -> None:
    job = jobs()["plain"]
    eve = datetime(2026, 12, 24, 12, tzinfo=UTC)
    assert plan_declared(job, None, eve).state.next_at == datetime(2026, 12, 27, 8, tzinfo=UTC)


def problem(lines: str, job: str = "except: own") -> ConfigProblem:
    text = f"calendars:\n  own: {lines}\njobs:\n  a: {{schedule: '@daily', run: x, {job}}}\n"
    try:
        read_config(text, source="s", files=files)
    except ConfigInvalidError as error:
        (found,) = error.problems
        return found
    raise AssertionError(text)


@pytest.mark.parametrize(
    ("lines", "message", "hint"),
    [
        ("{holidays: XX}", "XX is not known to the package holidays", "such as DE, DE-BE or US-CA"),
        ("{holidays: DE-ZZ}", "DE-ZZ is not known to the package holidays", None),
        ("{dates: [2026-02-30]}", "2026-02-30 is no date", "write it as 2026-12-24"),
        ("{dates: [24.12.2026]}", "24.12.2026 is no date", None),
        ("{dates: []}", "is empty", None),
        ("{ics: no.ics}", "there is no file no.ics", "counts from the top of the repository"),
        ("{ics: ../x.ics}", "../x.ics does not stay inside the repository", None),
        ("{cron: '0 9 * * MON'}", "is no rule of days", "write * * for minute and hour"),
        ("{cron: '* * 32 * *'}", "day field value 32", None),
        ("{}", "must have one of holidays, dates, ics, cron", None),
        ("{dates: [2026-12-24], cron: '* * * * *'}", "must have one of", None),
        ("{date: [2026-12-24]}", "there is no such field", "did you mean dates?"),
    ],
)
def test_a_wrong_calendar_is_told_with_its_place(lines: str, message: str, hint: str | None) -> None:
    found = (
        problem(lines)
        if "date:" not in lines
        else problems_of(f"calendars:\n  own: {lines}\njobs: {{}}\n")[0]
    )
    assert message in found.message
    assert found.line == 2
    assert (found.field or "").startswith("calendars.own")
    assert hint is None or hint in (found.hint or "")


@pytest.mark.parametrize(
    ("job", "message", "hint"),
    [
        ("except: onw", "there is no calendar onw", "did you mean own?"),
        (
            "only: [x]",
            "there is no calendar x",
            "write calendars: and x: under it, at the top of rollcron.yaml",
        ),
        ("except: own, only: own", "leave no occurrence of @daily", None),
    ],
)
def test_a_wrong_use_is_told_with_its_place(job: str, message: str, hint: str | None) -> None:
    found = problem("{dates: [2026-12-24]}", job)
    assert message in found.message
    assert (found.line, found.job) == (4, "a")
    assert hint is None or hint == found.hint


def test_without_the_package_a_hint_tells_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "holidays", None)
    found = problem("{holidays: DE}")
    assert found.message == "needs the package holidays, which is not installed"
    assert found.hint == "pip install 'foliot[holidays]'"


def test_the_holidays_of_an_exchange_are_known() -> None:
    text = "calendars: {x: {holidays: NYSE}}\njobs: {a: {schedule: '@daily', run: x, except: x}}"
    (job,) = read_config(text, source="s")
    assert date(2026, 12, 25) in dates_of(job)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file has no event"),
        (ICS.replace("SUMMARY", "RRULE:FREQ=YEARLY\r\nSUMMARY"), "Christmas repeats by a rule"),
        (ICS.replace("20261224", "tomorrow"), "DTSTART:tomorrow is no date"),
        (ICS.replace("20261227", "20291227"), "has 1099 days"),
        ("BEGIN:VEVENT\nDTSTART:20261224\nEND:VCALENDAR\n", "the file has no event"),
        ("x" * 1_000_001, "has 1,000,001 characters, and at most 1,000,000 are read"),
        (EVENT * 20_001, "more than 20,000 events"),
        (EVENT.replace("END:", "DTEND:20271224\nEND:") * 300, "with 100,000 days"),
    ],
)
def test_an_ics_file_that_is_not_understood_is_refused(content: str, message: str) -> None:
    with pytest.raises(WrongValueError, match=message):
        days_of_ics(content)


@pytest.mark.parametrize(
    "shape", ["BEGIN:VEVENT\n", "A" * 40 + "\n", "A", "\r", "BEGIN:VEVENT\nA\n", "\n ", "\r\n", ":"]
)
def test_a_file_of_any_shape_takes_one_pass(shape: str) -> None:
    content = EVENT + "BEGIN:VEVENT\n" + shape * (900_000 // len(shape))
    begin = process_time()
    assert days_of_ics(content) == (date(2026, 12, 24),)
    assert process_time() - begin < 5  # it took minutes
