"""Nodes that die between a failure and its message: no alert is lost, and each has one id."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot_proof.alert_loop.bug import BUGS
from foliot_proof.alert_loop.judge import find_problems, owed_alerts
from foliot_proof.alert_loop.life import CHANNELS, STEPS, jobs
from foliot_proof.kill_loop.life import BEGIN, STEP
from real_postgres import shared_url
from real_redis import redis_url_of

KEY = jobs()[0].key


def alert_loop(folder: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    told = folder / "told.json"
    command = [sys.executable, "-m", "foliot_proof.alert_loop", "--folder", str(folder), "--json", str(told)]
    done = subprocess.run(  # noqa: S603 - our own
        [*command, *options], capture_output=True, text=True, check=False, timeout=280
    )
    assert told.exists(), done.stderr
    return done.returncode, json.loads(told.read_text()), done.stdout


@pytest.mark.req("OWN-02")
@pytest.mark.parametrize("store", ["sqlite", "postgres", "redis"])
def test_no_kill_between_a_failure_and_its_message_loses_an_alert(store: str, tmp_path: Path) -> None:
    """`python -m foliot_proof.alert_loop --kills 300` looks further."""
    if store == "postgres":
        shared_url()  # without a server, the test is skipped
    elif store == "redis":
        redis_url_of(store)
    code, facts, said = alert_loop(tmp_path, "--kills", str(len(STEPS)), "--store", store)
    assert (code, facts["problems"]) == (0, 0), said
    assert facts["lost"] > 2, "the kills were felt"
    assert facts["episodes"] > 3, "there was something to tell"


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(tmp_path: Path, bug: str) -> None:
    code, _, said = alert_loop(tmp_path, "--kills", str(len(STEPS)), "--bug", bug)
    assert code == 1, said
    assert "PROBLEM ALERT_" in said


# -- the judge ---------------------------------------------------------------------------------------


def attempt(occurrence: int, outcome: Outcome, number: int = 1) -> Attempt:
    at = BEGIN + occurrence * STEP
    return Attempt(KEY, number, Trigger.SCHEDULE, AttemptState.ENDED, at, outcome=outcome)


ATTEMPTS = [
    attempt(1, Outcome.FAILED),
    attempt(2, Outcome.LOST),
    attempt(2, Outcome.FAILED, 2),
    attempt(3, Outcome.SUCCEEDED),
    attempt(4, Outcome.SUCCEEDED),
    attempt(5, Outcome.LOST),
]


def test_episodes_are_computed_from_the_attempts() -> None:
    assert list(owed_alerts(reversed(ATTEMPTS))) == [
        ("failure", f"{ATTEMPTS[0].run_key}#1"),
        ("recovery", f"{ATTEMPTS[3].run_key}#1"),
        ("failure", f"{ATTEMPTS[5].run_key}#1"),
    ]


def received() -> list[dict[str, Any]]:
    """What both channels receive if all goes well, and one message a second time."""
    found = [
        {
            "job": KEY, "kind": kind, "run": name[:-2], "attempt": int(name[-1]), "id": f"id-{name}",
            "channel": channel,
        }
        for kind, name in owed_alerts(ATTEMPTS)
        for channel in CHANNELS
    ]  # fmt: skip
    return [*found, found[0]]


@pytest.mark.parametrize(
    ("spoil", "codes"),
    [
        (lambda _: None, set()),
        (lambda alerts: alerts.pop(2), {"ALERT_LOST"}),
        (lambda alerts: alerts[-1].update(id="another"), {"ALERT_RENAMED"}),
        (lambda alerts: alerts.append({**alerts[0], "attempt": 7}), {"ALERT_INVENTED"}),
        (lambda alerts: alerts.append({**alerts[0], "kind": "recovery"}), {"ALERT_INVENTED"}),
    ],
)
def test_the_judge_tells(spoil: Callable[[list[dict[str, Any]]], object], codes: set[str]) -> None:
    alerts = [dict(alert) for alert in received()]
    spoil(alerts)
    problems = find_problems({KEY: list(owed_alerts(ATTEMPTS))}, alerts)
    assert {problem.split()[0] for problem in problems} == codes
