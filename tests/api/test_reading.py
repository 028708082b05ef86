"""A query that does not fit is told with what would fit."""

from __future__ import annotations

import pytest

from api.stage import Stage
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


@pytest.mark.req("OWN-11")
def test_a_body_of_a_million_lists_is_refused_before_it_is_decoded(alone: Stage) -> None:
    """To decode it would hold up every thread, and with it the engine, for the better part of a second."""
    headers = {"Content-Type": "application/json"}
    for nested, code in ((b"[]", 413), (b"{}", 413), (b"1", 422)):
        body = b'{"jobs":[%s]}' % b",".join([nested] * 1_000_000)
        answer = alone.expect(code, "POST", "/jobs/batch", content=body, headers=headers)
        assert answer["code"] == {413: "TOO_LARGE", 422: "INVALID"}[code]
