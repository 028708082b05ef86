"""How many messages a channel sends: a night in which a thousand jobs fail is one message, not a thousand.

waiting 3, room for 17     three messages
waiting 37                 one digest of 37
waiting 3, room for 2      one digest of 3
waiting 3, room for none   nothing until the oldest message is ten minutes old; then one digest, or three
waiting 37, room for 9     one digest of 37, but no sooner than half a minute after the last message

The last rule spreads the remaining messages over the time. Otherwise a flood that lasts for minutes would use
them all up with small digests, and the rest would be sent late.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.alerts.message import Alert
from foliot.errors import InvalidChannelError

_MOST_APART = 5  # if more alerts wait, they become one digest


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `messages` messages within a time."""

    messages: int = 20
    within: timedelta = timedelta(minutes=10)

    def __post_init__(self) -> None:
        if type(self.messages) is not int or self.messages < 1:
            raise InvalidChannelError("rate.messages", self.messages, "must be a whole number of at least 1")
        if self.within <= timedelta(0):
            raise InvalidChannelError("rate.within", self.within, "must be longer than nothing")


class Plan(NamedTuple):
    """The messages to send now, each with its alerts. The rest waits until `wait_until`."""

    parts: tuple[tuple[Alert, ...], ...] = ()
    wait_until: datetime | None = None


def plan_sends(
    rate: Rate | None, sent_at: Sequence[datetime], waiting: Sequence[Alert], now: datetime
) -> Plan:
    """Which alerts to send now, and which of them together. `sent_at`: the times of earlier messages."""
    if rate is None or not waiting:
        return Plan(tuple((alert,) for alert in waiting))
    # A message in the future was sent before the clock was set back: it counts as sent now.
    recent = sorted(min(at, now) for at in sent_at if at > now - rate.within)
    room = rate.messages - len(recent)
    if room <= 0:
        return Plan(wait_until=recent[-rate.messages] + rate.within)
    if len(waiting) > _MOST_APART and 2 * len(recent) >= rate.messages:
        evenly = recent[-1] + rate.within / rate.messages
        if now < evenly:
            return Plan(wait_until=evenly)
    if len(waiting) > min(room, _MOST_APART):
        return Plan((tuple(waiting),))
    return Plan(tuple((alert,) for alert in waiting))
