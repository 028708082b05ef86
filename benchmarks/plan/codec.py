"""A job as JSON text, there and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.cron.measure import Timing, Work, take_turns
from benchmarks.plan.herd_of_jobs import distinct_rules, make_jobs
from foliot.model.codec import decode_job, encode_job, encode_job_apart
from foliot.model.policy import Policy

KNOWN_RULES = 1_000


def measure_codec(count: int, rounds: int) -> dict[str, Timing]:
    """Seconds per job. All jobs share one policy; rules are few, or too many to be known."""
    jobs = make_jobs(distinct_rules(KNOWN_RULES) * (count // KNOWN_RULES), Policy())
    strangers = make_jobs(distinct_rules(count), Policy())
    works = {
        "encode, whole": _work(encode_job, [(job,) for job in jobs]),
        "encode, policy apart": _work(encode_job_apart, [(job,) for job in jobs]),
        "decode, whole": _work(decode_job, [(encode_job(job),) for job in jobs]),
        "decode, policy apart": _work(decode_job, [encode_job_apart(job) for job in jobs]),
        "decode, policy apart, new rule": _work(decode_job, [encode_job_apart(job) for job in strangers]),
    }
    return take_turns(works, rounds)


def _work(do: Callable[..., object], arguments: Sequence[tuple[Any, ...]]) -> Work:
    def do_all() -> None:
        for given in arguments:
            do(*given)

    return Work(do_all, len(arguments))
