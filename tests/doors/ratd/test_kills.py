"""Three processes on one PostgreSQL are killed with -9, one after the other; all is read over HTTP."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from programs import Program, eventually
from real_postgres import shared_url

pytestmark = pytest.mark.prove
INSTANCE = Path(__file__).with_name("instance.py")
TOKEN = "a-token-of-forty-characters-for-the-tests"  # noqa: S105 - of the tests
EVERY = timedelta(seconds=2)
SCHEDULES, KILLS = 8, 6


class Instances:
    """Three of them; one that is killed is started again."""

    def __init__(self, folder: Path, store: str) -> None:
        self._folder, self._store = folder, store
        self._stack = ExitStack()
        self._programs: list[Program] = []
        self._ports: list[int] = []
        for _ in range(3):
            program, port = self._start()
            self._programs.append(program)
            self._ports.append(port)

    def _start(self) -> tuple[Program, int]:
        program = Program(self._folder, sys.executable, str(INSTANCE), self._store)
        self._stack.enter_context(program)
        return program, int(program.read_until("serves on").rpartition(" ")[2])

    def replace(self, number: int) -> None:
        """Kill one, and start another."""
        killed = self._programs[number]
        killed.process.send_signal(signal.SIGKILL)
        killed.process.wait(60)
        self._programs[number], self._ports[number] = self._start()

    def ask(self, number: int, verb: str, path: str, **given: Any) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        url = f"http://127.0.0.1:{self._ports[number]}/api/v1{path}"
        answer = httpx.request(verb, url, headers=headers, timeout=60, **given)
        assert answer.is_success, answer.text
        return answer.json()

    def stop(self) -> None:
        """End them in order."""
        for program in self._programs:
            program.process.send_signal(signal.SIGTERM)
        for program in self._programs:
            program.read_until("stopped")

    def close(self) -> None:
        self._stack.close()


@pytest.fixture
def instances(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Instances]:
    monkeypatch.setenv("FOLIOT_API_TOKEN", TOKEN)
    made = Instances(tmp_path, f"{shared_url()}?schema=ratd_{uuid4().hex}")
    yield made
    made.close()


def all_runs(instances: Instances, number: int, job: str) -> list[Any]:
    runs: list[Any] = []
    query: dict[str, Any] = {"job": job, "limit": 200}
    while True:
        page = instances.ask(number, "GET", "/runs", params=query)
        runs += page["runs"]
        if page["next"] is None:
            return sorted(runs, key=lambda run: str(run["scheduled_for"]))
        query["cursor"] = page["next"]


@pytest.mark.req("RAT-12", "RAT-16")
def test_after_kills_no_occurrence_has_run_twice_and_none_is_missing(instances: Instances) -> None:
    action = {"kind": "sql", "payload": {}}
    schedules = []
    for number in range(SCHEDULES):
        names = {"namespace": "shop", "layer": "gold", "name": f"p{number}", "action": action}
        pipeline = instances.ask(number % 3, "POST", "/pipelines", json=names)["id"]
        body = {"pipeline_id": pipeline, "cron": f"@every {EVERY.seconds}s"}
        schedules.append(instances.ask(number % 3, "POST", "/schedules", json=body))

    for kill in range(KILLS):
        one = f"/schedules/{schedules[0]['id']}"
        before = instances.ask((kill + 1) % 3, "GET", one)["last_run_id"]
        instances.replace(kill % 3)
        eventually(partial(_has_moved, instances, (kill + 1) % 3, one, before))

    for schedule in schedules:
        instances.ask(0, "PATCH", f"/schedules/{schedule['id']}", json={"enabled": False})
    eventually(lambda: _are_terminal(instances, schedules))
    for schedule in schedules:
        runs = all_runs(instances, 2, f"api/{schedule['id']}")
        keys = [run["key"] for run in runs]
        assert len(keys) == len(set(keys)) >= KILLS
        assert {run["status"] for run in runs} == {"success"}
        assert {run["trigger"] for run in runs} == {f"schedule:@every {EVERY.seconds}s"}
        first = datetime.fromisoformat(schedule["next_run_at"])
        assert _begin(runs[0]) == first
        for one, following in pairwise(runs):
            assert _begin(following) - _moment(one["scheduled_for"]) == EVERY, "no gap, and no overlap"
        for run in runs:
            whole = instances.ask(1, "GET", f"/runs/{run['id']}")
            ends = [attempt["outcome"] for attempt in whole["attempts"]]
            assert ends[-1] == "succeeded", ends
            assert set(ends[:-1]) <= {"lost"}, ends
    instances.stop()


def _has_moved(instances: Instances, number: int, schedule: str, before: str | None) -> bool:
    return bool(instances.ask(number, "GET", schedule)["last_run_id"] != before)


def _are_terminal(instances: Instances, schedules: list[Any]) -> bool:
    jobs = {f"api/{schedule['id']}" for schedule in schedules}
    open_runs = [
        run
        for status in ("pending", "running")
        for run in instances.ask(1, "GET", "/runs", params={"status": status, "limit": 200})["runs"]
    ]
    return not any(run["job"] in jobs for run in open_runs)


def _begin(run: Any) -> datetime:
    return _moment(run["covers_from"] or run["scheduled_for"])


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
