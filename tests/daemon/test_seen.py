"""What an operator sees of several nodes: where they run, who drains, and who was buried."""

from __future__ import annotations

import signal
import socket
from typing import Any

import pytest

from daemon.harness import Daemon, eventually
from daemon.repositories import job
from daemon.site import Site, node_of

pytestmark = pytest.mark.prove


def listed(site: Site, daemon: Daemon) -> dict[str, Any]:
    """A node as `foliot node list` shows it."""
    nodes = site.host.foliot("node", "list")["nodes"]
    return next((node for node in nodes if node["node"] == node_of(daemon)), {})


def test_a_death_and_a_drain_are_seen_and_a_source_that_is_no_more_can_be_removed(site: Site) -> None:
    go = site.witness / "go"
    wait = f"echo $FOLIOT_ATTEMPT >> {site.witness}/$FOLIOT_JOB; until test -e {go}; do sleep 0.05; done"
    site.repository.push(long=job(wait, "1h", timeout="9m", on_lost="restart"))
    one = site.serve(0, drain=30)
    site.host.foliot("job", "trigger", "long")
    site.wait_for_lines("long")
    first, two = node_of(one), site.serve(1, drain=30)
    for daemon in (one, two):
        shown = listed(site, daemon)
        assert (shown["host"], shown["process"]) == (socket.gethostname(), daemon.pid)
        assert shown["state"] == "alive"

    one.kill()
    buried = two.wait_for("node_declared_dead")
    assert (buried["node"], buried["process"], buried["attempts"]) == (first, one.pid, 1)
    assert buried["by"] == node_of(two)
    site.wait_for_lines("long", 2)

    two.send(signal.SIGTERM)
    eventually(lambda: listed(site, two)["state"] == "draining", "that the drain is seen")
    (source,) = [s["source"] for s in site.host.foliot("source", "list")["sources"] if s["jobs"]]
    refused = site.host.foliot("source", "remove", source, code=1)["error"]
    assert refused["details"]["nodes"] == [node_of(two)]
    go.touch()
    assert two.wait() == 0
    assert site.host.foliot("node", "list") == {"nodes": [], "unserved": []}

    removed = site.host.foliot("source", "remove", source)
    assert removed == {"source": source, "jobs": 1, "running": 0, "nodes": []}
    assert source not in [s["source"] for s in site.host.foliot("source", "list")["sources"]]
    assert site.host.jobs() == {}
    assert len(site.runs("long")) == 2, "history stays"

    three = site.serve(2)
    assert [*three.all("source_behind"), *three.all("source_failed")] == []
    site.host.foliot("job", "trigger", "long", "--wait")
    assert three.stop() == 0
