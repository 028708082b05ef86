"""The seam of channels: what sends alerts, and what became of them."""

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
    """What became of a message."""

    SENT = "sent"
    AGAIN = "again"  # try later: a connection, a server, a limit
    REFUSED = "refused"  # trying again would change nothing: a person must look


class Sent(NamedTuple):
    """What became of a message, in words without a secret; `after` is how long the server asks to wait."""

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
    """A way to tell people. The same alert may be sent twice: it has the same id both times."""

    @property
    def rate(self) -> Rate | None:
        """How many messages it takes; None: one for each alert, however many."""
        ...

    def describe(self) -> str:
        """One line for the operator. It shows where secrets come from, never a secret."""
        ...

    def missing(self) -> str | None:
        """What this node lacks to send, such as "env:OPS_WEBHOOK is not set"; None: nothing."""
        ...

    async def send(self, messages: Sequence[Alert]) -> Sent:
        """Tell one message: an alert, or a digest of several. There is at least one.

        It ends within `DEADLINE`, and raises nothing for what a server answers.
        """
        ...


@runtime_checkable
class ShowsOutput(Protocol):
    """A channel that shows the end of what an attempt wrote: `Alert.output` is there, if the store has it."""

    shows_output: bool


@runtime_checkable
class Pinged(Protocol):
    """A channel that also gets starts, each at once."""

    async def ping_start(self, run: str, attempt: int) -> Sent:
        """Tell that an attempt has started."""
        ...
