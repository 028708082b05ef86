"""`foliot source list | remove`: where jobs come from, how their sources fare, and how they go."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from cli.calls import command, on_a_terminal
from cli.shop import JOBS, NODE, SLOW, START, Shop
from foliot.model.view import NodeView
from foliot.operations import serves_source
from foliot.protocols import RunQuery
from foliot.stores.sqlite import SqliteStore

SERVED = "error: the source billing is served by a node that lives: n1 (web-1, process 4711)"


def test_sources_are_listed_with_their_revisions(shop: Shop) -> None:
    assert shop.call("source", "list").out.splitlines() == [
        "SOURCE   JOBS  REVISION  SINCE",
        "billing  3     r1        1 h 30 min ago",
        "ops      2     r1        1 h 30 min ago",
    ]


def test_a_source_is_shown_with_its_revisions(shop: Shop) -> None:
    async def scene(store: SqliteStore) -> None:
        await shop.declare(store, (replace(JOBS[0], queue="other"), JOBS[1]), ("slow",))

    shop.act(scene)
    assert shop.call("source", "show", "billing").out.splitlines() == [
        "source    billing",
        "jobs      2",
        "revision  r2",
        "since     2026-03-02T08:00:05Z (now)",
        "REVISION  REACHED         ADDED  CHANGED  REMOVED",
        "r2        now             0      1        1",
        "r1        1 h 30 min ago  3      0        0",
    ]
    document = shop.call("source", "show", "billing", "-n1", "-ojson").json()
    assert (document["source"], document["jobs"]) == ("billing", 2)
    assert document["revisions"] == [
        {
            "source": "billing", "ordinal": 2, "revision": "r2", "at": "2026-03-02T08:00:05+00:00",
            "added": 0, "changed": 1, "removed": 1,
        }
    ]  # fmt: skip
    unknown = shop.call("source", "show", "nobody")
    assert (unknown.code, "there is no source nobody" in unknown.err) == (4, True)


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


def test_a_source_that_nobody_serves_is_removed_with_its_jobs(shop: Shop) -> None:
    assert shop.call("source", "remove", "ops").out == "ok: ops is removed, with 2 job(s)\n"
    assert [line.split()[0] for line in shop.call("source", "list").out.splitlines()] == ["SOURCE", "billing"]
    assert "ops" not in shop.call("job", "list").out
    assert "ops/once    removed" in shop.call("job", "list", "--removed", "--source", "ops").out
    again = shop.call("source", "remove", "ops")
    assert (again.code, again.err) == (
        4, "error: there is no source ops\nhint: foliot source list shows all\n",
    )  # fmt: skip


def test_a_source_that_a_living_node_serves_is_left_alone_unless_forced(shop: Shop) -> None:
    refused = shop.call("source", "remove", "billing")
    assert refused.code == 1
    assert refused.err.splitlines() == [
        SERVED,
        "hint: stop it first, or it declares the source again; --force removes it anyway",
    ]
    assert "billing  3     r1" in shop.call("source", "list").out

    forced = shop.call("source", "remove", "billing", "--force")
    assert forced.code == 0
    assert forced.out.splitlines() == [
        "ok: billing is removed, with 3 job(s); 1 of their runs may end",
        "warning: these nodes will declare it again: n1 (web-1, process 4711)",
    ]


@pytest.mark.parametrize("name", ["billing/report", "billing/", "/"])
def test_no_part_of_a_source_is_taken_for_one(shop: Shop, name: str) -> None:
    refused = shop.call("source", "remove", name, "--force")

    assert (refused.code, refused.out) == (4, "")
    assert "billing  3     r1" in shop.call("source", "list").out


def test_what_runs_may_end_and_its_history_stays(shop: Shop) -> None:
    shop.wait(timedelta(minutes=1))  # the node is silent, and buried by nobody yet
    document = shop.call("source", "remove", "billing", "-ojson").json()
    assert document == {"source": "billing", "jobs": 3, "running": 1, "nodes": []}

    async def end(store: SqliteStore) -> None:
        await store.renew("n1")
        (running,) = await store.runs(RunQuery(is_open=True))
        await shop.finish(store, running)

    shop.act(end)
    shown = shop.call("run", "show", SLOW)
    assert "succeeded" in shown.out
    assert "failed" in shop.call("run", "list", "--job", "billing/report").out


def test_who_serves_it_again_declares_it_as_new(shop: Shop) -> None:
    shop.call("source", "remove", "billing", "--force")

    async def declare(store: SqliteStore) -> None:
        assert await store.revision("billing") is None
        await shop.declare(store, JOBS)

    shop.act(declare)
    assert "billing  3     r1        now" in shop.call("source", "list").out
    assert "billing/refresh  ok" in shop.call("job", "list").out


def test_a_source_that_was_never_read_is_removed_too(shop: Shop) -> None:
    async def scene(store: SqliteStore) -> None:
        await store.write_source_status("git", "{}")

    shop.act(scene)
    assert shop.call("source", "remove", "git").out == "ok: git is removed, with 0 job(s)\n"
    assert "git" not in shop.call("source", "list").out


@pytest.mark.parametrize(
    ("kind", "source", "is_served"),
    [
        ("shell:ops-1a2b", "ops-1a2b", True),
        ("code:billing/r7", "billing", True),
        ("code:billing/r7", "billing.added", True),
        ("declarative:billing/0a1b", "billing", True),
        ("python:refresh", "billing", False),
        ("shell:ops-1a2b", "ops", False),
    ],
)
def test_who_serves_a_source(kind: str, source: str, *, is_served: bool) -> None:
    view = NodeView(NODE._replace(kinds=(kind,)), START)
    assert serves_source(view, source) is is_served
