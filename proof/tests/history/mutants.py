"""Ways to spoil a legal history: each makes one lie, and says by which codes it is to be found out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.policy import MisfireMode, OverlapMode
from foliot.model.state import Skip
from foliot_proof.history import Code, History, Operation
from history import mutants_of_losses  # noqa: F401 - notes its mutations
from history.legal import seconds
from history.scene import MUTATIONS, Found, Scene, after, lines_of, moved, mutation

__all__ = ["MUTATIONS", "Spoiled", "spoil"]


class Spoiled(NamedTuple):
    """A mutant: what was done, the history it made, and the codes that fit."""

    name: str
    history: History
    codes: set[Code]


def spoil(history: History, seed: int) -> Iterator[Spoiled]:
    """Every mutation that a history has a place for, once each."""
    for name, mutate in MUTATIONS.items():
        found = mutate(Scene(history, random.Random(f"{name} {seed}")))  # noqa: S311 - to be repeated
        if found is not None:
            yield Spoiled(name, *found)


# -- runs that are missing, or too many ------------------------------------------------------------


@mutation
def delete_a_run(scene: Scene) -> Found:
    run = scene.pick(scene.calm())
    return run and (scene.without(run).history, {Code.MISSED})


@mutation
def delete_its_row(scene: Scene) -> Found:
    run = scene.pick(scene.ended(Outcome.SUCCEEDED))
    return run and (scene.without(run, lines=False).history, {Code.UNRECORDED_EFFECT})


@mutation
def start_one_claim_twice(scene: Scene) -> Found:
    run = scene.pick(scene.calm())
    return run and (scene.seeing(*lines_of(after(run))).history, {Code.DUP_EFFECT})


@mutation
def claim_one_attempt_twice(scene: Scene) -> Found:
    run = scene.pick(scene.calm())
    if run is None:
        return None
    again = after(run)._replace(token=scene.next_token())
    return scene.seeing(*lines_of(again)).history, {Code.DUP_CLAIM}


@mutation
def keep_two_rows_of_one_attempt(scene: Scene) -> Found:
    run = scene.pick(a for a in scene.history.attempts if a.claimed_at)
    if run is None:
        return None
    return scene.adding(run._replace(token=scene.next_token()), is_seen=False).history, {Code.DUP_CLAIM}


@mutation
def run_for_no_occurrence(scene: Scene) -> Found:
    run = scene.pick(scene.calm())
    if run is None:
        return None
    off = run._replace(scheduled_for=run.scheduled_for - seconds(7))
    return scene.changing(run, off).history, {Code.FABRICATED, Code.MISSED}


@mutation
def run_while_paused(scene: Scene) -> Found:
    skips = [s for s in scene.history.skips if s.reason == "the job was paused"]
    return (scene.adding(_run_of(scene, skips[0])).history, {Code.FABRICATED}) if skips else None


def _run_of(scene: Scene, skip: Skip) -> Attempt:
    return Attempt(
        skip.job, 1, Trigger.SCHEDULE, AttemptState.ENDED, skip.first, node="a", token=scene.next_token(),
        claimed_at=skip.first, finished_at=skip.first + seconds(1), outcome=Outcome.SUCCEEDED,
    )  # fmt: skip


# -- skips -----------------------------------------------------------------------------------------


@mutation
def remove_a_skip(scene: Scene) -> Found:
    pauses = [c for c in scene.history.changes if c.what is Operation.PAUSE]
    found = [
        skip
        for skip in scene.history.skips
        if skip.reason in ("missed", "a run was still open")
        and all(c.job != skip.job or c.asked_at < skip.first for c in pauses)
    ]
    if not found:
        return None
    gone = scene.rng.choice(found)
    return replace(scene.history, skips=tuple(s for s in scene.history.skips if s != gone)), {Code.MISSED}


@mutation
def skip_what_ran(scene: Scene) -> Found:
    run = scene.pick(a for a in scene.history.attempts if a.number == 1 and a.claimed_at)
    if run is None:
        return None
    skip = Skip(run.job, run.scheduled_for, run.scheduled_for, "told")
    return replace(scene.history, skips=(*scene.history.skips, skip)), {Code.SKIP_AND_RUN}


@mutation
def skip_instead_of_a_run(scene: Scene) -> Found:
    run = scene.pick(scene.calm())
    if run is None:
        return None
    skip = Skip(run.job, run.scheduled_for, run.scheduled_for, "missed by more than its grace")
    history = scene.without(run).history
    return replace(history, skips=(*history.skips, skip)), {Code.WRONG_SKIP}


# -- witnesses and tokens --------------------------------------------------------------------------


@mutation
def fabricate_a_success(scene: Scene) -> Found:
    run = scene.pick(scene.ended(Outcome.SUCCEEDED))
    return run and (scene.without(run, rows=False).history, {Code.FABRICATED})


@mutation
def fabricate_a_run_of_what_was_skipped(scene: Scene) -> Found:
    skips = [s for s in scene.history.skips if s.reason != "the job was paused"]
    if not skips:
        return None
    run = _run_of(scene, scene.rng.choice(skips))
    return scene.adding(run, is_seen=False).history, {Code.FABRICATED, Code.SKIP_AND_RUN}


@mutation
def witness_another_token(scene: Scene) -> Found:
    run = scene.pick(scene.ended(Outcome.SUCCEEDED))
    if run is None:
        return None
    lines = lines_of(run._replace(token=run.token + 1))
    return scene.without(run, rows=False).seeing(*lines).history, {Code.TOKEN_MISMATCH}


@mutation
def witness_another_node(scene: Scene) -> Found:
    run = scene.pick(scene.ended(Outcome.SUCCEEDED))
    if run is None:
        return None
    lines = lines_of(run._replace(node="c" if run.node == "a" else "a"))
    return scene.without(run, rows=False).seeing(*lines).history, {Code.TOKEN_MISMATCH}


@mutation
def swap_tokens(scene: Scene) -> Found:
    one = scene.pick(scene.ended(Outcome.SUCCEEDED))
    others = scene.of_job(one.job) if one else []
    two = scene.pick(a for a in others if a.claimed_at and one and abs(_claimed(a) - _claimed(one)) > 1)
    if one is None or two is None:
        return None
    swapped = one._replace(token=two.token), two._replace(token=one.token)
    return scene.changing(one, swapped[0]).changing(two, swapped[1]).history, {Code.TOKEN_NOT_MONOTONIC}


def _claimed(attempt: Attempt) -> float:
    return (attempt.claimed_at or attempt.scheduled_for).timestamp()


# -- time ------------------------------------------------------------------------------------------


@mutation
def start_early(scene: Scene) -> Found:
    run = scene.pick(scene.calm())
    return run and (scene.changing(run, moved(run, -20)).history, {Code.EARLY})


@mutation
def start_late(scene: Scene) -> Found:
    run = scene.pick(scene.calm(60))
    return run and (scene.changing(run, moved(run, 25)).history, {Code.LATE})


@mutation
def start_long_after_the_claim(scene: Scene) -> Found:
    run = scene.pick(scene.calm(60))
    if run is None:
        return None
    return scene.without(run, rows=False).seeing(*lines_of(moved(run, 25))).history, {Code.LATE}


@mutation
def run_into_the_next(scene: Scene) -> Found:
    found = []
    for job in sorted({a.job for a in scene.history.attempts}):
        if scene.policy(job).overlap.mode is not OverlapMode.PARALLEL:
            found += [pair for pair in pairwise(scene.of_job(job)) if pair[0].outcome is Outcome.SUCCEEDED]
    if not found:
        return None
    run, following = scene.rng.choice(found)
    longer = run._replace(finished_at=(following.claimed_at or run.scheduled_for) + seconds(1))
    return scene.changing(run, longer).history, {Code.OVERLAP}


# -- catching up -----------------------------------------------------------------------------------


@mutation
def catch_up_late(scene: Scene) -> Found:
    found = []
    for a in scene.ended(Outcome.SUCCEEDED):
        is_catch_up = a.number == 1 and (a.covers_from is not None or a.trigger is Trigger.CATCH_UP)
        begin, soon = _at(a), _at(a) + seconds(60)
        falls = any(begin < fault.begin < soon and fault.host == a.node for fault in scene.history.faults)
        is_free = scene.is_idle(a.job, begin, begin + seconds(30), a) and scene.is_settled(a.job, begin, soon)
        if is_catch_up and not falls and is_free:
            found.append(a)
    run = scene.pick(found)
    return run and (scene.changing(run, moved(run, 50)).history, {Code.LATE_CATCHUP})


@mutation
def catch_up_twice(scene: Scene) -> Found:
    run = scene.pick(a for a in scene.history.attempts if a.covers_from and a.number == 1 and a.claimed_at)
    if run is None or run.covers_from is None:
        return None
    again = after(run)._replace(scheduled_for=run.covers_from, covers_from=None, token=scene.next_token())
    return scene.adding(again).history, {Code.DUP_SLOT}


@mutation
def catch_up_in_two_parts(scene: Scene) -> Found:
    covering = [a for a in scene.history.attempts if a.covers_from and a.number == 1 and a.claimed_at]
    run = scene.pick(a for a in covering if scene.is_idle(a.job, _at(a), _at(a), a))
    if run is None or run.covers_from is None:
        return None
    first = run._replace(
        scheduled_for=run.covers_from, covers_from=None, token=0, outcome=Outcome.SUCCEEDED,
        claimed_at=_at(run) - seconds(0.02), finished_at=_at(run) - seconds(0.01),
    )  # fmt: skip
    rest = run._replace(covers_from=run.covers_from + seconds(1))
    return scene.changing(run, rest).adding(first).history, {Code.DUP_SLOT, Code.WRONG_COALESCE}


def _at(attempt: Attempt) -> datetime:
    return attempt.claimed_at or attempt.scheduled_for


@mutation
def coalesce_what_could_run(scene: Scene) -> Found:
    pairs = []
    for run in scene.calm():
        later = [a for a in scene.of_job(run.job) if a.number == 1 and a.scheduled_for > run.scheduled_for]
        is_once = scene.policy(run.job).misfire.mode is MisfireMode.ONCE
        if is_once and later and later[0].covers_from is None:
            end = later[0].scheduled_for - seconds(1)
            pairs += [(run, later[0])] if not scene.slots_between(run.job, run.scheduled_for, end) else []
    if not pairs:
        return None
    run, following = scene.rng.choice(pairs)
    wider = following._replace(covers_from=run.scheduled_for)
    spoiled = scene.without(run).without(following, lines=False).adding(wider, is_seen=False)
    return spoiled.history, {Code.WRONG_COALESCE}
