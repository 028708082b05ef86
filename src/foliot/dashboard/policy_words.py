"""Policies in sentences, for people who have not read the reference."""

from __future__ import annotations

from collections.abc import Iterator

from foliot.model.job import Job
from foliot.model.policy import Expect, FirstSeen, MisfireMode, OnChange, OnLost, OverlapMode, Policy, Retry
from foliot.schedules.duration import format_duration

_FIRST = {
    FirstSeen.WAIT: "A new job waits for its next occurrence.",
    FirstSeen.IF_MATCHING: "A new job runs at once if the present minute matches its rule.",
    FirstSeen.NOW: "A new job runs at once, for its latest occurrence.",
}
_MISFIRE = {
    MisfireMode.SKIP: "is skipped",
    MisfireMode.ONCE: "is caught up: one run stands for all that were missed",
    MisfireMode.ALL: "is caught up, each by a run of its own, {limit} at most",
}
_OVERLAP = {
    OverlapMode.SKIP: "An occurrence is skipped while a run is open.",
    OverlapMode.WAIT: "An occurrence waits while a run is open; further ones are skipped.",
    OverlapMode.REPLACE: "An occurrence cancels a run that is open, and takes its place.",
    OverlapMode.PARALLEL: "Runs may overlap, {most} at a time.",
}
_LOST = {
    OnLost.RESTART: "If its node dies, the run starts again on another node.",
    OnLost.GIVE_UP: "If its node dies, the run is given up.",
}
_CHANGE = {
    OnChange.NOW: "A changed rule counts from the change on.",
    OnChange.LAST: "A changed rule counts from the last run: what it missed since is caught up.",
}


def policy_sentences(job: Job) -> list[tuple[str, str]]:
    """What each policy of a job means: its name, and a sentence."""
    return list(_sentences(job.policy, job))


def _sentences(policy: Policy, job: Job) -> Iterator[tuple[str, str]]:
    misfire, overlap = policy.misfire, policy.overlap
    became = _MISFIRE[misfire.mode].format(limit=misfire.limit)
    yield "misfire", f"An occurrence that no node takes within {format_duration(misfire.grace)} {became}."
    yield "overlap", _OVERLAP[overlap.mode].format(most=overlap.most or "any number")
    yield "retry", _retry(policy.retry)
    limit = "A run may take any time."
    if policy.timeout is not None:
        limit = f"A run is ended after {format_duration(policy.timeout)}."
    yield "timeout", limit
    yield "on_lost", _LOST[policy.on_lost]
    yield "first_seen", _FIRST[policy.first_seen]
    yield "on_change", _CHANGE[policy.on_change]
    if policy.splay is not None:
        yield "splay", f"Its start is spread over {format_duration(policy.splay)}, the same for each run."
    keep = policy.keep
    kept = [f"the last {keep.last} attempts"] if keep.last is not None else []
    kept += [f"{keep.days} days"] if keep.days is not None else []
    yield "keep", f"History is kept for {' and '.join(kept)}." if kept else "All history is kept."
    if policy.notify is not None:
        yield "notify", f"Channels are told: {', '.join(policy.notify.to)}."
    if policy.expect is not None:
        yield "expect", _expect(policy.expect)
    if job.group is not None:
        yield "group", f"It shares the limit of the group {job.group}."


def _retry(retry: Retry) -> str:
    if retry.max == 0:
        return "A run that fails is not tried again."
    times = "until it succeeds" if retry.max is None else f"up to {retry.max} times"
    grows = f", each delay {retry.backoff:g} times the one before" if retry.backoff > 1 else ""
    return f"A run that fails is tried again {times}, after {format_duration(retry.delay)}{grows}."


def _expect(expect: Expect) -> str:
    parts = []
    if expect.start_within is not None:
        parts.append(f"a run starts within {format_duration(expect.start_within)} of its time")
    if expect.finish_within is not None:
        parts.append(f"it ends within {format_duration(expect.finish_within)}")
    if expect.success_every is not None:
        parts.append(f"one succeeds every {format_duration(expect.success_every)}")
    return f"Expected: {'; '.join(parts)}."
