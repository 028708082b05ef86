"""Lives that end at every step: nothing is missed, doubled or forgotten; and the judge would tell."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.state import Skip
from foliot_proof.kill_loop.judge import Effect, find_problems
from foliot_proof.kill_loop.life import BEGIN, STEP, STEPS, jobs
from foliot_proof.kill_loop.revision import FILLERS, revision_problems
from foliot_proof.stores import KINDS
from real_mongodb import shared_mongodb_url
from real_postgres import shared_url
from real_redis import redis_url_of


def kill_loop(folder: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    told = folder / "told.json"
    command = [
        sys.executable,
        "-m",
        "foliot_proof.kill_loop",
        "--folder",
        str(folder),
        "--json",
        str(told),
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 - our own
    assert told.exists(), done.stderr
    return done.returncode, json.loads(told.read_text()), done.stdout


def test_killed_at_every_step_a_file_keeps_its_promises(tmp_path: Path) -> None:
    code, facts, said = kill_loop(tmp_path, "--kills", "200")
    assert (code, facts["problems"]) == (0, 0), said
    assert facts["steps"].keys() >= set(STEPS), "each step was died at"
    assert facts["lost"] > 50, "and deaths were felt"


def test_killed_at_every_step_a_server_keeps_its_promises(tmp_path: Path) -> None:
    shared_url()  # who has no server, skips
    code, facts, said = kill_loop(tmp_path, "--kills", "60", "--store", "postgres")
    assert (code, facts["problems"]) == (0, 0), said
    assert facts["steps"].keys() >= set(STEPS)


@pytest.mark.parametrize(("kind", "kills"), [("redis", 240), ("valkey", 40)])
def test_killed_before_and_after_every_script_a_server_keeps_its_promises(
    tmp_path: Path, kind: str, kills: int
) -> None:
    redis_url_of(kind)  # who has no server, skips
    code, facts, said = kill_loop(tmp_path, "--kills", str(kills), "--store", kind)
    assert (code, facts["problems"]) == (0, 0), said
    steps = {*STEPS, *KINDS[kind].loop_steps}
    assert kind == "valkey" or facts["steps"].keys() >= steps, "each step was died at"
    assert len(facts["steps"]) > len(STEPS), "and some of every kind of script"


def test_killed_before_and_after_every_write_a_server_without_transactions_keeps_its_promises(
    tmp_path: Path,
) -> None:
    shared_mongodb_url()  # who has no server, skips
    code, facts, said = kill_loop(tmp_path, "--kills", "150", "--store", "mongodb")
    assert (code, facts["problems"]) == (0, 0), said
    assert facts["steps"].keys() >= {*STEPS, *KINDS["mongodb"].loop_steps}, "each step was died at"


@pytest.mark.parametrize("bug", ["answer_before_commit", "start_twice"])
def test_a_planted_bug_is_found(tmp_path: Path, bug: str) -> None:
    code, _, said = kill_loop(tmp_path, "--kills", "20", "--bug", bug)
    assert code == 1, said
    assert "EFFECT" in said


# -- the judge -------------------------------------------------------------------------------------

LIVES = 3


def sound() -> tuple[list[Attempt], list[Skip], list[Effect]]:
    """What three lives may leave: a lost run and its second attempt, one catch-up for two, and a skip."""
    attempts, skips, effects = [], [], []
    for job in jobs():
        first = Attempt(
            job.key, 1, Trigger.SCHEDULE, AttemptState.ENDED, BEGIN + STEP, node="one", token=1,
            claimed_at=BEGIN + STEP, outcome=Outcome.LOST,
        )  # fmt: skip
        again = first._replace(
            number=2, trigger=Trigger.LOST, token=2, node="two", claimed_at=BEGIN + 2 * STEP,
            outcome=Outcome.SUCCEEDED,
        )  # fmt: skip
        last = again._replace(
            number=1, trigger=Trigger.SCHEDULE, token=3, scheduled_for=BEGIN + 3 * STEP,
            claimed_at=BEGIN + 3 * STEP,
        )  # fmt: skip
        attempts += [first, again, last]
        skips.append(Skip(job.key, BEGIN + 2 * STEP, BEGIN + 2 * STEP, "the run before was still open"))
        effects += [Effect(a.run_key, a.number, a.token, a.node or "") for a in (again, last)]
    return attempts, skips, effects


def problems(change: Callable[[list[Attempt], list[Skip], list[Effect]], object]) -> list[str]:
    history = sound()
    change(*history)
    return [problem.split()[0] for problem in find_problems(*history, LIVES)]


def replace_first(rows: list[Any], **facts: Any) -> None:
    rows[0] = rows[0]._replace(**facts)


def replace_last(rows: list[Any], **facts: Any) -> None:
    rows[-1] = rows[-1]._replace(**facts)


def test_a_sound_history_has_no_problem() -> None:
    assert problems(lambda *_: None) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda attempts, *_: attempts.pop(0), "MISSED"),
        (lambda _, skips, __: skips.pop(), "MISSED"),
        (lambda attempts, *_: replace_last(attempts, covers_from=BEGIN + 2 * STEP), "DUP_SLOT"),
        (lambda _, skips, __: replace_last(skips, last=BEGIN + 3 * STEP), "DUP_SLOT"),
        (lambda attempts, *_: replace_last(attempts, state=AttemptState.RUNNING), "STUCK"),
        (lambda attempts, *_: replace_first(attempts, token=2), "DUP_CLAIM"),
        (lambda attempts, *_: replace_first(attempts, token=9), "TOKEN_NOT_MONOTONIC"),
        (lambda *history: history[2].append(history[2][0]), "DUP_EFFECT"),
        (lambda *history: history[2].append(Effect("ghost", 1, 1, "one")), "UNRECORDED_EFFECT"),
        (lambda *history: replace_first(history[2], token=7), "TOKEN_MISMATCH"),
        (lambda *history: history[2].pop(), "FABRICATED"),
    ],
)
def test_the_judge_tells(change: Callable[..., object], code: str) -> None:
    assert code in problems(change)


@pytest.mark.parametrize(
    ("revision", "versions", "lines", "code"),
    [
        ("r2", {2: FILLERS}, ["asked 2", "done 2"], ""),
        ("r1", {1: FILLERS}, ["asked 1", "done 1", "asked 2"], ""),
        ("r2", {2: FILLERS}, ["asked 1", "done 1", "asked 2"], ""),
        ("r2", {2: FILLERS - 1}, ["asked 2", "done 2"], "TORN"),
        ("r2", {1: 10, 2: FILLERS - 10}, ["asked 2", "done 2"], "TORN"),
        ("r1", {2: FILLERS}, ["asked 1", "done 1", "asked 2"], "TORN"),
        ("r2", {2: FILLERS}, ["asked 1", "torn once", "asked 2"], "TORN"),
        ("r1", {1: FILLERS}, ["asked 1", "done 1", "asked 2", "done 2"], "REVISION_LOST"),
    ],
)
def test_a_revision_is_there_as_a_whole_or_not_at_all(
    revision: str, versions: dict[int, int], lines: list[str], code: str
) -> None:
    found = [problem.split()[0] for problem in revision_problems((revision, Counter(versions)), lines)]
    assert found == ([code] if code else [])
