"""The outbox: alerts that were decided, each for one channel, until they are sent, and for a while after.

    waiting ──▶ sent       the channel has taken it
            ├─▶ refused    the channel will never take it
            └─▶ expired    it has waited for too long

An alert is written in the same step as the decision that it comes from. So it is neither lost with a node,
nor told of something that was never stored. A ping that was sent is not kept.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from foliot.model.alert import Alert, AlertKind

KEPT_DAYS = 90
_FOR_EACH_RUN = (AlertKind.ENDED, AlertKind.TRIED, AlertKind.AFTER)


class AlertState(StrEnum):
    """Where an alert stands."""

    WAITING = "waiting"
    SENT = "sent"
    REFUSED = "refused"
    EXPIRED = "expired"


class ChannelAlert(NamedTuple):
    """An alert for one channel. The alert's id and the channel name it. `answer`: what the channel said."""

    channel: str
    alert: Alert
    state: AlertState = AlertState.WAITING
    settled_at: datetime | None = None
    answer: str | None = None


def is_forgotten(kind: str, state: AlertState) -> bool:
    """Whether an alert that was settled is not kept: of pings and chains there are some for each run."""
    return state is AlertState.SENT and kind in _FOR_EACH_RUN
