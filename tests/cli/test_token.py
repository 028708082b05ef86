"""`foliot token`: a token is shown once, listed without its secret, and revoked."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from cli.shop import Shop
from foliot.access import Authority, Identity
from foliot.model.access import Right, Scope
from foliot.stores.sqlite import SqliteStore

CREATE = ("token", "create", "--name", "ci", "--scope", "operate")


def identity_of(shop: Shop, text: str) -> Identity | None:
    found: list[Identity | None] = []

    async def scene(store: SqliteStore) -> None:
        found.append(await Authority(store, shop.clock).identify(text))

    shop.act(scene)
    return found[0]


def test_a_token_is_the_only_thing_on_stdout(shop: Shop) -> None:
    made = shop.call(*CREATE)
    assert made.code == 0
    text = made.out.removesuffix("\n")
    assert re.fullmatch(r"flt_[a-z0-9]{10}_[A-Za-z0-9_-]{43}", text)
    assert "not shown again" in made.err
    identity = identity_of(shop, text)
    assert identity is not None
    assert (identity.name, identity.scope, identity.sources, identity.rights) == (
        "ci",
        Scope.OPERATE,
        None,
        (),
    )


def test_a_token_may_have_limits_and_rights_and_an_end(shop: Shop) -> None:
    facts = shop.call(
        *CREATE, "--source", "ops", "--source", "billing", "--right", "shell", "--right", "http",
        "--expires", "90d", "-ojson",
    ).json()  # fmt: skip
    identity = identity_of(shop, facts["token"])
    assert identity is not None
    assert identity.sources == ("billing", "ops")
    assert identity.rights == (Right.HTTP, Right.SHELL)
    assert facts["sources"] == ["billing", "ops"]
    assert facts["rights"] == ["http", "shell"]
    assert facts["expires_at"] == (shop.clock.now() + timedelta(days=90)).isoformat()
    asyncio.run(shop.clock.advance(timedelta(days=90)))
    assert identity_of(shop, facts["token"]) is None


def test_tokens_are_listed_without_their_secrets(shop: Shop) -> None:
    assert shop.call("token", "list").out == "No tokens.\n"
    assert shop.call("token", "list", "-ojson").json() == {"tokens": []}
    made = shop.call(*CREATE, "--expires", "1h", "-ojson").json()
    table, listed = shop.call("token", "list").out, shop.call("token", "list", "-ojson")
    assert listed.json() == {"tokens": [{name: value for name, value in made.items() if name != "token"}]}
    heading, row = table.splitlines()
    assert heading.split() == ["ID", "NAME", "SCOPE", "CREATED", "EXPIRES", "LAST", "USED"]
    assert row.split() == [made["id"], "ci", "operate", "now", "in", "1", "h", "never"]
    secret = made["token"][-43:]
    assert secret not in table + listed.out


def test_the_secret_is_nowhere_in_the_store(shop: Shop) -> None:
    secret = shop.call(*CREATE).out[-44:-1]
    shop.call("job", "pause", "refresh")
    with closing(sqlite3.connect(shop.path)) as connection:
        assert secret not in "\n".join(connection.iterdump())
    assert secret.encode() not in b"".join(Path(f).read_bytes() for f in shop.path.parent.glob("*.db*"))


def test_a_token_that_is_revoked_is_gone(shop: Shop) -> None:
    made = shop.call(*CREATE, "-ojson").json()
    other = shop.call(*CREATE, "-ojson").json()
    assert shop.call("token", "revoke", made["id"]).out == f"ok: {made['id']} (ci) is revoked\n"
    assert identity_of(shop, made["token"]) is None
    assert identity_of(shop, other["token"]) is not None
    assert shop.call("token", "revoke", other["id"], "-ojson").json() == {"id": other["id"]}


def test_a_token_that_is_not_there_cannot_be_revoked(shop: Shop) -> None:
    refused = shop.call("token", "revoke", "0123456789")
    assert (refused.code, refused.out) == (4, "")
    assert "there is no token 0123456789" in refused.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--name", "ci"), 2),
        (("--scope", "read"), 2),
        (("--name", "ci", "--scope", "root"), 2),
        (("--name", "ci", "--scope", "read", "--right", "sudo"), 2),
        (("--name", "ci", "--scope", "read", "--expires", "soon"), 2),
        (("--name", "ci", "--scope", "read", "--expires", "0s"), 3),
        (("--name", "", "--scope", "read"), 3),
        (("--name", "ci", "--scope", "read", "--source", ""), 3),
    ],
)
def test_a_token_that_cannot_be_is_refused(shop: Shop, words: tuple[str, ...], code: int) -> None:
    assert shop.call("token", "create", *words).code == code
    assert shop.call("token", "list").out == "No tokens.\n"
