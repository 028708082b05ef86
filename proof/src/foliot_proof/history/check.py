"""The checker: all rules over all jobs of a history, and what they found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta

from foliot.model.attempt import Trigger
from foliot_proof.history import alerts, claims, effects, losses, matching, timing
from foliot_proof.history.case import Case, Load
from foliot_proof.history.facts import History, Mark, Operation, Verdict
from foliot_proof.history.hosts import Hosts
from foliot_proof.history.report import Code, Finding, Measures, Report, Violation, summarize
from foliot_proof.history.story import Logs
from foliot_proof.history.timeline import timeline
from foliot_proof.history.worlds import forgets

Rule = Callable[[Case], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    claims.missed,
    claims.served_twice,
    claims.wrongly_skipped,
    claims.claimed_twice,
    claims.tokens_fall,
    effects.mismatched,
    effects.repeated,
    effects.unrecorded,
    effects.fabricated,
    effects.stale,
    effects.overlapping,
    timing.early,
    timing.late,
    timing.coalesced,
    losses.stuck,
    losses.unexplained,
    losses.dropped,
    losses.not_preempted,
    alerts.undelivered,
    alerts.renamed,
    alerts.lost,
    alerts.repeated,
    alerts.invented,
)


def check(history: History) -> Report:
    """Judge a history. It trusts no log alone, and excuses only what the logs leave open."""
    cases = open_cases(history)
    found = [violation for case in cases for violation in _judge(case, history)]
    zombies = tuple(violation for violation in found if violation.code is Code.ZOMBIE_OVERLAP)
    budget = history.bounds.zombies
    is_over_budget = budget is not None and len(zombies) > budget
    return Report(
        violations=tuple(v for v in found if is_over_budget or v.code is not Code.ZOMBIE_OVERLAP),
        zombies=zombies,
        measures=_measure(cases, history),
        sizes={case.job: len(case.rows) + len(case.effects) + len(case.slots) for case in cases},
    )


def open_cases(history: History) -> list[Case]:
    """What is known about each job."""
    hosts, load = Hosts(history), Load()
    cases = [Case(job, logs, history, hosts, load) for job, logs in _by_job(history).items()]
    if any(host.queues is not None for host in history.hosts):
        for case in cases:
            for name, span in case.held():
                for queue in case.queues:
                    load.setdefault((name, queue), []).append(span)
    return cases


def _judge(case: Case, history: History) -> Iterator[Violation]:
    findings = [finding for rule in RULES for finding in rule(case)]
    # The blind check knows least, so it speaks only where those that know more have found nothing.
    for code, at, text in findings or matching.unmatched(case):
        yield Violation(code, case.job, at, text, timeline(case, history.faults, at))


def _by_job(history: History) -> dict[str, Logs]:
    found: dict[str, Logs] = defaultdict(lambda: Logs([], [], [], [], [], [], [], []))
    for change in history.changes:
        found[change.job].changes.append(change)
    for attempt in history.attempts:
        found[attempt.job].attempts.append(attempt)
    for skip in history.skips:
        found[skip.job].skips.append(skip)
    for line in history.witness:
        found[line.job].witness.append(line)
    for finish in history.finishes:
        found[finish.job].finishes.append(finish)
    for note in history.forgotten:
        found[note.job].forgotten.append(note.until)
    for told in history.told:
        found[told.job].told.append(told)
    for kept in history.outbox:
        found[kept.alert.job].outbox.append(kept)
    for logs in found.values():
        logs.forgotten.extend(_forgotten(logs, history.final))
    return dict(sorted(found.items()))


def _forgotten(logs: Logs, final: datetime) -> Iterator[datetime]:
    """A job that forgets takes its history along when it is removed, or removes itself."""
    definitions = [change.definition for change in logs.changes if change.definition is not None]
    if any(forgets(definition) for definition in definitions):
        for change in logs.changes:
            if change.what is Operation.REMOVE and change.verdict is not Verdict.REFUSED:
                yield change.until
    removes_itself = any(definition.auto_remove and forgets(definition) for definition in definitions)
    if removes_itself and not logs.attempts and any(line.what is Mark.START for line in logs.witness):
        yield final


def _measure(cases: list[Case], history: History) -> Measures:
    standings = Counter(claims.standing(case, index) for case in cases for index in range(len(case.slots)))
    optional = sum(not slot.is_owed for case in cases for slot in case.slots)
    standings[claims.Standing.OPTIONAL] = optional
    judged = (claims.Standing.SETTLED, claims.Standing.MISSED)
    return Measures(
        start_lag=summarize([lag for case in cases for lag, _ in _lags(case)]),
        calm_lag=summarize([lag for case in cases for lag, is_calm in _lags(case) if is_calm]),
        recoveries=tuple(recovery for case in cases for recovery in losses.recoveries(case)),
        triggers=Counter(str(attempt.trigger) for attempt in history.attempts),
        outcomes=Counter(str(a.outcome) for a in history.attempts if a.outcome is not None),
        occurrences=sum(len(case.slots) for case in cases),
        excuses={str(what): n for what, n in standings.items() if n and what not in judged},
    )


def _lags(case: Case) -> Iterator[tuple[timedelta, bool]]:
    """How long after its time each occurrence started; and whether its host was able, and its job free."""
    for run in case.scheduled:
        slot, start = case.slot(run.at), run.first.start
        if slot is not None and start is not None and run.first.trigger is Trigger.SCHEDULE:
            able = case.hosts.able.get(case.hosts.home(run.first.attempt.node) or "", [])
            was_able = any(begin <= slot.due and start <= end for begin, end in able)
            is_calm = was_able and slot.is_owed and not case.was_busy(slot.due, start, run.key)
            yield start - slot.due, is_calm
