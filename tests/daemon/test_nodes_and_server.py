"""Nodes on one PostgreSQL: what each may claim, a server that goes away, and a host whose clock is wrong."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import faketime
from daemon.harness import Daemon, eventually
from daemon.repositories import job
from daemon.site import Site, node_of, site_in
from foliot import Every, Foliot
from foliot.clock import SystemClock
from foliot.model.attempt import Attempt, Outcome
from foliot.testing.servers import MissingServerError, PostgresServer, postgres_server
from foliot.testing.servers.process import free_port
from real_postgres import do_without
from stores.postgres.opening import fresh

pytestmark = pytest.mark.prove

clock = SystemClock()
SECOND = timedelta(seconds=1)
SHOP = """
import asyncio
from foliot import Foliot
from foliot.observability import Metrics

app = Foliot("memory://", name="shop", slots={slots}, lease="3s", metrics=Metrics())

@app.action
async def sell(run):
    await asyncio.sleep(0.5)
"""
BAKE = """
@app.action
async def bake(run):
    await asyncio.sleep(0.5)
"""


def fill(store: str, *names: str) -> None:
    """Schedule four jobs of each name: what is done in the oven is sold, too."""
    app = Foliot(store, name="shop")

    @app.action
    async def sell() -> None: ...

    @app.action
    async def bake() -> None: ...

    async def schedule() -> None:
        for name in names:
            action, queue = (bake if name == "bake" else sell), "oven" if name == "oven" else "default"
            for number in range(4):
                await app.schedule(f"{name}{number}", Every("1s"), action, queue=queue)

    asyncio.run(schedule())
    app.close()


@pytest.fixture
def site(tmp_path: Path, server_url: str) -> Iterator[Site]:
    with site_in(tmp_path, fresh(server_url)) as site:
        yield site


def shop(site: Site, number: int, program: str, *words: str, **variables: str) -> Daemon:
    """An application of a user's, on one of the hosts."""
    folder = site.hosts[number].folder / "program"
    folder.mkdir()
    (folder / "shop.py").write_text(program)
    return site.daemons(number).serve(
        "--app", "shop:app", "--store", site.store, *words, folder=folder, **variables
    )


def most_at_once(runs: list[Attempt]) -> int:
    """How many of these ran at the same time, by what their node has reported."""
    spans = [(run.started_at, run.finished_at) for run in runs if run.started_at and run.finished_at]
    return max(sum(begin <= at < end for begin, end in spans) for at, _ in spans)


def test_each_node_claims_only_what_it_has_the_action_the_queue_and_a_slot_for(site: Site) -> None:
    kiosk = shop(site, 0, SHOP.format(slots={"default": 3}))
    bakery = shop(site, 1, SHOP.format(slots={"default": 9, "oven": 2}) + BAKE)
    fill(site.store, "sell", "bake", "oven")
    for name in ("sell", "bake", "oven"):
        eventually(lambda name=name: len(_ended(site, name)) >= 8, f"enough of {name}")  # type: ignore[misc] # mypy: defaults
    site.wait_for_work_of(kiosk, bakery)
    assert (kiosk.stop(), bakery.stop()) == (0, 0)

    runs = {name: _ended(site, name) for name in ("sell", "bake", "oven")}
    first, second = node_of(kiosk), node_of(bakery)
    assert {run.node for run in runs["sell"]} == {first, second}
    assert {run.node for run in [*runs["bake"], *runs["oven"]]} == {second}
    assert most_at_once([run for run in runs["sell"] if run.node == first]) <= 3
    assert most_at_once(runs["oven"]) <= 2
    assert {run.outcome for each in runs.values() for run in each} == {Outcome.SUCCEEDED}


def _ended(site: Site, name: str) -> list[Attempt]:
    return [run for run in site.runs() if f"/{name}" in run.job and not run.is_open]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    try:
        with postgres_server() as server:
            yield server
    except MissingServerError as error:
        do_without(error)


def test_a_run_goes_on_while_the_server_is_away_and_its_end_is_told_when_it_is_back(
    server: PostgresServer, tmp_path: Path
) -> None:
    with site_in(tmp_path, server.url) as site:
        tell, wait = f">> {site.witness}/$FOLIOT_JOB", f"until test -e {tmp_path}/away; do sleep 0.1; done"
        site.repository.push(
            long=job(f"echo begun {tell}; {wait}; echo done {tell}", "1h", timeout="9m"), tick=job("true")
        )
        one, two = site.serve(0, lease=30), site.serve(1, lease=30)
        site.host.foliot("job", "trigger", "long")
        site.wait_for_lines("long")

        server.stop(immediate=True)
        (tmp_path / "away").touch()
        site.wait_for_lines("long", 2)
        for daemon in (one, two):
            daemon.wait_for("store_trouble")
        server.start()
        back_at = clock.now()

        for daemon in (one, two):
            daemon.wait_for("store_recovered")
        ended = eventually(lambda: [run for run in site.runs("long") if not run.is_open], "its end")
        assert [(run.number, run.outcome) for run in ended] == [(1, Outcome.SUCCEEDED)]
        assert not [*one.all("lease_lost"), *two.all("lease_lost")]
        claimed = eventually(lambda: _claims_after(site, back_at), "a claim")
        assert min(claimed) - back_at <= 5 * SECOND


def _claims_after(site: Site, instant: datetime) -> list[datetime]:
    claims = (run.claimed_at for run in site.runs("tick") if run.claimed_at is not None)
    return [at for at in claims if at > instant]


@pytest.mark.parametrize("hours", [1, -1])
def test_a_host_whose_clock_is_wrong_declares_runs_and_asks_in_time_and_everybody_is_told(
    site: Site, hours: int
) -> None:
    offset = site.hosts[1].folder / "offset"
    offset.write_text(f"{3600 * hours:+}")
    site.hosts[1].variables = faketime.environment(faketime.library(), offset)
    site.repository.push(tick=job("true"), asked=job("true", "24h"))
    port, began = free_port(), clock.now()
    words = ("--store", site.store, "--metrics", str(port))
    wrong = site.daemons(1).serve(site.repository.remote, *words)
    right = site.serve(0)

    assert wrong.wait_for("clock_skewed")["by"] == pytest.approx(3600 * hours, abs=5)
    assert not right.all("clock_skewed")
    site.wait_for_work_of(wrong)
    shown = {node["node"]: node["clock_skew"] for node in site.host.foliot("node", "list")["nodes"]}
    assert shown == {node_of(wrong): pytest.approx(3600 * hours, abs=5), node_of(right): 0}
    run = site.hosts[1].foliot("job", "trigger", "asked", "--wait")
    assert run["outcome"] == "succeeded"
    for attempt in site.runs():
        assert began - SECOND < attempt.scheduled_for <= clock.now() + SECOND
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        metrics = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line[0] != "#")
    assert float(metrics["foliot_clock_skew_seconds"]) == pytest.approx(3600 * hours, abs=5)
