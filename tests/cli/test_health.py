"""`foliot health`: whether the engine of a host works."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cli.shop import Shop

pytestmark = pytest.mark.req("OWN-20")


def test_a_host_whose_engine_renews_its_lease_is_healthy(shop: Shop) -> None:
    called = shop.call("health", "--host", "web-1")

    assert called.code == 0
    assert called.out == "ok: 1 engine works here, with 1 open runs; the lease ends in 30 s\n"


def test_a_host_whose_lease_is_over_is_not(shop: Shop) -> None:
    shop.wait(timedelta(minutes=1))
    called = shop.call("health", "--host", "web-1")

    assert (called.code, called.out) == (1, "")
    assert called.err == "error: no engine of the host web-1 works on this store\n"


def test_engines_of_other_hosts_do_not_count(shop: Shop) -> None:
    assert shop.call("health").code == 1  # this host's
    facts = shop.call("health", "--host", "web-2", "-o", "json")
    assert facts.code == 1
    assert facts.json() == {"healthy": False, "host": "web-2", "nodes": []}


def test_json_names_the_nodes(shop: Shop) -> None:
    facts = shop.call("health", "--host", "web-1", "-ojson").json()

    assert facts["healthy"]
    assert [node["node"] for node in facts["nodes"]] == ["n1"]
