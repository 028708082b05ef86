"""A plan as plain data, for JSON: the same for the command line, the API and the dashboard.

Within a `plan_version` keys are only added. Instants are texts in UTC, durations are seconds.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from foliot.engine.change import ChangePlan, JobChange, Kind, PlanEffect, Switch
from foliot.engine.change.model import HerdChange
from foliot.model.attempt import format_instant

PLAN_VERSION = 1
_COUNTS = ("before", "after", "kept", "added", "removed", "moved")


def facts_of(plan: ChangePlan) -> dict[str, Any]:
    """The plan as plain data."""
    return {
        "plan_version": PLAN_VERSION,
        "source": plan.source,
        "base": plan.base,
        "head": plan.head,
        "at": _instant(plan.at),
        "until": _instant(plan.until),
        "timezone": plan.zone,
        "summary": _summary(plan),
        "jobs": [_job(change) for change in plan.jobs],
        "switch": _switch(plan.switch),
        "herd": _herd(plan.herd),
        "effects": [_effect(effect) for effect in plan.effects],
        "warnings": [{"job": job, **_effect(effect)} for job, effect in plan.warnings],
        "truncated": plan.is_truncated,
    }


def _summary(plan: ChangePlan) -> dict[str, Any]:
    counts = plan.counts
    return {
        "jobs": {**{kind.value: counts[kind] for kind in Kind}, "unchanged": plan.unchanged},
        "runs": {name: sum(getattr(change.runs, name) for change in plan.jobs) for name in _COUNTS},
        "warnings": len(plan.warnings),
    }


def _switch(switch: Switch) -> dict[str, Any]:
    return {
        "starts": [start._asdict() for start in switch.starts],
        "skips": [
            {"job": one.job, "first": _instant(one.first), "last": _instant(one.last), "reason": one.reason}
            for one in switch.skips
        ],
        "drops": list(switch.drops),
        "keeps": list(switch.keeps),
    }


def _herd(herd: HerdChange) -> dict[str, Any]:
    return {
        "before": herd.before,
        "after": herd.after,
        "slots": herd.slots,
        "until": _instant(herd.until),
        "top": [{"at": _instant(one.at), "before": one.before, "after": one.after} for one in herd.top],
    }


def _job(change: JobChange) -> dict[str, Any]:
    runs, first = change.runs, change.first_difference
    return {
        "job": change.name,
        "change": change.kind.value,
        "renamed_from": change.old_name,
        "timezone": change.zone,
        "fields": [one._asdict() for one in change.fields],
        "runs": {
            **{name: getattr(runs, name) for name in _COUNTS},
            "moved_by": _seconds(runs.shift),
            "compared_until": _instant(runs.compared_until),
        },
        "next_at": _instant(change.next_at),
        "first_difference": None if first is None else _difference(*first),
        "sample": [_difference(*one) for one in change.sample],
        "effects": [_effect(effect) for effect in change.effects],
        "findings": {"new": list(change.findings), "resolved": list(change.resolved)},
    }


def _difference(before: datetime | None, after: datetime | None) -> dict[str, Any]:
    return {"before": _instant(before), "after": _instant(after)}


def _effect(effect: PlanEffect) -> dict[str, Any]:
    code, severity, text, at = effect
    return {"code": code.value, "severity": severity.value, "text": text, "at": _instant(at)}


def _instant(at: datetime | None) -> str | None:
    return None if at is None else format_instant(at)


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()
