"""Tokens, who asks, and the audit."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from foliot.access import make_token
from foliot.api.call import Call
from foliot.api.cursor import Paged
from foliot.api.fleet_answers import (
    AuditAnswer,
    AuditList,
    NewTokenAnswer,
    Revoked,
    TokenAnswer,
    TokenList,
    WhoAmI,
)
from foliot.api.jobs import Text
from foliot.api.reading import Instant
from foliot.api.route import Finder, Group
from foliot.errors_access import TokenNotFoundError
from foliot.model.access import Right, Scope, Token
from foliot.model.query import AuditQuery, TokenQuery
from foliot.schedules.duration import parse_duration


async def find_token(call: Call, text: str) -> Token:
    """A token by its id."""
    token = await call.ops.store.token(text) if len(text) <= 40 else None  # noqa: PLR2004 - an id has ten
    if token is None:
        raise TokenNotFoundError(text, hint="GET /api/v1/tokens tells all")
    return token


routes = Group(
    "tokens",
    {"token": Finder(find_token, lambda token: f"token:{token.id}", "The id of a token, no secret.")},
)


def _fields(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scope": token.scope,
        "sources": token.sources,
        "rights": token.rights,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "last_used_at": token.last_used_at,
    }


@routes.get("/tokens", Scope.ADMIN, is_of_all=True)
async def list_tokens(call: Call, query: Paged) -> TokenList:
    """List tokens, the newest first; never their secrets."""
    after = call.place(query, str) or ""
    page = await call.ops.store.tokens(TokenQuery(after=after, limit=query.limit))
    shown = tuple(TokenAnswer(**_fields(token)) for token in page)
    return TokenList(tokens=shown, next=page.next and call.cursor(query, page.next))


class TokenBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A token to make. `expires` is a duration, such as `90d`; without `sources` it is limited to none."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    scope: Scope
    sources: Annotated[list[Text], Meta(min_length=1, max_length=100)] | None = None
    rights: Annotated[list[Right], Meta(max_length=2)] = []
    expires: Annotated[str, Meta(max_length=50)] | None = None


@routes.post("/tokens", Scope.ADMIN, status=201, is_of_all=True)
async def create_token(call: Call, body: TokenBody) -> NewTokenAnswer:
    """Make a token. Its text is in the answer, and nowhere else, ever."""
    life: timedelta | None = None if body.expires is None else parse_duration(body.expires)
    now = await call.ops.store.now()
    made = make_token(body.name, body.scope, now, sources=body.sources, rights=body.rights, life=life)
    if not call.dry_run:
        await call.ops.store.add_token(made.token)
        call.headers["Location"] = call.link("tokens", made.token.id)
        call.after = {
            "id": made.token.id, "name": body.name, "scope": body.scope.value, "sources": body.sources,
            "rights": [str(right) for right in body.rights], "expires": body.expires,
        }  # fmt: skip
    text = None if call.dry_run else made.text
    return NewTokenAnswer(**_fields(made.token), token=text, dry_run=call.dry_run)


@routes.get("/tokens/{token}", Scope.ADMIN, is_of_all=True)
async def show_token(call: Call, token: Token) -> TokenAnswer:
    """Show a token; never its secret."""
    del call
    return TokenAnswer(**_fields(token))


@routes.delete("/tokens/{token}", Scope.ADMIN, is_of_all=True)
async def revoke_token(call: Call, token: Token) -> Revoked:
    """Revoke a token with its sessions: here at once, on other nodes within five seconds."""
    if not call.dry_run:
        await call.service.authority.revoke(token.id)
    return Revoked(id=token.id, dry_run=call.dry_run)


@routes.get("/whoami", Scope.READ)
async def whoami(call: Call) -> WhoAmI:
    """Tell who asks, and what that one may do."""
    who = call.identity
    return WhoAmI(
        token_id=who.token_id, name=who.name, scope=who.scope, sources=who.sources,
        rights=who.rights, is_session=who.is_session,
    )  # fmt: skip


class AuditsQuery(Paged, frozen=True, rename={"since": "from", "until": "to"}):
    """Which entries. `object` is a kind and a name: `job:ops/backup`."""

    actor: Text | None = None
    object: Text | None = None
    since: Instant | None = None
    until: Instant | None = None


@routes.get("/audit", Scope.ADMIN, is_of_all=True)
async def audit(call: Call, query: AuditsQuery) -> AuditList:
    """List the changes that were asked for, and how they ended, the newest first."""
    after = call.place(query, str) or ""
    page = await call.ops.store.audit(
        AuditQuery(query.actor, query.object, query.since, query.until, after, query.limit)
    )
    now = await call.ops.store.now()
    shown = tuple(AuditAnswer(**{**one._asdict(), "outcome": one.outcome_at(now)}) for one in page)
    return AuditList(audit=shown, next=page.next and call.cursor(query, page.next))
