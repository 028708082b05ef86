"""The expression lab: what a rule means, when it fires, and what may surprise."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.problem import problem_of
from foliot.api.rules import CronQuery, explain_cron
from foliot.dashboard.route import Pages, Short
from foliot.dashboard.times import read_instant
from foliot.dashboard.view import render
from foliot.errors import FoliotError
from foliot.model.access import Scope

pages = Pages("lab")
_DIALECTS = ("standard", "seconds", "posix", "celery")
_EXAMPLES = ("*/5 9-17 * * MON-FRI", "30 2 * * *", "0 0 1 */3 *", "@monthly", "@every 90s", "0 0 29 2 *")


class LabQuery(Query, frozen=True):
    """An expression, its zone and dialect, how many occurrences, and from when on."""

    expr: Annotated[str, Meta(max_length=1000)] = ""
    timezone: Short = "UTC"
    dialect: Short = "standard"
    n: Annotated[int, Meta(ge=1, le=200)] = 10
    since: Short = ""


@pages.get("/lab", Scope.READ, is_heavy=True)
async def lab_page(call: Call, query: LabQuery) -> Response:
    """Explain an expression; what is wrong with it stands beside its field."""
    answer = problem = None
    if query.expr:
        try:
            begin = read_instant(query.since, query.timezone, "since")
            asked = CronQuery(
                expr=query.expr, timezone=query.timezone, dialect=query.dialect, n=query.n, begin=begin
            )
            answer = await explain_cron(call, asked)
        except FoliotError as error:
            problem = problem_of(error)
    command = ("cron", "next", query.expr or "0 7 * * *", "--tz", query.timezone)
    return await render(
        call,
        "lab.html",
        heading="Expression lab",
        command=command,
        query=query,
        answer=answer,
        problem=problem,
        dialects=_DIALECTS,
        examples=_EXAMPLES,
        status=422 if problem else 200,
    )
