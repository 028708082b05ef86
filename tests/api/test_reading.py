"""A query that does not fit is told with what would fit."""

from __future__ import annotations

import pytest

from foliot.api.cursor import Query
from foliot.api.jobs import JobsQuery
from foliot.api.problem import ProblemError
from foliot.api.reading import read_query
from foliot.api.rules import ForecastQuery


@pytest.mark.parametrize(
    ("text", "kind", "hint"),
    [
        (b"bucket=1h", ForecastQuery, "one of: hour, minute"),
        (b"order=newest", JobsQuery, "one of: key, soonest"),
        (b"state=happy", JobsQuery, "one of: paused, failing, damaged, open"),
        (b"removed=2", JobsQuery, "one of: true, false"),
        (b"limit=many", JobsQuery, None),
        (b"from=2026-11-15T07:00:00+01:00", ForecastQuery, "write + as %2B in a URL"),
    ],
)
def test_a_value_that_is_not_possible_is_told_with_those_that_are(
    text: bytes, kind: type[Query], hint: str | None
) -> None:
    with pytest.raises(ProblemError) as caught:
        read_query(text, kind)
    problem = caught.value
    assert (problem.status, problem.code, problem.hint) == (400, "BAD_QUERY", hint)
    assert problem.errors[0].hint == hint
