"""`foliot source list`: where jobs come from, and how their sources fare."""

from __future__ import annotations

import json

from cli.calls import command, on_a_terminal
from cli.shop import JOBS, Shop
from foliot.stores.sqlite import SqliteStore


def test_sources_are_listed_with_their_revisions(shop: Shop) -> None:
    assert shop.call("source", "list").out.splitlines() == [
        "SOURCE   JOBS  REVISION  SINCE",
        "billing  3     r1        1 h 30 min ago",
        "ops      2     r1        1 h 30 min ago",
    ]


def test_a_store_without_sources(empty_shop: Shop) -> None:
    assert empty_shop.call("store", "migrate").code == 0
    assert empty_shop.call("source", "list").out == "No sources.\n"
    assert empty_shop.call("source", "list", "-ojson").json() == {"sources": []}


def test_how_a_source_fares_is_told_what_went_wrong_first(shop: Shop) -> None:
    async def scene(store: SqliteStore) -> None:
        await shop.declare(store, JOBS[:1], ("slow",))
        await store.write_source_status(
            "billing", json.dumps({"pulled": "1 min ago", "error": None, "revision": "r2"})
        )
        await store.write_source_status(
            "git",
            json.dumps(
                {
                    "failures": 3,
                    "revision": "r0",
                    "error": "no such host \x1b[31m",
                    "hint": "look at the network",
                    "failing_since": "2026-03-02T07:58:05Z",
                }
            ),
        )
        await store.write_source_status(
            "repo", json.dumps({"pulled_at": "2026-03-02T07:59:55Z", "repository": "https://git.example/ops"})
        )
        await store.write_source_status("ops", "no JSON at all")

    shop.act(scene)
    assert shop.call("source", "list").out.splitlines() == [
        "SOURCE   JOBS  REVISION  SINCE           STATUS             REPOSITORY",
        "billing  2     r2        now             pulled: 1 min ago",
        "git      0                               failing 3x",
        "ops      2     r1        1 h 30 min ago  no JSON at all",
        "repo     0                               pulled 10 s ago    https://git.example/ops",
        "error: git, first 2 min ago: no such host \\x1b[31m",
        "hint: look at the network",
    ]
    billing, git, ops, _ = shop.call("source", "list", "-ojson").json()["sources"]
    assert billing == {
        "source": "billing",
        "revision": "r2",
        "jobs": 2,
        "reconciled_at": "2026-03-02T08:00:05+00:00",
        "status": {"pulled": "1 min ago", "error": None, "revision": "r2"},
    }
    assert (git["revision"], git["reconciled_at"], git["status"]["failures"]) == (None, None, 3)
    assert ops["status"] == "no JSON at all"


def test_a_narrow_terminal_has_the_names_and_the_counts(shop: Shop) -> None:
    with on_a_terminal(command("foliot", "source", "list", "--store", shop.url), 20) as screen:
        assert screen.read_to_end() == 0
        assert [line.split() for line in screen.lines] == [["SOURCE", "JOBS"], ["billing", "3"], ["ops", "2"]]
