"""What a job runs after, and what runs after it, in words."""

from __future__ import annotations

from foliot.model.attempt import Attempt, Outcome
from foliot.model.chain import Link, On, request_after
from foliot.model.job import Job

_ENDS = {On.SUCCESS: "has succeeded", On.FAILURE: "has failed for good", On.END: "is over"}


def told_after(job: Job) -> str | None:
    """What a job runs after, if it does."""
    return None if job.policy.after is None else after_words(job.policy.after)


def after_words(link: Link) -> str:
    """`when a run of load has succeeded`."""
    return f"when a run of {link.job} {_ENDS[link.on]}"


def chain_words(job: Job) -> str:
    """The chains of a job, as an addition to an answer; empty if it has none."""
    words = ""
    if (after := job.policy.after) is not None:
        words += f"; it runs {after_words(after)}"
    for link in job.policy.then or ():
        words += f"; {link.job} runs when a run of it {_ENDS[link.on]}"
    return words


def followed_words(job: Job, last: Attempt) -> str:
    """The runs of other jobs that the end of a run has requested; `last` is its last attempt."""
    if last.is_open or last.outcome is None or last.node is None:
        return ""
    outcome: Outcome = last.outcome
    request = request_after(last.run_key)
    asked = [f"{job.source}/{link.job}!{request}" for link in job.policy.then or () if link.counts(outcome)]
    return f"; its end requested {', '.join(asked)}" if asked else ""
