"""The benchmark of the API beside an engine works; how late jobs are, no test judges."""

from __future__ import annotations

import asyncio

import pytest
from benchmarks.api.__main__ import compare
from benchmarks.api.clients import Crowd


@pytest.mark.prove
@pytest.mark.req("OWN-11")
def test_no_job_is_missed_while_clients_ask_listen_and_dawdle() -> None:
    hostile = Crowd(rate=20, slow=2, streams=10, large=3)
    found = asyncio.run(compare(600, 2, Crowd(rate=20), hostile))
    for name in ("alone", "asking", "hostile"):
        figures = found[name]
        assert (figures["jobs"], figures["starts"], figures["missed"]) == (20, 20, 0)
        assert 0 < figures["late_p50_ms"] <= figures["late_p99_ms"] <= figures["late_most_ms"]
    for name in ("asking", "hostile"):
        assert found["ratio"][name]["late_p99"] > 0
        assert set(found[name]["answers"]) == {"200", "202"}
        assert found[name]["answer_p95_ms"] > 0
    assert found["hostile"]["streams"] == {"200": 10}
    assert found["hostile"]["hints"] > 0
    assert found["hostile"]["large_bodies"]
    assert "201" not in found["hostile"]["large_bodies"]
