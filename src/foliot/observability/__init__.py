"""Log lines and metrics, both made by listeners; the engine itself knows neither.

    log        lines for the logger `foliot`: constant event names with fields, few lines
    log_format how lines look, for programs that let Foliot configure the logging: text or JSON
    metrics    counters, gauges and histograms for Prometheus; the only module that imports its client

Both get events in batches, on the engine's thread. A million runs are a million events, so a run that
succeeds costs well under a microsecond, and leaves no line. Importing this package configures nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foliot.observability.log_format import configure_logging
    from foliot.observability.metrics import Metrics

__all__ = ["Metrics", "configure_logging"]

_LATER = {
    "Metrics": "foliot.observability.metrics",
    "configure_logging": "foliot.observability.log_format",
}


def __getattr__(name: str) -> Any:
    """Import the client of Prometheus only when metrics are used."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - as above

    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value
