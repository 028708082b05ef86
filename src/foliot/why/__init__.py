"""Why a job runs, ran, or did not run: the answer in words, from what is stored and what its rule says.

    explain ──▶ next.py   what a job does next, or at an instant to come
            ──▶ past.py   what became of an instant that is over
                last.py   what happened last
                waiting.py  a full group, or a time without nodes
                chain.py  what it runs after, and what runs after it
                answer.py the answer itself, and words that both use

Everything here is pure: the caller reads the store, and asks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from foliot.model.attempt import Attempt
from foliot.model.job import EARLIEST
from foliot.model.splay import offset_of
from foliot.model.state import Record, Skip
from foliot.model.version import Version
from foliot.model.view import Outage
from foliot.protocols import JobView
from foliot.why.answer import Verdict, Why, rule_text, zone_of
from foliot.why.chain import chain_words
from foliot.why.last import told_last
from foliot.why.next import future, next_run
from foliot.why.past import Traces, past
from foliot.why.version import away, version_at, was_started_uncounted
from foliot.why.waiting import GroupCount

__all__ = ["GroupCount", "Verdict", "Why", "explain", "look_back", "rule_text", "told_last", "zone_of"]

_LOOK_BACK = timedelta(days=7)


def look_back(at: datetime) -> datetime:
    """The start of the runs that explain an instant: an older run may still have been open then."""
    return at - min(_LOOK_BACK, at - EARLIEST) if at > EARLIEST else at


def _is_to_come(record: Record, at: datetime, now: datetime) -> bool:
    """Whether an instant is in the future, or its start is, because of the splay."""
    next_at = record.state.next_at
    return at > now or (next_at is not None and at >= next_at and at + offset_of(record.job) > now)


def explain(  # noqa: PLR0913 - everything that is known
    view: JobView,
    runs: Sequence[Attempt],
    skips: Sequence[Skip],
    *,
    kinds: Collection[str] | None,
    now: datetime,
    at: datetime | None = None,
    revision: str | None = None,
    versions: Sequence[Version] = (),
    group: GroupCount | None = None,
    outages: Sequence[Outage] = (),
) -> Why:
    """Explain a job at an instant; without an instant, explain what it does next.

    `runs` start at `look_back(at)`. `revision` is that of the job's source: some jobs have none of their own.
    `versions`: the definitions of the job; one of them was valid at a past instant. `group`: the group of the
    job, if it has one. `outages`: periods without a running node.
    """
    if view.record is None or view.damage is not None:
        return Why(Verdict.WILL_NOT, f"its record cannot be read: {view.damage}; declare it anew")
    record, number = view.record, view.record.state.version
    if at is None:
        answer = next_run(record, kinds, now, group)
        answer = answer._replace(text=answer.text + chain_words(record.job))
    elif _is_to_come(record, at, now) and not any(r.scheduled_for == at and r.request is None for r in runs):
        answer = future(record, kinds, at)
    elif reason := away(versions, at):
        answer = Why(Verdict.WILL_NOT, reason, at)
    else:
        held = version_at(versions, runs, at)
        if held is not None and held.job is not None and held.number != number:
            answer = past(record._replace(job=held.job), Traces(runs, skips, outages, group), at)
            rule, of = rule_text(held.job.schedule), held.job.revision or None
            return answer._replace(rule=rule, revision=of, version=held.number, is_replaced=True)
        answer = past(record, Traces(runs, skips, outages, group), at)
        number = 0 if was_started_uncounted(runs, at) else number
    job = record.job
    return answer._replace(
        rule=rule_text(job.schedule), revision=job.revision or revision, version=number or None
    )
