"""`foliot audit list`, and which commands it tells of."""

from __future__ import annotations

import json
import os
import pwd
import socket
from datetime import timedelta
from typing import Any

import pytest

from cli.shop import SLOW, Shop
from foliot.model.decision import Decision
from foliot.model.watch import Watch
from foliot.protocols_access import AuditEntry
from foliot.stores.sqlite import SqliteStore

ME = f"cli:{pwd.getpwuid(os.getuid()).pw_name}@{socket.gethostname()}"
REFRESH = "job:billing/refresh"


def entries(shop: Shop, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shop.call("audit", "list", *words, "-ojson").json()["audit"]
    return found


@pytest.mark.parametrize(
    ("words", "verb", "thing", "detail"),
    [
        (
            ("job", "pause", "refresh", "--reason", "the disk is full"),
            "pause", REFRESH, "billing/refresh is paused: the disk is full",
        ),
        (("job", "resume", "refresh"), "resume", REFRESH, "billing/refresh was not paused"),
        (
            ("job", "trigger", "refresh", "--request", "r1"),
            "trigger", REFRESH, "billing/refresh!r1 is requested",
        ),
        (
            ("job", "backfill", "slow", "--from", "2026-03-01", "--to", "2026-03-01T12:00Z"),
            "backfill", "job:billing/slow", "requested: 1",
        ),
        (("run", "cancel", SLOW), "cancel", f"run:{SLOW}", f"{SLOW} is asked to end"),
        (
            ("run", "rerun", "refresh", "--request", "r2"),
            "rerun", REFRESH, "billing/refresh!r2 is requested",
        ),
        (("alert", "mute", "refresh", "--for", "2h"), "mute", REFRESH, "billing/refresh is muted until "),
        (("alert", "unmute", "refresh"), "unmute", REFRESH, "billing/refresh is no longer muted"),
        (
            ("source", "remove", "ops", "--force"),
            "remove_source", "source:ops", "ops is removed, with 2 job(s)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.islower() and " " not in value else "",
)  # fmt: skip
def test_each_change_has_an_entry(
    shop: Shop, words: tuple[str, ...], verb: str, thing: str, detail: str
) -> None:
    async def watch(store: SqliteStore) -> None:
        await store.update("billing/refresh", lambda record: Decision(record.state._replace(watch=Watch())))

    shop.act(watch)
    assert shop.call(*words).code == 0
    (entry,) = entries(shop)
    assert (entry["actor"], entry["verb"], entry["object"]) == (ME, verb, thing)
    assert entry["outcome"] == "done"
    assert entry["detail"].startswith(detail)


def test_tokens_have_entries_without_their_secrets(shop: Shop) -> None:
    made = shop.call("token", "create", "--name", "ci", "--scope", "read", "-ojson").json()
    shop.call("token", "revoke", made["id"])
    created, revoked = sorted(entries(shop), key=lambda entry: str(entry["verb"]))
    assert (created["verb"], revoked["verb"]) == ("create_token", "revoke_token")
    assert created["object"] == revoked["object"] == f"token:{made['id']}"
    assert json.loads(created["after"]) == json.loads(revoked["before"])
    assert json.loads(created["after"])["scope"] == "read"
    assert made["token"][-43:] not in json.dumps([revoked, created])


@pytest.mark.parametrize(
    "words",
    [
        ("job", "list"), ("job", "show", "refresh"), ("run", "list"), ("token", "list"), ("audit", "list"),
        ("job", "pause", "refresh", "--dry-run"), ("job", "trigger", "refresh", "--dry-run"),
        ("run", "cancel", SLOW, "--dry-run"), ("job", "pause", "nobody"), ("token", "revoke", "nobody"),
    ],
)  # fmt: skip
def test_what_changes_nothing_has_none(shop: Shop, words: tuple[str, ...]) -> None:
    shop.call(*words)
    assert entries(shop) == []
    assert shop.call("audit", "list").out == "No entries.\n"


def test_what_is_refused_says_why(shop: Shop) -> None:
    assert shop.call("source", "remove", "billing").code == 1
    (entry,) = entries(shop)
    assert entry["outcome"] == "refused"
    assert "served by a node that lives" in entry["detail"]


def test_a_secret_in_a_payload_is_masked(shop: Shop) -> None:
    shop.call("job", "trigger", "refresh", "--payload", '{"password": "hunter2", "month": 3}')
    (entry,) = entries(shop)
    assert "hunter2" not in json.dumps(entry)
    assert '"month":3' in entry["after"]


def test_entries_are_found_by_time_actor_and_object(shop: Shop) -> None:
    shop.call("job", "pause", "refresh")
    shop.wait(timedelta(hours=2))
    shop.call("job", "pause", "slow")
    assert [one["object"] for one in entries(shop)] == ["job:billing/slow", REFRESH]
    assert [one["object"] for one in entries(shop, "--since", "1h")] == ["job:billing/slow"]
    assert [one["object"] for one in entries(shop, "--object", REFRESH)] == [REFRESH]
    assert len(entries(shop, "--actor", ME)) == 2
    assert entries(shop, "--actor", "cli:nobody@nowhere") == []
    assert len(entries(shop, "-n", "1")) == 1
    heading, slow, refresh = shop.call("audit", "list").out.splitlines()
    assert heading.split() == ["WHEN", "ACTOR", "VERB", "OBJECT", "OUTCOME", "DETAIL"]
    assert slow.split()[1:5] == [ME, "pause", "job:billing/slow", "done"]
    assert refresh.startswith("2 h ago")


def test_a_change_that_never_ended_is_unknown(shop: Shop) -> None:
    async def scene(store: SqliteStore) -> None:
        await store.write_audit(AuditEntry("e1", await store.now(), "cli:ann@web-1", "pause", REFRESH))

    shop.act(scene)
    assert entries(shop)[0]["outcome"] == "asked"
    shop.wait(timedelta(minutes=10))
    assert entries(shop)[0]["outcome"] == "unknown"
