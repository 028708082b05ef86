"""`foliot token create | list | revoke`: who may use the API."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import click

from foliot.access import make_token
from foliot.cli.complete import complete_token
from foliot.cli.group import epilog, make_group
from foliot.cli.instants import read_duration
from foliot.cli.output import say, write, write_json
from foliot.cli.session import Session, takes_store
from foliot.cli.table import Cell, Column, write_rows
from foliot.errors_access import InvalidTokenError, TokenNotFoundError
from foliot.model.access import Right, Scope, Token
from foliot.protocols_access import TokenQuery
from foliot.shown import relative

token = make_group(
    "token",
    "Say who may use the API.",
    """Say who may use the API.

    A person who can write to the store may do anything: these commands need no token.""",
    "foliot token create --name ci --scope operate\nfoliot token list\nfoliot token revoke 4k2m9x7q1a",
)
COLUMNS = (
    Column("ID"), Column("NAME", 0, 12), Column("SCOPE"), Column("SOURCES", 3, 10), Column("RIGHTS", 4),
    Column("CREATED", 5), Column("EXPIRES", 1), Column("LAST USED", 2),
)  # fmt: skip
_PAGE = 1000


@token.command(
    name="create",
    short_help="Make a token, and show it once.",
    epilog=epilog(
        "foliot token create --name ci --scope operate --source billing --expires 90d\n"
        "foliot token create --name deploy --scope write --right shell -o json | jq -r .token"
    ),
)
@click.option("--name", required=True, metavar="TEXT", help="A name for people: its user and its purpose.")
@click.option(
    "--scope", required=True, type=click.Choice([scope.value for scope in Scope]),
    help="What it may do; each scope includes those before it.",
)  # fmt: skip
@click.option(
    "--source", "sources", multiple=True, metavar="SOURCE",
    help="Only for jobs of this source; may be repeated.  [default: all]",
)  # fmt: skip
@click.option(
    "--right", "rights", multiple=True, type=click.Choice([right.value for right in Right]),
    help="It may declare jobs with such actions; may be repeated.",
)  # fmt: skip
@click.option(
    "--expires", "life", callback=read_duration, metavar="DURATION", help="For how long.  [default: for ever]"
)
@takes_store
async def create(  # noqa: PLR0913 - one argument for each option
    session: Session,
    *,
    name: str,
    scope: str,
    sources: tuple[str, ...],
    rights: tuple[str, ...],
    life: timedelta | None,
    as_json: bool,
) -> None:
    """Make a token for the API. Its text is shown now, and never again.

    read sees jobs and runs. operate may also pause, resume, trigger, cancel and backfill. write may also
    declare, change and remove jobs. admin may also manage tokens and sources, and see the audit. Jobs that
    run a shell or call a URL need a right of their own.
    """
    made = make_token(
        name, Scope(scope), session.now, sources=sources or None, rights=map(Right, rights), life=life
    )
    facts = token_facts(made.token)
    async with session.auditor.change("create_token", f"token:{made.token.id}", after=facts):
        if not await session.store.add_token(made.token):
            raise InvalidTokenError("the id of the token", "is in use", hint="try again")
    if as_json:
        write_json({"token": made.text, **facts})
        return
    write(made.text, sys.stdout)
    say("note", "keep it now: it is not shown again", sys.stderr)


@token.command(
    name="list",
    short_help="List tokens, the newest first.",
    epilog=epilog("foliot token list\nfoliot token list -o json"),
)
@takes_store
async def list_tokens(session: Session, *, as_json: bool) -> None:
    """List tokens, the newest first. Their secrets are not in the store.

    The last use is written once a minute.
    """
    tokens: list[Token] = []
    after: str | None = ""
    while after is not None:
        page = await session.store.tokens(TokenQuery(after, _PAGE))
        tokens += page
        after = page.next
    if as_json:
        write_json({"tokens": [token_facts(one) for one in tokens]})
    elif tokens:
        write_rows(COLUMNS, [_row(one, session) for one in tokens])
    else:
        write("No tokens.", sys.stdout)


@token.command(
    name="revoke",
    short_help="Revoke a token.",
    epilog=epilog("foliot token revoke 4k2m9x7q1a", 4),
)
@click.argument("token_id", metavar="ID", shell_complete=complete_token)
@takes_store
async def revoke(session: Session, *, token_id: str, as_json: bool) -> None:
    """Revoke a token, and end its sessions. A server may accept it for five more seconds."""
    found = await session.store.token(token_id)
    if found is None:
        raise TokenNotFoundError(token_id, hint="foliot token list shows all ids")
    async with session.auditor.change("revoke_token", f"token:{token_id}", before=token_facts(found)):
        await session.store.revoke_token(token_id)
    if as_json:
        write_json({"id": token_id})
    else:
        say("ok", f"{token_id} ({found.name}) is revoked")


def token_facts(one: Token) -> dict[str, Any]:
    """One token, for JSON; nothing of its secret."""
    return {
        "id": one.id,
        "name": one.name,
        "scope": one.scope.value,
        "sources": one.sources,
        "rights": [right.value for right in one.rights],
        "created_at": one.created_at,
        "expires_at": one.expires_at,
        "last_used_at": one.last_used_at,
    }


def _row(one: Token, session: Session) -> tuple[Cell | str, ...]:
    now = session.now
    expires = Cell(relative(one.expires_at, now), None if one.is_valid(now) else "red")
    return (
        one.id, one.name, one.scope.value, ", ".join(one.sources or ()), ", ".join(one.rights),
        relative(one.created_at, now), expires, relative(one.last_used_at, now) or "never",
    )  # fmt: skip
