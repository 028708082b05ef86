"""Text from strangers: a rule, or one of our errors, at once."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.errors import CronCalculationError, InvalidCronExpressionError
from foliot.schedules import Cron
from foliot.schedules.cron_syntax import DIALECTS, LONGEST_EXPRESSION, Dialect


def refusal(expression: str, dialect: Dialect) -> InvalidCronExpressionError:
    with pytest.raises(InvalidCronExpressionError) as caught:
        Cron(expression, dialect=dialect)
    return caught.value


HOSTILE = {
    "megabytes": "*" * 5_000_000,
    "megabytes of fields": "* " * 3_000_000,
    "megabytes of blanks": " " * 5_000_000,
    "megabytes of commas": "," * 5_000_000 + " * * * *",
    "1000 digits": "1" * 1000 + " * * * *",
    "1000 digits of step": "*/" + "9" * 1000 + "x * * * *",
    "1000 digits in a range": f"0-{'9' * 900} * * * *",
    "10,000 digits": "7" * 10_000 + " * * * *",
    "superscript digits": "¹ * * * *",
    "Arabic digits": "٥ * * * *",
    "fullwidth digits": "５ * * * *",
    "NUL": "0\x00 * * * *",
    "only NUL": "\x00",
    "escape codes": "\x1b[31m5 * * * *",
    "newlines": "0\n0 * * *\r",
    "no-break blanks": "0\u00a00\u00a0*\u00a0*\u00a0*",
    "lone surrogate": "\ud800 * * * *",
    "right to left": "\u202e5 * * * *",
    "double dash": "5--5 * * * *",
    "zero step": "*/0 * * * *",
    "exponent": "1e5 * * * *",
    "nested commas": "1,,,,2 * * * *",
    "only commas": ",,,, , , , ,",
    "only dashes": "- - - - -",
    "only slashes": "/ / / / /",
    "format string": "%s%n{0} {x!r} ${y} * *",
    "template": "{{7*7}} ${7*7} * * *",
    "empty zone": "TZ= * * * * *",
    "zone out of the folder": "TZ=../../../etc/passwd * * * * *",
    "zone with NUL": "TZ=Europe/\x00Berlin * * * * *",
    "endless zone": "TZ=" + "A/" * 400 + " * * * * *",
    "folder as zone": "TZ=America * * * * *",
    "only a zone": "TZ=UTC",
    "endless @every": "@every " + "9" * 900 + "h",
    "overflowing @every": "@every 999999999999h",
    "negative @every": "@every -5m",
    "zero @every": "@every 0s",
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_refused_at_once_with_a_short_clean_error(name: str, dialect: Dialect) -> None:
    error = refusal(HOSTILE[name], dialect)

    assert len(str(error)) < 1000
    assert str(error).isprintable()
    # Nothing beyond the longest expression is ever looked at.
    assert error.position <= LONGEST_EXPRESSION


@given(st.text(max_size=40), st.sampled_from(DIALECTS))
def test_any_text_is_a_rule_or_one_of_our_errors(text: str, dialect: Dialect) -> None:
    with suppress(InvalidCronExpressionError, CronCalculationError):
        Cron(text, dialect=dialect)


@given(
    st.lists(st.text(alphabet="0123456789*,-/?LW#@ \tajnsuTZ=", max_size=8), max_size=8).map(" ".join),
    st.sampled_from(DIALECTS),
)
def test_any_text_that_looks_like_cron_is_a_rule_or_one_of_our_errors(text: str, dialect: Dialect) -> None:
    rule = refused = None
    try:
        rule = Cron(text, dialect=dialect)
    except InvalidCronExpressionError as error:
        refused = error
    except CronCalculationError:
        pass
    if refused:
        assert 0 <= refused.position <= len(text)
        assert refused.details["expression"] == text
    if rule:
        assert rule.canonical == Cron(rule.canonical, dialect=dialect).canonical
