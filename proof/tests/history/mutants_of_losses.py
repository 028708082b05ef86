"""More ways to spoil a legal history: losses, endings, retries and restarts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from foliot.model.attempt import AttemptState, Outcome, Trigger
from foliot.model.policy import OnLost
from foliot_proof.history import Code, Finish
from history.legal import seconds
from history.scene import Found, Scene, after, moved, mutation


@mutation
def drop_a_restart(scene: Scene) -> Found:
    run = scene.pick(a for a in scene.ended(Outcome.LOST) if scene.follower(a) and scene.must_be_followed(a))
    return run and (scene.cutting_after(run).history, {Code.ORPHAN_DROPPED})


@mutation
def drop_a_retry(scene: Scene) -> Found:
    failed = (a for a in scene.ended(Outcome.FAILED) if scene.follower(a))
    run = scene.pick(a for a in failed if scene.must_be_followed(a))
    return run and (scene.cutting_after(run).history, {Code.RETRY_DROPPED})


@mutation
def lose_without_a_cause(scene: Scene) -> Found:
    run = scene.pick(scene.calm(120))
    if run is None or run.finished_at is None:
        return None
    lost = run._replace(outcome=Outcome.LOST, finished_at=run.finished_at + seconds(60))
    return scene.changing(run, lost).history, {Code.UNEXPLAINED_LOSS}


@mutation
def leave_a_loss_open(scene: Scene) -> Found:
    run = scene.pick(scene.ended(Outcome.LOST))
    if run is None:
        return None
    open_ = run._replace(state=AttemptState.RUNNING, outcome=None, finished_at=None)
    return scene.cutting_after(run).changing(run, open_).history, {Code.STUCK}


@mutation
def leave_an_end_unrecorded(scene: Scene) -> Found:
    run = scene.pick(scene.calm())
    if run is None:
        return None
    open_ = run._replace(state=AttemptState.RUNNING, outcome=None, finished_at=None)
    return scene.without(run, lines=False).adding(open_, is_seen=False).history, {Code.STUCK}


@mutation
def leave_it_pending(scene: Scene) -> Found:
    run = scene.pick(scene.calm())
    if run is None:
        return None
    pending = run._replace(
        state=AttemptState.PENDING, outcome=None, finished_at=None, claimed_at=None, node=None, token=0,
        wake_at=run.scheduled_for,
    )  # fmt: skip
    return scene.without(run).adding(pending, is_seen=False).history, {Code.STUCK}


@mutation
def find_a_loss_too_late(scene: Scene) -> Found:
    found = []
    for a in scene.ended(Outcome.LOST):
        begin = a.finished_at or a.scheduled_for
        end = begin + seconds(120)
        is_up = not any(
            f.begin < end and (f.end or end) > begin for f in scene.history.faults if f.host != a.node
        )
        if is_up and not scene.follower(a):
            found.append(a)
    run = scene.pick(found)
    if run is None or run.finished_at is None:
        return None
    return scene.changing(run, run._replace(finished_at=run.finished_at + seconds(90))).history, {Code.STUCK}


@mutation
def accept_a_stale_finish(scene: Scene) -> Found:
    run = scene.pick(a for a in scene.ended(Outcome.LOST) if scene.follower(a))
    return run and (
        scene.changing(run, run._replace(outcome=Outcome.SUCCEEDED)).history,
        {Code.STALE_FINISH},
    )


@mutation
def accept_a_finish_of_another(scene: Scene) -> Found:
    run = scene.pick(scene.ended(Outcome.SUCCEEDED))
    if run is None or run.finished_at is None:
        return None
    finish = Finish(run.job, run.run_key, run.number, run.token - 1, "b", run.finished_at)
    return replace(scene.history, finishes=(*scene.history.finishes, finish)), {Code.STALE_FINISH}


@mutation
def accept_a_finish_of_what_was_lost(scene: Scene) -> Found:
    run = scene.pick(scene.ended(Outcome.LOST))
    if run is None or run.finished_at is None:
        return None
    finish = Finish(run.job, run.run_key, run.number, run.token, run.node or "", run.finished_at)
    return replace(scene.history, finishes=(*scene.history.finishes, finish)), {Code.STALE_FINISH}


@mutation
def claim_the_next_before_the_end(scene: Scene) -> Found:
    run = scene.pick(a for a in scene.history.attempts if (f := scene.follower(a)) and f.claimed_at)
    again = scene.follower(run) if run else None
    if run is None or again is None or again.claimed_at is None or run.finished_at is None:
        return None
    by = (run.finished_at - again.claimed_at).total_seconds() - 1
    return scene.changing(again, moved(again, by)).history, {Code.DUP_CLAIM}


@mutation
def retry_at_once(scene: Scene) -> Found:
    run = scene.pick(a for a in scene.history.attempts if a.trigger is Trigger.RETRY and a.claimed_at)
    return run and (scene.changing(run, moved(run, -10)).history, {Code.EARLY})


@mutation
def retry_after_a_newer_occurrence(scene: Scene) -> Found:
    found = []
    for a in scene.history.attempts:
        if a.trigger is not Trigger.RETRY or not a.claimed_at or not scene.policy(a.job).retry.is_preempted:
            continue
        newer = scene.slots_between(a.job, a.claimed_at, a.claimed_at + timedelta(minutes=16))
        if newer and scene.is_settled(a.job, a.claimed_at, newer[0]):
            found.append((a, (newer[0] - a.claimed_at).total_seconds() + 2))
    if not found:
        return None
    again, by = scene.rng.choice(found)
    return scene.changing(again, moved(again, by)).history, {Code.RETRY_NOT_PREEMPTED}


@mutation
def retry_what_did_not_fail(scene: Scene) -> Found:
    lost = [a for a in scene.ended(Outcome.LOST) if scene.policy(a.job).on_lost is OnLost.GIVE_UP]
    run = scene.pick(a for a in lost if not scene.follower(a))
    if run is None:
        return None
    again = after(run)._replace(number=run.number + 1, trigger=Trigger.RETRY, token=scene.next_token())
    return scene.adding(again).history, {Code.STALE_FINISH, Code.FABRICATED}
