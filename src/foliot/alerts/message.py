"""The messages of channels: an alert, or a digest of several."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from foliot.model.alert import Alert as Alert  # noqa: PLC0414 - re-exported
from foliot.model.alert import AlertKind as AlertKind  # noqa: PLC0414 - the same

_NAMED = 10  # jobs that a digest names
_SAID = {
    AlertKind.FAILURE: "failed",
    AlertKind.RECOVERY: "recovered",
    AlertKind.MISSED: "missed its time",
    AlertKind.SKIPPED: "was skipped",
    AlertKind.LATE: "is late",
    AlertKind.SLOW: "runs long",
    AlertKind.SILENT: "is silent",
    AlertKind.FLAPPING: "is flapping",
    AlertKind.OUTPUT: "wrote output",
    AlertKind.SOURCE: "has a problem",
    AlertKind.ENDED: "ended",
    AlertKind.TRIED: "will be tried again",
    AlertKind.AFTER: "is followed",
}


class Digest(NamedTuple):
    """Several alerts in one message, the oldest first. There is at least one."""

    alerts: tuple[Alert, ...]

    @property
    def id(self) -> str:
        """The same for the same alerts: a digest that is sent again can be ignored by its receiver."""
        return (
            "digest-"
            + hashlib.sha256("\n".join(a.id for a in self.alerts).encode(errors="replace")).hexdigest()[:32]
        )

    @property
    def at(self) -> datetime:
        """The time of the newest alert."""
        return max(alert.at for alert in self.alerts)

    @property
    def is_test(self) -> bool:
        """Whether all of them are tests."""
        return all(alert.is_test for alert in self.alerts)

    @property
    def headline(self) -> str:
        """One line: how many alerts of which kind, and since when."""
        counts = Counter(alert.kind.value for alert in self.alerts)
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
        since = min(alert.since or alert.at for alert in self.alerts)
        return f"{_test(self.is_test)}{len(self.alerts)} alerts since {clock_time(since)}: {kinds}"

    @property
    def names(self) -> str:
        """The jobs, the first ten by name."""
        jobs = list(dict.fromkeys(alert.name for alert in self.alerts))
        more = f" and {len(jobs) - _NAMED} more" if len(jobs) > _NAMED else ""
        return ", ".join(jobs[:_NAMED]) + more


Message = Alert | Digest


def as_message(alerts: Sequence[Alert]) -> Message:
    """One alert as it is; several as a digest."""
    return alerts[0] if len(alerts) == 1 else Digest(tuple(alerts))


def headline(alert: Alert) -> str:
    """One line: the job, and its problem."""
    times = f" ({alert.failures_in_row} in a row)" if alert.failures_in_row > 1 else ""
    again = f", reminder {alert.reminder}" if alert.reminder else ""
    return f"{_test(alert.is_test)}{alert.name} {_SAID[alert.kind]}{times}{again}"


def clock_time(instant: datetime) -> str:
    """An instant for people: to the minute, in UTC."""
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _test(is_test: bool) -> str:  # noqa: FBT001 - a word for a flag
    return "TEST: " if is_test else ""
