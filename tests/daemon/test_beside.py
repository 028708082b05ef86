"""Two of each kind beside each other on one store: no occurrence is doubled, whatever kinds there are."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from daemon.harness import Daemons, Host, eventually
from daemon.repositories import Repository, job
from foliot.testing.servers import MissingServerError, redis_server
from programs import Program
from real_postgres import do_without

pytestmark = pytest.mark.prove

_HEAD = """
import asyncio, signal, sys
url, witness = sys.argv[1:]

def note(*words):
    with open(witness, "a") as file:
        file.write(" ".join(map(str, words)) + "\\n")
"""
_PROGRAMS = {
    "app": """
from foliot import Foliot

app = Foliot(url)

@app.job("@every 1s")
async def tick(run):
    note("app", run.key)

asyncio.run(app.run())
""",
    "beat": """
from foliot.doors.beat import CronScheduler, Registry, Schedule

class Queue:
    async def enqueue(self, job):
        note("beat", job.metadata["scheduled_for"])

registry = Registry()
registry.must_register(Schedule("tick", cron="@every 1s", job="say"))

async def main():
    running = asyncio.ensure_future(CronScheduler(registry, Queue(), url).start())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    await asyncio.wait([running])

asyncio.run(main())
""",
    "declarative": """
from datetime import UTC, datetime, timedelta
from foliot.doors.declarative import Scheduler

async def tick():
    note("declarative", datetime.now(UTC).strftime("%H:%M"))

async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    scheduler = Scheduler(url)
    await scheduler.initialize([("tick", "* * * * *", tick, timedelta(minutes=5))])
    await stop.wait()
    await scheduler.stop()

asyncio.run(main())
""",
}
_WANTED = {"serve": 4, "app": 4, "beat": 4, "declarative": 1}


@pytest.mark.req("OWN-22")
def test_two_of_each_kind_on_one_store_double_no_occurrence(
    daemons: Daemons, repository: Repository, host: Host, tmp_path: Path
) -> None:
    witness = host.witness / "all"
    repository.push(tick=job(f"echo serve $FOLIOT_KEY >> {witness}"))

    def seen() -> Counter[str]:
        return Counter(line.split()[0] for line in host.lines("all"))

    try:
        with redis_server("redis") as server, ExitStack() as stack:
            for _ in range(2):
                daemons.serve(repository.remote, "-i", "1", "--store", server.url)
                for text in _PROGRAMS.values():
                    words = (sys.executable, "-c", _HEAD + text, server.url, str(witness))
                    stack.enter_context(Program(tmp_path, *words))
            eventually(
                lambda: all(seen()[kind] >= count for kind, count in _WANTED.items()), "runs of each kind"
            )
            for daemon in daemons.started:
                assert daemon.stop() == 0
    except MissingServerError as error:
        do_without(error)
    assert seen().keys() == _WANTED.keys()
    assert [line for line, count in Counter(host.lines("all")).items() if count > 1] == []
