from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from foliot.schedules import Cron, Every, Once, Schedule
from foliot.schedules.explain import explain

BERLIN = ZoneInfo("Europe/Berlin")

CLOCKS = [
    ("* * * * *", "every minute"),
    ("*/5 * * * *", "every 5 minutes"),
    ("0,30 * * * *", "every 30 minutes"),
    ("0 * * * *", "every hour"),
    ("1 * * * *", "at 1 minute past every hour"),
    ("30 * * * *", "at 30 minutes past every hour"),
    ("15,45 * * * *", "at 15 and 45 minutes past every hour"),
    ("0-6 * * * *", "at 0, 1, 2, 3, 4, 5 and 6 minutes past every hour"),
    ("0-7 * * * *", "every minute from 0 to 7 minutes past every hour"),
    ("30-59 * * * *", "every minute from 30 to 59 minutes past every hour"),
    ("*/7 * * * *", "every 7 minutes from the start of every hour"),
    ("0-49/7 * * * *", "every 7 minutes from 0 to 49 minutes past every hour"),
    ("1/5 * * * *", "every 5 minutes from 1 minute past every hour"),
    ("2/5 * * * *", "every 5 minutes from 2 minutes past every hour"),
    ("0-9,20,30-39 * * * *", "at 0 to 9, 20 and 30 to 39 minutes past every hour"),
    ("0 */6 * * *", "every 6 hours"),
    ("0 */2 * * *", "every 2 hours"),
    ("0 9 * * *", "at 09:00 every day"),
    ("0 0 * * *", "at 00:00 every day"),
    ("0 */12 * * *", "at 00:00 and 12:00 every day"),
    ("0 9,17 * * *", "at 09:00 and 17:00 every day"),
    ("0,30 9 * * *", "at 09:00 and 09:30 every day"),
    ("0 */5 * * *", "at 00:00, 05:00, 10:00, 15:00 and 20:00 every day"),
    ("0 1/2 * * *", "every 2 hours from 01:00 to 23:00 every day"),
    ("30 */2 * * *", "every 2 hours from 00:30 to 22:30 every day"),
    ("30 8-18 * * *", "every hour from 08:30 to 18:30 every day"),
    ("*/5 9 * * *", "every 5 minutes from 09:00 to 09:55 every day"),
    ("*/7 9 * * *", "every 7 minutes from 09:00 to 09:56 every day"),
    ("* 9-10 * * *", "every minute from 09:00 to 10:59 every day"),
    ("*/5 9-17 * * *", "every 5 minutes from 09:00 to 17:55 every day"),
    ("15,45 8-18 * * *", "every 30 minutes from 08:15 to 18:45 every day"),
    ("*/5 22-23,0-5 * * *", "every 5 minutes from 00:00 to 05:55 and from 22:00 to 23:55 every day"),
    ("0 0-3,8-18,22 * * *", "every hour from 00:00 to 03:00 and from 08:00 to 18:00, and at 22:00 every day"),
    (
        "0 1,4,6-8,12,20-22 * * *",
        "every hour from 06:00 to 08:00 and from 20:00 to 22:00, and at 01:00, 04:00 and 12:00 every day",
    ),
    (
        "5 0,2,4,6,8,10,12,15 * * *",
        "at 00:05, 02:05, 04:05, 06:05, 08:05, 10:05, 12:05 and 15:05 every day",
    ),
    ("3,17 8-18 * * *", "at 3 and 17 minutes past every hour from 8 to 18 every day"),
    ("*/7 8-12 * * *", "every 7 minutes from the start of every hour from 8 to 12 every day"),
    ("*/15 */2 * * *", "every 15 minutes of every 2nd hour from 0 to 22 every day"),
    ("* */5 * * *", "every minute of the hours 0, 5, 10, 15 and 20 every day"),
    ("0-9,30-39 9 * * *", "at 0 to 9 and 30 to 39 minutes past hour 9 every day"),
]
DAYS = [
    ("0 0 * * 1-5", "on weekdays"),
    ("0 0 * * 0,6", "on weekends"),
    ("0 0 * * 7", "on Sundays"),
    ("0 0 * * mon,wed,fri", "on Mondays, Wednesdays and Fridays"),
    ("0 0 * * 0,1", "on Mondays and Sundays"),
    ("0 0 * * 1-4", "on Mondays to Thursdays"),
    ("0 0 * * 5-7", "on Fridays to Sundays"),
    ("0 0 * * 0-2", "on Sundays to Tuesdays"),
    ("0 0 * 6 1", "on Mondays in June"),
    ("0 0 * 6-8 1", "on Mondays from June to August"),
    ("0 0 * 1 *", "every day in January"),
    ("0 0 * 6-8 *", "every day from June to August"),
    ("0 0 * 1-4,6-12 *", "every day in every month except May"),
    ("0 0 1 * *", "on the 1st of every month"),
    ("0 0 2,3,11,12,13,22,23 * *", "on the 2nd, 3rd, 11th, 12th, 13th, 22nd and 23rd of every month"),
    ("0 0 1-7 * *", "every day from the 1st to the 7th of every month"),
    ("0 0 */2 * *", "on every 2nd day from the 1st to the 31st of every month"),
    ("0 0 1-10,15,20-25 * *", "on the 1st to 10th, 15th and 20th to 25th of every month"),
    ("0 0 1 1 *", "on 1 January"),
    ("0 0 1,15 1 *", "on 1 and 15 January"),
    ("0 0 1-7 1 *", "every day from 1 to 7 January"),
    ("0 0 */2 1 *", "on every 2nd day from 1 to 31 January"),
    ("0 0 1 1,7 *", "on the 1st of January and July"),
    ("0 0 1 */3 *", "on the 1st of January, April, July and October"),
    ("0 0 1 6-8 *", "on the 1st of every month from June to August"),
    ("0 0 1 1-4,6-12 *", "on the 1st of every month except May"),
    ("0 0 29 2 *", "on 29 February (leap years only)"),
    ("0 0 28,29 2 *", "on 28 and 29 February"),
    ("0 0 29 * *", "on the 29th of every month"),
    ("0 0 31 * *", "on the 31st of every month that has one"),
    ("0 0 30,31 * *", "on the 30th and 31st of every month"),
]
EITHER_DAY = [
    ("0 0 13 * 5", "on the 13th of every month, and also on every Friday"),
    ("0 0 1,15 * 1", "on the 1st and 15th of every month, and also on every Monday"),
    ("0 0 13 6 5", "on 13 June, and also on every Friday in June"),
    ("0 0 1-7 * 1", "every day from the 1st to the 7th of every month, and also on every Monday"),
    ("0 0 1 * 1-5", "on the 1st of every month, and also on every weekday"),
    ("0 0 1 * 1-4", "on the 1st of every month, and also on every day from Monday to Thursday"),
    ("0 0 1 * 0,6", "on the 1st of every month, and also on every Saturday and Sunday"),
    ("0 0 1 1,7 1", "on the 1st of January and July, and also on every Monday in January and July"),
    (
        "0 0 */2 * 1",
        "on every 2nd day from the 1st to the 31st of every month, and also on every Monday",
    ),
    ("0 0 1-31 * 1", "every day"),
    ("0 0 1 * 0-6", "every day"),
    ("0 0 1-30 4 1", "every day in April"),
    ("0 0 30 2 1", "on Mondays in February"),
]
RHYTHMS_ON_DAYS = [
    ("*/5 * * * 1-5", "every 5 minutes on weekdays"),
    ("*/5 * * 6-8 *", "every 5 minutes from June to August"),
    ("* * 1-7 * *", "every minute from the 1st to the 7th of every month"),
    ("0 * 1 1 *", "every hour on 1 January"),
    ("30 * 13 * 5", "at 30 minutes past every hour on the 13th of every month, and also on every Friday"),
    ("*/5 9-17 * * MON-FRI", "every 5 minutes from 09:00 to 17:55 on weekdays"),
    ("3,17 8-18 * * 1-5", "at 3 and 17 minutes past every hour from 8 to 18 on weekdays"),
    ("0 12 14 2 *", "at 12:00 on 14 February"),
    ("@yearly", "at 00:00 on 1 January"),
    ("@weekly", "at 00:00 on Sundays"),
]
SECONDS = [
    ("* * * * * *", "every second"),
    ("*/10 * * * * *", "every 10 seconds"),
    ("*/7 * * * * *", "every 7 seconds from the start of every minute"),
    ("30 * * * * *", "at 30 seconds past every minute"),
    ("3,17 * * * * *", "at 3 and 17 seconds past every minute"),
    ("30 0 9 * * *", "at 09:00:30 every day"),
    ("0,30 0 9 * * *", "at 09:00:00 and 09:00:30 every day"),
    ("*/5 30 9 * * *", "every 5 seconds from 09:30:00 to 09:30:55 every day"),
    ("*/15 * 9-17 * * 1-5", "every 15 seconds from 09:00:00 to 17:59:45 on weekdays"),
    ("30 */5 * * * *", "every 5 minutes from 00:00:30 to 23:55:30 every day"),
    ("*/10 0 * * * *", "every 10 seconds of minute 0 of every hour"),
    ("3,17 * 9-17 * * *", "at 3 and 17 seconds past every minute of every hour from 9 to 17 every day"),
    (
        "*/10 */5 9-10 * * *",
        "every 10 seconds of every 5th minute from 0 to 55 of the hours 9 and 10 every day",
    ),
    ("0 */5 * * * *", "every 5 minutes"),
    ("*/5 * * * *", "every 5 minutes"),
]
POSIX = [
    ("0,15,30,45 * * * *", "every 15 minutes"),
    ("0 9 * * 1-5", "at 09:00 on weekdays"),
    ("0 0 1-31 * 1", "at 00:00 every day"),
    ("0 0 1,15 * 0", "at 00:00 on the 1st and 15th of every month, and also on every Sunday"),
]
ZONES = [
    ("UTC", "UTC"),
    ("Etc/UTC", "UTC"),
    ("Zulu", "UTC"),
    ("Etc/GMT+3", "UTC-03:00"),
    ("Etc/GMT-14", "UTC+14:00"),
    ("Etc/GMT", "UTC"),
    ("Europe/Berlin", "Berlin time"),
    ("America/New_York", "New York time"),
    ("America/Argentina/Buenos_Aires", "Buenos Aires time"),
    ("US/Eastern", "US Eastern time"),
    ("Canada/Eastern", "Canada Eastern time"),
    ("Brazil/West", "Brazil West time"),
    ("Japan", "Japan time"),
    ("CET", "CET"),
    ("EST5EDT", "EST5EDT"),
]
GRIDS = [
    ("1s", "every second"),
    ("90s", "every 90 seconds"),
    ("150s", "every 2 minutes and 30 seconds"),
    ("1m", "every minute"),
    ("5m", "every 5 minutes"),
    ("7m", "every 7 minutes, counted from 1970-01-01 UTC"),
    ("16m", "every 16 minutes from 00:00 UTC"),
    ("1h", "every hour"),
    ("90m", "every 90 minutes from 00:00 UTC"),
    ("6h", "every 6 hours from 00:00 UTC"),
    ("36h", "every 36 hours, counted from 1970-01-01 UTC"),
    ("1h1m1s", "every 1 hour, 1 minute and 1 second, counted from 1970-01-01 UTC"),
    ("1d", "every day at 00:00 UTC"),
    ("7d", "every 7 days, counted from 1970-01-01 UTC"),
    ("100d", "every 100 days, counted from 1970-01-01 UTC"),
]


def ids(rows: list[tuple[str, str]]) -> list[str]:
    return [expression for expression, _ in rows]


@pytest.mark.parametrize(("expression", "words"), CLOCKS, ids=ids(CLOCKS))
def test_says_the_times_of_day(expression: str, words: str) -> None:
    assert explain(Cron(expression)) == f"{words}, UTC"


@pytest.mark.parametrize(("expression", "words"), DAYS, ids=ids(DAYS))
def test_says_the_days(expression: str, words: str) -> None:
    assert explain(Cron(expression)) == f"at 00:00 {words}, UTC"


@pytest.mark.parametrize(("expression", "words"), EITHER_DAY, ids=ids(EITHER_DAY))
def test_nobody_can_take_either_day_for_both(expression: str, words: str) -> None:
    assert explain(Cron(expression)) == f"at 00:00 {words}, UTC"


@pytest.mark.parametrize(("expression", "words"), RHYTHMS_ON_DAYS, ids=ids(RHYTHMS_ON_DAYS))
def test_says_times_and_days_in_one_sentence(expression: str, words: str) -> None:
    assert explain(Cron(expression)) == f"{words}, UTC"


@pytest.mark.parametrize(("expression", "words"), SECONDS, ids=ids(SECONDS))
def test_says_seconds_only_where_they_matter(expression: str, words: str) -> None:
    assert explain(Cron(expression, dialect="seconds")) == f"{words}, UTC"


@pytest.mark.parametrize(("expression", "words"), POSIX, ids=ids(POSIX))
def test_says_posix_rules_in_the_same_words(expression: str, words: str) -> None:
    assert explain(Cron(expression, dialect="posix")) == f"{words}, UTC"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 9 1-7 * mon", "at 09:00 every day from the 1st to the 7th of every month, if that is a Monday"),
        ("0 9 13 * fri", "at 09:00 on the 13th of every month, if that is a Friday"),
        ("0 9 1 * mon-fri", "at 09:00 on the 1st of every month, if that is a weekday"),
        ("0 9 1 * sat-sun", "at 09:00 on the 1st of every month, if that is a Saturday or Sunday"),
        ("0 9 1-31 * mon", "at 09:00 on Mondays"),
    ],
)
def test_says_that_celery_wants_both_days(expression: str, words: str) -> None:
    assert explain(Cron(expression, dialect="celery")) == f"{words}, UTC"


@pytest.mark.parametrize(("zone", "words"), ZONES, ids=ids(ZONES))
def test_says_the_zone_by_its_city(zone: str, words: str) -> None:
    assert explain(Cron("0 9 * * 1-5", timezone=zone)) == f"at 09:00 on weekdays, {words}"


@pytest.mark.parametrize(("duration", "words"), GRIDS, ids=ids(GRIDS))
def test_says_a_grid_without_its_zone(duration: str, words: str) -> None:
    assert explain(Every(duration, timezone="Asia/Tokyo")) == words
    assert explain(Cron(f"@every {duration}", timezone="Europe/Berlin")) == words


@pytest.mark.parametrize(
    ("at", "zone", "words"),
    [
        (datetime(2026, 12, 24, 18), BERLIN, "18:00 on 24 December 2026, Berlin time"),
        (datetime(2026, 12, 24, 18), timezone(timedelta(hours=1)), "18:00 on 24 December 2026, UTC+01:00"),
        (datetime(2026, 12, 24, 18), timezone(-timedelta(hours=3.5)), "18:00 on 24 December 2026, UTC-03:30"),
        (
            datetime(2026, 12, 24, 18),
            timezone(timedelta(seconds=4)),
            "18:00 on 24 December 2026, UTC+00:00:04",
        ),
        (datetime(2026, 12, 24, 18), UTC, "18:00 on 24 December 2026, UTC"),
        (datetime(2026, 1, 2, 3, 4, 5), UTC, "03:04:05 on 2 January 2026, UTC"),
        (datetime(2026, 1, 2, 3, 4, 0, 5), UTC, "03:04:00.000005 on 2 January 2026, UTC"),
        (datetime(2026, 3, 29, 2, 30), BERLIN, "03:30 on 29 March 2026, Berlin time"),
        (datetime(2026, 10, 25, 2, 30), BERLIN, "02:30 on 25 October 2026, Berlin time (UTC+02:00)"),
        (datetime(2026, 10, 25, 2, 30, fold=1), BERLIN, "02:30 on 25 October 2026, Berlin time (UTC+01:00)"),
        (datetime(9999, 12, 31, 23), timezone(-timedelta(hours=1)), "23:00 on 31 December 9999, UTC-01:00"),
    ],
    ids=str,
)
def test_says_a_single_time_in_its_own_zone(at: datetime, zone: tzinfo, words: str) -> None:
    assert explain(Once(at.replace(tzinfo=zone))) == f"once, at {words}"


def test_leaves_a_schedule_of_another_kind_to_say_itself() -> None:
    class Never(Schedule):
        def next_after(self, instant: datetime) -> None: ...
        def previous(self, instant: datetime) -> None: ...
        def matches(self, instant: datetime) -> bool: ...  # type: ignore[empty-body]

        def __str__(self) -> str:
            return "never"

    assert explain(Never()) == "never"
