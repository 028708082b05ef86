"""Foliot: a durable cron for Python people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foliot.app import Foliot
    from foliot.app.status import JobStatus
    from foliot.executors.python import JobRun
    from foliot.model.attempt import Attempt, Outcome, Trigger
    from foliot.model.decision import Event, Happening
    from foliot.model.policy import Expect, Keep, Misfire, Notify, Overlap, Retry, parallel
    from foliot.schedules import Cron, Every, Once
    from foliot.why.answer import Verdict, Why

__all__ = [
    "Attempt",
    "Cron",
    "Event",
    "Every",
    "Expect",
    "Foliot",
    "Happening",
    "JobRun",
    "JobStatus",
    "Keep",
    "Misfire",
    "Notify",
    "Once",
    "Outcome",
    "Overlap",
    "Retry",
    "Trigger",
    "Verdict",
    "Why",
    "parallel",
]

_LATER = {
    "Foliot": "foliot.app",
    "JobRun": "foliot.executors.python",
    "JobStatus": "foliot.app.status",
    **dict.fromkeys(("Attempt", "Outcome", "Trigger"), "foliot.model.attempt"),
    **dict.fromkeys(("Event", "Happening"), "foliot.model.decision"),
    **dict.fromkeys(
        ("Expect", "Keep", "Misfire", "Notify", "Overlap", "Retry", "parallel"), "foliot.model.policy"
    ),
    **dict.fromkeys(("Verdict", "Why"), "foliot.why.answer"),
    **dict.fromkeys(("Cron", "Every", "Once"), "foliot.schedules"),
}


def __getattr__(name: str) -> Any:
    """Import only what is asked for: `foliot cron next` should answer at once, and pytest loads a plugin."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - as above

    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
