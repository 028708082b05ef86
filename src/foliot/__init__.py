"""Foliot: a durable cron for Python people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foliot.schedules import Cron, Every, Once

if TYPE_CHECKING:
    from foliot.app import Foliot
    from foliot.model.policy import Keep, Misfire, Overlap, Retry, parallel

__all__ = ["Cron", "Every", "Foliot", "Keep", "Misfire", "Once", "Overlap", "Retry", "parallel"]

_LATER = {
    "Foliot": "foliot.app",
    **dict.fromkeys(("Keep", "Misfire", "Overlap", "Retry", "parallel"), "foliot.model.policy"),
}


def __getattr__(name: str) -> Any:
    """Import the engine only for those who ask for it: `foliot cron next` should answer at once."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - as above

    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
