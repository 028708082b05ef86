"""`foliot node list`: who works on a store, where, and what nobody works on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from cli.shop import NODE, OTHERS, Shop
from foliot.model.state import Node
from foliot.stores.sqlite import SqliteStore

DAY = timedelta(days=1)
HEADING = "NODE  NAME     HOST   PROCESS  STATE"
ACTIONS = "python:refresh, python:report, python:slow"


def test_nodes_are_listed_with_where_they_run_and_what_they_hold(shop: Shop) -> None:
    assert shop.call("node", "list").out.splitlines() == [
        f"{HEADING}  LEASE    RUNS  QUEUES   VERSION  ACTIONS",
        f"n1    billing  web-1  4711     alive  in 30 s  1     default  0.1      {ACTIONS}",
    ]
    shop.wait(timedelta(minutes=1))
    assert "4711     silent  30 s ago" in shop.call("node", "list").out
    assert shop.call("node", "list", "-ojson").json() == {
        "nodes": [
            {
                "node": "n1",
                "name": "billing",
                "host": "web-1",
                "process": 4711,
                "alive": False,
                "state": "silent",
                "lease_until": "2026-03-02T08:00:35+00:00",
                "open_attempts": 1,
                "queues": ["default"],
                "groups": {},
                "actions": ["python:refresh", "python:report", "python:slow"],
                "revision": "r1",
                "version": "0.1",
                "clock_skew": 0.0,
            }
        ],
        "unserved": [],
    }


def test_a_node_of_an_older_version_says_less(shop: Shop) -> None:
    async def scene(store: SqliteStore) -> None:
        await store.join(Node("n1"))

    shop.act(scene)
    result = shop.call("node", "list").out.splitlines()
    assert result[0] == "NODE  STATE  LEASE    RUNS  QUEUES   ACTIONS"
    (node,) = shop.call("node", "list", "-ojson").json()["nodes"]
    assert (node["host"], node["process"]) == (None, None)


def test_a_node_that_drains_is_shown_so_and_a_clock_that_is_off(shop: Shop) -> None:
    async def scene(store: SqliteStore) -> None:
        await store.join(NODE._replace(is_draining=True, skew=timedelta(seconds=-90)))

    shop.act(scene)
    assert "4711     draining  in 30 s  1     1 min 30 s slow  default" in shop.call("node", "list").out
    (node,) = shop.call("node", "list", "-ojson").json()["nodes"]
    assert (node["alive"], node["state"], node["clock_skew"]) == (True, "draining", -90.0)


def test_jobs_that_are_due_and_that_no_node_can_start_are_told(shop: Shop) -> None:
    """The node serves another queue, and runs other actions."""

    async def scene(store: SqliteStore) -> None:
        await shop.declare(store, (replace(OTHERS[0], name="second"), *OTHERS))
        await shop.pass_time(store, DAY)

    shop.act(scene)
    warnings = shop.call("node", "list").out.splitlines()[2:]
    nobody = "no running node can run shell (queue night)"
    assert f"warning: 2 jobs are due, the first for 8 h, and {nobody}" in warnings
    (unserved,) = (
        lane for lane in shop.call("node", "list", "-ojson").json()["unserved"] if lane["queue"] == "night"
    )
    assert unserved == {
        "queue": "night", "action": "shell", "jobs": 2, "since": "2026-03-03T00:00:00+00:00",
    }  # fmt: skip


def test_what_only_draining_or_silent_nodes_serve_waits_for_a_node(shop: Shop) -> None:
    async def work(store: SqliteStore) -> None:
        await store.join(NODE)

    async def drain(store: SqliteStore) -> None:
        await store.join(NODE._replace(is_draining=True))

    shop.wait(timedelta(hours=1))
    shop.act(work)
    assert "warning" not in shop.call("node", "list").out
    shop.act(drain)
    nobody = "no running node can run python:refresh (queue default)"
    assert f"1 job is due, the first for 5 s, and {nobody}" in shop.call("node", "list").out
    assert "no running node can run" in shop.call("job", "why", "refresh").out
    shop.act(work)
    assert "warning" not in shop.call("node", "list").out
    shop.wait(timedelta(minutes=1))
    assert "1 job is due, the first for 1 min 5 s" in shop.call("node", "list").out


def test_a_store_on_which_nobody_works_tells_what_waits(shop: Shop) -> None:
    async def leave(store: SqliteStore) -> None:
        await store.leave("n1")

    shop.act(leave)
    shop.wait(timedelta(hours=2))
    lines = shop.call("node", "list").out.splitlines()
    assert lines[0] == "No nodes."
    assert lines[1].startswith("warning: 1 job is due, the first for 1 h, and no running node")
