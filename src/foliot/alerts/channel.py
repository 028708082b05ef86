"""The protocol of channels, which send alerts, and the results of a send."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

from foliot.alerts.message import Alert
from foliot.alerts.rate import Rate

DEADLINE = timedelta(seconds=30)  # for one message, from the first look-up to the last byte
LONGEST_WAIT = timedelta(hours=1)  # a longer Retry-After is cut to this


class Fate(StrEnum):
    """The result of a send."""

    SENT = "sent"
    AGAIN = "again"  # try later: the connection or the server failed, or a limit was reached
    REFUSED = "refused"  # trying again would change nothing: a person must look


class Sent(NamedTuple):
    """The result of a send, with a reason without secrets. `after`: how long the server asks to wait."""

    fate: Fate
    reason: str = ""
    after: timedelta | None = None

    @classmethod
    def again(cls, reason: str, after: timedelta | None = None) -> Sent:
        """Try later."""
        return cls(Fate.AGAIN, reason, None if after is None else min(after, LONGEST_WAIT))

    @classmethod
    def refused(cls, reason: str) -> Sent:
        """Do not try again."""
        return cls(Fate.REFUSED, reason)


SENT = Sent(Fate.SENT)


class Channel(Protocol):
    """A way to send alerts to people. An alert may be sent twice, with the same id both times."""

    @property
    def rate(self) -> Rate | None:
        """The limit of messages; None: one message for each alert, without a limit."""
        ...

    def describe(self) -> str:
        """One line for the operator. It shows where secrets come from, never a secret."""
        ...

    def missing(self) -> str | None:
        """What this node lacks to send, such as "env:OPS_WEBHOOK is not set"; None: nothing."""
        ...

    async def send(self, messages: Sequence[Alert]) -> Sent:
        """Send one message: an alert, or a digest of several. There is at least one alert.

        It ends within `DEADLINE`. No answer of a server raises.
        """
        ...


@runtime_checkable
class ShowsOutput(Protocol):
    """A channel that shows the end of an attempt's output. `Alert.output` is set if the store has it."""

    shows_output: bool


@runtime_checkable
class Pinged(Protocol):
    """A channel that is also called at each start."""

    async def ping_start(self, run: str, attempt: int) -> Sent:
        """Report that an attempt has started."""
        ...
