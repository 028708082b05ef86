"""Who may use the dashboard and the API, and who has asked for which change."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from foliot.api import tokens
from foliot.api.call import Call
from foliot.api.cursor import Paged
from foliot.api.jobs import Text
from foliot.api.problem import ProblemError, problem_of
from foliot.api.reading import read_struct
from foliot.api.tokens import AuditsQuery, TokenBody, list_tokens
from foliot.dashboard.endpoint import ReturnedFormError
from foliot.dashboard.frame import frame_of
from foliot.dashboard.route import Form, Pages, Short, Trail, filters_of, narrowed
from foliot.dashboard.times import read_instant
from foliot.dashboard.view import leave, render
from foliot.errors import FoliotError
from foliot.model.access import Right, Scope, Token

pages = Pages("access", tokens.routes.finders)


class TokensQuery(Paged, frozen=True):
    """`trail` has the cursors of the pages before."""

    trail: Trail = ""


@pages.get("/tokens", Scope.ADMIN, is_of_all=True)
async def tokens_page(call: Call, query: TokensQuery) -> Response:
    """All tokens, and a form for a new one."""
    return await _page(call, query)


async def _page(
    call: Call,
    query: TokensQuery,
    problem: ProblemError | None = None,
    form: Form | None = None,
    made: Any = None,
) -> Response:
    found = await list_tokens(call, narrowed(query, Paged))
    usual = {"name": "", "scope": "read", "sources": "", "expires": "90d"}
    return await render(
        call,
        "tokens.html",
        heading="Tokens",
        command=("token", "list"),
        query=query,
        found=found,
        filters=filters_of(query),
        scopes=[one.value for one in Scope],
        rights=[one.value for one in Right],
        problem=problem,
        typed={**usual, **(form.typed if form else {})},
        chosen_rights=form.all("right") if form else [],
        made=made,
        status=problem.status if problem else 200,
    )


@pages.post("/tokens", Scope.ADMIN, is_of_all=True)
async def create_token(call: Call, form: Form) -> Response:
    """Make a token. Its text stands on the page that follows, and nowhere else."""
    sources = [one.strip() for one in form.get("sources").split(",") if one.strip()]
    given = {
        "name": form.get("name"),
        "scope": form.get("scope"),
        "sources": sources or None,
        "rights": form.all("right"),
        "expires": form.get("expires") or None,
    }
    try:
        made = await tokens.create_token(call, read_struct(given, TokenBody))
    except FoliotError as error:
        problem = problem_of(error)
        raise ReturnedFormError(problem, await _page(call, TokensQuery(), problem, form)) from None
    return await _page(call, TokensQuery(), made=made)


@pages.post("/tokens/{token}/revoke", Scope.ADMIN, is_of_all=True)
async def revoke_token(call: Call, token: Token, form: Form) -> Response:
    """Let it be valid no more: first when it was used last."""
    del form
    await tokens.revoke_token(call, token)
    frame = frame_of(call)
    if not call.dry_run:
        return leave(call, frame.url("/tokens"), f"The token {token.name} is valid no more.")
    used = (
        f"It was used last at {token.last_used_at:%Y-%m-%d %H:%M} UTC."
        if token.last_used_at
        else "It was never used."
    )
    return await render(
        call,
        "confirm.html",
        heading=f"Revoke the token {token.name}",
        deed="Revoke",
        back=frame.url("/tokens"),
        action=frame.url(f"/tokens/{token.id}/revoke"),
        text=used,
        would=None,
        fields={},
        note="Its sessions end, too. A program that uses it is refused within five seconds.",
    )


class AuditPageQuery(Paged, frozen=True, rename={"first": "from", "last": "to"}):
    """Which entries: of whom, about what, in which time (UTC)."""

    actor: Text | None = None
    object: Text | None = None
    first: Short = ""
    last: Short = ""
    trail: Trail = ""


@pages.get("/audit", Scope.ADMIN, is_of_all=True)
async def audit_page(call: Call, query: AuditPageQuery) -> Response:
    """The changes that were asked for, and how they ended."""
    found, problem = None, None
    try:
        since, until = read_instant(query.first, "UTC", "from"), read_instant(query.last, "UTC", "to")
    except ProblemError as error:
        problem = error
    else:
        asked = AuditsQuery(
            limit=query.limit,
            cursor=query.cursor,
            actor=query.actor,
            object=query.object,
            since=since,
            until=until,
        )
        found = await tokens.audit(call, asked)
    return await render(
        call,
        "audit.html",
        heading="Audit",
        command=("audit", "list")
        + (("--actor", query.actor) if query.actor else ())
        + (("--object", query.object) if query.object else ()),
        query=query,
        filters=filters_of(query),
        entries=[(one, _read(one.before), _read(one.after)) for one in (found.audit if found else ())],
        next=found.next if found else None,
        problem=problem,
        status=problem.status if problem else 200,
    )


def _read(text: str | None) -> Any:
    """What was noted, for people; a text that was cut is no JSON any more."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text
