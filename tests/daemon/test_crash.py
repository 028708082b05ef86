"""kill -9 at any moment: nothing survives, files are old or new, and every occurrence is accounted for."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

import pytest

from daemon.harness import Daemons, Host, eventually
from daemon.repositories import Repository, job
from foliot.clock import SystemClock
from foliot.protocols import RunQuery

pytestmark = pytest.mark.prove

KILLS = 10
JOBS = 8
SECOND = timedelta(seconds=1)
clock = SystemClock()


def turns_on_disk(host: Host) -> set[str]:
    """Which revisions the names of jobs lead to."""
    return {(link / "turn").read_text() for link in host.cache().glob("ops-*@job*")}


@pytest.mark.parametrize("while_it", ["starts", "pulls"])
def test_a_daemon_that_is_killed_again_and_again_leaves_nothing_behind_and_loses_nothing(
    daemons: Daemons, repository: Repository, host: Host, while_it: str
) -> None:
    seed = random.randrange(1 << 32)  # noqa: S311 - a moment to kill, no secret
    dice = random.Random(seed)  # noqa: S311 - the same
    tell = f"echo $FOLIOT_RUN_ID $(cat turn) >> {host.witness}/$FOLIOT_JOB; setsid sleep 77 & sleep 78"
    jobs = {f"job{n}": job(tell, concurrency="replace", timeout="1m") for n in range(JOBS)}
    files = {f"data/file{n}": "x" * 1000 for n in range(100)}
    repository.push({"turn": "0\n", **files}, **jobs)
    daemons.rollcron(repository.remote).kill()
    daemon = daemons.start("rollcron", repository.remote)

    for turn in range(1, KILLS + 1):
        repository.push({"turn": f"{turn}\n"}, **jobs)
        if while_it == "pulls":
            daemon.ready()
            daemon.pull()
        clock.sleep(dice.random())
        daemon.kill()
        assert host.nobody_is_left(), seed
        assert len(turns_on_disk(host)) == 1, (seed, turns_on_disk(host))
        daemon = daemons.start("rollcron", repository.remote)

    daemon.ready()
    eventually(lambda: turns_on_disk(host) == {f"{KILLS}\n"})
    host.wait_for_lines("job0", len(host.lines("job0")) + 1)
    daemon.send_twice()
    assert daemon.wait() == 0, seed
    assert host.nobody_is_left()
    host.foliot("store", "check")
    for name in jobs:
        _check_account(host, name, seed)
    (side,) = host.cache().glob(".ops-*")
    assert not list((side / "work").glob("*/jobs"))  # nothing half made is left


def _check_account(host: Host, name: str, seed: int) -> None:
    """Each occurrence ran once, or was skipped with a reason; nothing is open that nobody holds."""
    begun = Counter(line.split()[0] for line in host.lines(name))
    assert set(begun.values()) <= {1}, (seed, begun)
    runs = host.runs(name)
    claimed = {f"{run.run_key}#{run.number}": run for run in runs if run.claimed_at}
    assert set(begun) <= set(claimed), seed
    assert not any(run.is_running for run in runs), seed  # a successor may be pending, for the next daemon
    key = host.jobs()[name].key
    served = {run.scheduled_for for run in host.ask(lambda store: store.runs(RunQuery(job=key, limit=1000)))}
    for skip in host.skips(name):
        moment = skip.first
        while moment <= skip.last:
            served.add(moment)
            moment += SECOND
    first, last = min(served), max(served)
    missing = {first + n * SECOND for n in range(int((last - first) / SECOND))} - served
    assert not missing, (seed, name, sorted(missing))
