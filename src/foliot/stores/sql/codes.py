"""Words of the model as small numbers, and instants as whole microseconds: how values look in rows.

Any other number is damage: reading it raises, and the reader sets the job aside.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from foliot.model.attempt import AttemptState, Outcome, Trigger
from foliot.model.outbox import AlertState

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000_000  # microseconds
UNREADABLE = (TypeError, ValueError, LookupError, OverflowError, ArithmeticError, AttributeError)

# The numbers are stored: they never change, and none is used again.
TRIGGER_CODES = {
    Trigger.SCHEDULE: 0,
    Trigger.CATCH_UP: 1,
    Trigger.RETRY: 2,
    Trigger.LOST: 3,
    Trigger.MANUAL: 4,
    Trigger.BACKFILL: 5,
    Trigger.AFTER: 6,
    Trigger.REBOOT: 7,
}
STATE_CODES = {
    AttemptState.PENDING: 0,
    AttemptState.RUNNING: 1,
    AttemptState.CANCELLING: 2,
    AttemptState.ENDED: 3,
}
OUTCOME_CODES = {
    None: None,
    Outcome.SUCCEEDED: 1,
    Outcome.FAILED: 2,
    Outcome.TIMED_OUT: 3,
    Outcome.CANCELLED: 4,
    Outcome.INTERRUPTED: 5,
    Outcome.LOST: 6,
}
ALERT_CODES = {
    AlertState.WAITING: 0,
    AlertState.SENT: 1,
    AlertState.REFUSED: 2,
    AlertState.EXPIRED: 3,
}
TRIGGERS = {code: word for word, code in TRIGGER_CODES.items()}
STATES = {code: word for word, code in STATE_CODES.items()}
OUTCOMES = {code: word for word, code in OUTCOME_CODES.items()}
ALERT_STATES = {code: word for word, code in ALERT_CODES.items()}

# A herd shares its instants, so most are converted once.
_MOST_KEPT = 20_000
_instants: dict[int | None, datetime | None] = {None: None}
_numbers: dict[datetime | None, int | None] = {None: None}


def instant(number: int | None) -> datetime | None:
    """The instant of a number; None of none."""
    try:
        return _instants[number]
    except KeyError:
        return _keep_instant(number)


def an_instant(number: int) -> datetime:
    """The instant of a number that must be there."""
    found = instant(number)
    if found is None:
        raise ValueError("an instant is missing")
    return found


def micros(at: datetime | None) -> int | None:
    """The number of an instant; None of none."""
    try:
        return _numbers[at]
    except KeyError:
        return _keep_number(at)


def whole(at: datetime) -> int:
    """The number of an instant that is there."""
    number = micros(at)
    if number is None:
        raise ValueError("an instant is missing")
    return number


def _keep_instant(number: int | None) -> datetime | None:
    if number is None:
        return None  # another thread has just emptied the table
    if type(number) is not int:
        raise TypeError(f"{number!r} is no instant")
    found = EPOCH + timedelta(microseconds=number)
    if len(_instants) >= _MOST_KEPT:
        _instants.clear()
        _instants[None] = None
    _instants[number] = found
    return found


def _keep_number(at: datetime | None) -> int | None:
    if at is None:
        return None
    since = at - EPOCH
    number = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if len(_numbers) >= _MOST_KEPT:
        _numbers.clear()
        _numbers[None] = None
    _numbers[at] = number
    return number
