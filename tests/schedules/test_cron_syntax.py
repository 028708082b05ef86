"""The grammar of the three dialects, and what is said when it is broken."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.errors import (
    CronCalculationError,
    FieldParseError,
    InvalidCronExpressionError,
    InvalidScheduleError,
    NeverMatchesError,
)
from foliot.schedules import Cron
from foliot.schedules.cron_syntax import DIALECTS, LONGEST_EXPRESSION, MACROS, Dialect, parse_cron
from foliot.schedules.field import values

if TYPE_CHECKING:
    from foliot.schedules.cron_syntax import CronFields


def fields(expression: str, dialect: Dialect = "standard") -> CronFields:
    found = parse_cron(expression, dialect).fields
    assert found is not None
    return found


def refusal(expression: Any, dialect: Dialect = "standard") -> InvalidCronExpressionError:
    with pytest.raises(InvalidCronExpressionError) as caught:
        Cron(expression, dialect=dialect)
    return caught.value


@pytest.mark.req("ROLL-04")
@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("5", [5]),
        ("5,10", [5, 10]),
        ("10,5,10", [5, 10]),
        ("5-8", [5, 6, 7, 8]),
        ("5-5", [5]),
        ("*/15", [0, 15, 30, 45]),
        ("?/15", [0, 15, 30, 45]),
        ("5/15", [5, 20, 35, 50]),
        ("10-40/15", [10, 25, 40]),
        ("1-3,50-59/5", [1, 2, 3, 50, 55]),
        ("*/100", [0]),
        ("05", [5]),
        ("000059", [59]),
        ("*", list(range(60))),
        ("?", list(range(60))),
        ("7,*", list(range(60))),
    ],
)
def test_minutes_of_a_field(field: str, expected: list[int]) -> None:
    assert values(fields(f"{field} * * * *").minutes) == expected


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("sun", [0]),
        ("SUN,Mon", [0, 1]),
        ("mon-fri", [1, 2, 3, 4, 5]),
        ("7", [0]),
        ("5-7", [0, 5, 6]),
        ("0-7", [0, 1, 2, 3, 4, 5, 6]),
        ("1-7/3", [0, 1, 4]),
        ("7/2", [0]),
        ("1/2", [1, 3, 5]),
        ("mon/2", [1, 3, 5]),
        ("*/7", [0]),
    ],
)
def test_weekdays_of_a_field(field: str, expected: list[int]) -> None:
    assert values(fields(f"0 0 * * {field}").weekdays) == expected


def test_months_by_name() -> None:
    assert values(fields("0 0 1 jan,Feb,OCT-dec *").months) == [1, 2, 10, 11, 12]


@pytest.mark.req("DECL-06")
@pytest.mark.parametrize(
    ("day", "weekday", "dialect", "either"),
    [
        ("*", "*", "standard", False),
        ("*", "1", "standard", False),
        ("15", "*", "standard", False),
        ("1,15", "1", "standard", True),
        ("?", "1", "standard", False),
        ("*/1", "1", "standard", False),
        ("*/2", "1", "standard", True),
        ("*/2", "*", "standard", False),
        ("*,5", "1", "standard", False),
        ("1-31", "1", "standard", True),
        ("15", "0-6", "standard", True),
        ("*", "*", "posix", False),
        ("*", "1", "posix", False),
        ("15", "*", "posix", False),
        ("1,15", "1", "posix", True),
        ("1-31", "1", "posix", True),
    ],
)
def test_either_day_field_may_match_only_when_both_are_restricted(
    day: str, weekday: str, dialect: Dialect, *, either: bool
) -> None:
    assert fields(f"0 0 {day} * {weekday}", dialect).either_day is either


@pytest.mark.req("BAN-04")
@pytest.mark.parametrize(
    ("macro", "expression"),
    [
        ("@hourly", "0 * * * *"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_macro_stands_for_an_expression(macro: str, expression: str) -> None:
    assert fields(macro) == fields(macro, "seconds") == fields(expression)


def test_every_macro_is_tested_above() -> None:
    assert len(MACROS) == 7


def test_seconds_field_is_optional_in_its_dialect() -> None:
    six, five = fields("*/20 5 * * * *", "seconds"), fields("5 * * * *", "seconds")

    assert (values(six.seconds), six.has_seconds) == ([0, 20, 40], True)
    assert (values(five.seconds), five.has_seconds) == ([0], False)


@pytest.mark.parametrize("prefix", ["CRON_TZ=Asia/Tokyo ", "TZ=Asia/Tokyo ", "  TZ=Asia/Tokyo \t "])
@pytest.mark.parametrize("expression", ["0 5 * * *", "@daily", "@every 5m"])
def test_zone_prefix_goes_before_the_argument(prefix: str, expression: str) -> None:
    rule = Cron(prefix + expression, timezone="Europe/Berlin")

    assert rule.timezone == "Asia/Tokyo"
    assert rule.canonical == Cron(expression).canonical


REFUSED_BY_POSIX = {
    "1: too few fields": ("* * * *", "exactly 5 fields, got 4"),
    "1: too many fields": ("0 0 0 * * *", "exactly 5 fields, got 6"),
    "2: steps": ("*/15 * * * *", "slash syntax"),
    "3: names": ("0 0 * jan *", "names not supported"),
    "4: macros": ("@daily", "macro syntax"),
    "5: Quartz ?": ("0 0 ? * *", "Quartz token '?'"),
    "5: Quartz L": ("0 0 L * *", "Quartz token 'L'"),
    "5: Quartz W": ("0 0 15W * *", "Quartz token 'W'"),
    "5: Quartz #": ("0 0 * * 5#3", "Quartz token '#'"),
    "6: weekday 7": ("0 0 * * 7", "Sunday must be 0, not 7"),
    "7: backward ranges": ("0 22-2 * * *", "wrap-around"),
    "8: values out of range": ("60 * * * *", "out of range (0-59)"),
    "9: exponents": ("1e1 * * * *", "invalid number format"),
    "9: hexadecimal": ("0x5 * * * *", "names not supported"),
    "9: signs": ("+5 * * * *", "invalid number format"),
    "EBNF: a star stands alone": ("*,5 * * * *", "wildcard combined"),
    "EBNF: no zone prefix": ("TZ=UTC 0 0 * * *", "exactly 5 fields, got 6"),
    "EBNF: no line break": ("0 0 * *\n*", "control character"),
    "EBNF: no other blank": ("0 0 * * \u00a0*", "wildcard combined"),
}


@pytest.mark.req("DECL-05")
@pytest.mark.parametrize(("expression", "reason"), REFUSED_BY_POSIX.values(), ids=REFUSED_BY_POSIX)
def test_posix_refuses(expression: str, reason: str) -> None:
    assert reason in refusal(expression, "posix").details["reason"]


REBOOT_HINT = "@reboot is not supported in a schedule; use a systemd unit for what runs at start-up"
QUARTZ = "Quartz's L, W and # are not part of this language; ? stands alone, for *"

# expression, dialect, what stands at the position, hint
SECONDS = "a seconds field needs the dialect seconds: --dialect seconds, or dialect='seconds' in Python"
WRONG = [
    ("*/15 * * * *", "posix", "/", "steps are not POSIX: write 0,15,30,45, or choose dialect='standard'"),
    ("0-30/10 * * * *", "posix", "/", "steps are not POSIX: write 0,10,20,30, or choose dialect='standard'"),
    ("*/1 * * * *", "posix", "/", "steps are not POSIX: write *, or choose dialect='standard'"),
    ("*/x * * * *", "posix", "/", "steps are not POSIX: list the values, or choose dialect='standard'"),
    ("0 0 * * 1,7", "posix", "7", "use 0 for Sunday"),
    ("0 0 * * 8", "standard", "8", "weekdays are numbers from 0 to 6"),
    ("0 24 * * *", "standard", "24", "use 0 for midnight"),
    ("0 0 0 * *", "standard", "0 *", "days start at 1"),
    ("0 0 1 0 *", "standard", "0 *", "months start at 1"),
    ("0 0 * * mon", "posix", "mon", "write 1"),
    ("0 0 * * monday", "standard", "monday", "write mon"),
    ("0 0 * * mo", "standard", "mo", "the names are sun, mon, tue, wed, thu, fri, sat"),
    ("0 0 * * monkey", "standard", "monkey", "the names are sun, mon, tue, wed, thu, fri, sat"),
    ("0 0 * * 1.5", "standard", ".5", "weekdays are numbers from 0 to 6"),
    ("\uff15 * * * *", "standard", "\uff15", "write ASCII letters and digits"),
    ("* * * * *\n", "standard", "\n", "remove the line break"),
    ("0 9 *\n* *", "posix", "\n", "remove the line break"),
    ("0 9 * * 1-5 root", "standard", "root", "only the schedule belongs here, not a user or a command"),
    ("0 0 L * *", "standard", "L", QUARTZ),
    ("@daily 5", "standard", "5", "a macro stands alone"),
    ("1,,2 * * * *", "standard", ",2", "write values between the commas"),
    ("5--5 * * * *", "standard", "-5", "a range is two values: 1-5"),
    ("0 0 * * fri-mon", "standard", "mon", "write 5-6,0-1"),
    ("50-10 * * * *", "posix", "10", "write 50-59,0-10"),
    ("@daily", "posix", "@", "write 0 0 * * *, or choose dialect='standard'"),
    ("@dialy", "standard", "@", "did you mean @daily?"),
    ("@reboot", "standard", "@", REBOOT_HINT),
    ("@every", "standard", "", "write @every 5m"),
    ("@every 5m 3", "standard", "3", "write @every 5m"),
    ("@every 5x", "standard", "5x", 'write a number and a unit (s, m, h, d), such as "30s", "5m" or "1h30m"'),
    ("@every 1.5s", "standard", "1.5s", 'write "1s", "30s" or "5m"'),
    ("0 0 0 * * *", "standard", "*", SECONDS),
    ("0 0 0 * * * *", "seconds", "*", "there is no year field"),
    ("*/0 * * * *", "standard", "0", "steps start at 1: */1, or just *"),
    ("*/ * * * *", "standard", " ", "a step is a whole number: */5"),
    ("CRON_TZ=Europe/Berln 0 0 * * *", "standard", "Europe", "did you mean Europe/Berlin?"),
    ("*/0 * * * *", "posix", "/", "steps are not POSIX: list the values"),
    ("0 0 0/5 * *", "posix", "/", "steps are not POSIX: list the values"),
    ("0 22-2/2 * * *", "standard", "2/2", "write 22,0,2"),
    ("0 0 * nov-feb/2 *", "standard", "feb", "write 11,1"),
    ("0 1-24 * * *", "standard", "24", "write 1-23,0"),
    ("0 0-24 * * *", "standard", "24", "write 0-23"),
    ("0 0 * * 1-7", "posix", "7", "write 1-6,0"),
    ("0 0 * * mon-fri", "posix", "mon", "write 1-5"),
    ("0 0 * * monday-friday", "standard", "monday", "write mon-fri"),
    ("0 0 * * monL", "standard", "L", QUARTZ),
    ("@every 5m", "posix", "@", "POSIX has no macros: write five fields, or choose dialect='standard'"),
    ("@EVERY 5m", "standard", "@", "did you mean @every?"),
    ("@Daily", "standard", "@", "did you mean @daily?"),
    ("@minutely", "standard", "@", "write * * * * *"),
    ("@every 1h 30m", "standard", "30m", "write @every 1h30m"),
    ("CRON_TZ=UTC 0 0 * * *", "posix", "*", "POSIX has no zone in the expression: give it as timezone"),
    ("cron_tz=UTC 0 0 * * *", "standard", "*", "write CRON_TZ= once, in capitals, in front"),
    ("TZ=UTC TZ=UTC 0 0 * * *", "standard", "*", "write CRON_TZ= once, in capitals, in front"),
    ("0 0 1 1 * 2026", "standard", "2026", "there is no year field"),
    ("CRON_TZ=europe/berlin 0 0 * * *", "standard", "europe", "did you mean Europe/Berlin?"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "dialect", "at", "hint"), WRONG)
def test_error_points_at_the_place_and_says_what_would_be_right(
    expression: str, dialect: Dialect, at: str, hint: str | None
) -> None:
    error = refusal(expression, dialect)

    assert expression[error.position :].startswith(at)
    assert error.hint == hint
    assert getattr(error, "__notes__", []) == ([f"hint: {hint}"] if hint else [])


WRITE = re.compile(r"write ([^ ,]+(?:,[^ ,]+)*)(?:,|$)")


@given(
    st.sampled_from(DIALECTS),
    st.integers(0, 4),
    st.lists(
        st.sampled_from(["0", "7", "5", "24", "59", "60", "mon", "feb", "friday"]), min_size=1, max_size=2
    ),
    st.sampled_from(["", "/2", "/0", "/7"]),
)
def test_what_a_hint_says_to_write_can_be_written(
    dialect: Dialect, place: int, parts: list[str], step: str
) -> None:
    words = ["*"] * 5
    words[place] = "-".join(parts) + step
    try:
        Cron(" ".join(words), dialect=dialect)
    except InvalidCronExpressionError as error:
        advice = WRITE.search(error.hint or "")
    except CronCalculationError:
        return
    else:
        return
    if advice:
        words[place] = advice.group(1)
        assert parse_cron(" ".join(words), dialect).fields is not None


def test_error_keeps_the_message_of_the_error_model() -> None:
    error = refusal("*/15 * * * *", "posix")

    assert str(error) == (
        'Invalid cron expression "*/15 * * * *": minute field slash syntax not supported (POSIX violation)'
    )
    assert error.details == {
        "expression": "*/15 * * * *",
        "field": "minute",
        "reason": "slash syntax not supported (POSIX violation)",
    }
    cause = error.__cause__
    assert isinstance(cause, FieldParseError)
    assert cause.details == {"field_value": "*/15", "field_name": "minute"}


@pytest.mark.req("DECL-10")
@pytest.mark.parametrize("expression", ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30,31 feb *"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_rule_that_can_never_match_is_refused_when_built(expression: str, zone: str) -> None:
    with pytest.raises(CronCalculationError) as caught:
        Cron(expression, timezone=zone)

    error = caught.value
    assert str(error).startswith("Failed to calculate next occurrence: no valid execution times")
    assert error.details["expression"] == expression
    assert error.details["current_time"] is None
    assert isinstance(error.details["cause"], NeverMatchesError)
    assert error.__cause__ is error.details["cause"]


@pytest.mark.parametrize("expression", ["0 0 30 2 1", "0 0 31 1,2 *", "0 0 29 2 *", "0 0 31 4 sun"])
def test_rule_that_matches_some_day_is_built(expression: str) -> None:
    assert Cron(expression).expression == expression


@pytest.mark.parametrize("expression", [123, None, b"* * * * *", ["*"], 1.5])
def test_expression_must_be_a_text(expression: Any) -> None:
    error = refusal(expression)

    assert error.details["reason"] == "must be a string"


@pytest.mark.parametrize("dialect", ["quartz", "", None, 5, [], "POSIX"])
def test_dialect_must_be_known(dialect: Any) -> None:
    with pytest.raises(InvalidScheduleError) as caught:
        Cron("* * * * *", dialect=dialect)

    assert caught.value.hint == "choose one of standard, seconds, posix, celery, vixie"


def test_longest_expression_is_accepted() -> None:
    expression = "0," * ((LONGEST_EXPRESSION - 9) // 2) + "0 * * * *"
    assert len(expression) <= LONGEST_EXPRESSION

    assert Cron(expression).canonical == "0 * * * *"
