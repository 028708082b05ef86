"""What a run writes, as it grows: what is new is asked for, and shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta

from foliot.cli.output import say, visible, write, write_part
from foliot.cli.run_report import ending_of
from foliot.cli.session import Session
from foliot.errors import RunNotFoundError, WaitTimeoutError
from foliot.model.attempt import Attempt, AttemptState, Outcome

_LOOK_EVERY = timedelta(milliseconds=500)


class Screen:
    """Makes text harmless, unless told not to: no character is left that would steer a terminal.

    A pipe gets the same as a terminal: what it carries is shown on one in the end, as by `| tee`.
    """

    def __init__(self, *, is_raw: bool) -> None:
        self._is_raw = is_raw
        self._kept = ""  # a carriage return that may belong to the end of a line

    def fit(self, text: str) -> str:
        """The text as it may be written now."""
        if self._is_raw:
            return text
        text = self._kept + text
        self._kept = "\r" if text.endswith("\r") else ""
        return "\n".join(map(shown_line, text.removesuffix("\r").split("\n")))


def shown_line(line: str) -> str:
    """A line with all control characters escaped, except tabs, which do no harm."""
    return "\t".join(map(visible, line.removesuffix("\r").split("\t")))


async def follow(
    session: Session, run: str, number: int | None, screen: Screen, limit: timedelta | None = None
) -> Attempt | None:
    """Print what an attempt writes until it has ended; without a number, each one until the run has ended.

    Attempts that ended before we looked are printed, too.
    The last attempt that was followed is the answer; None: the reader is gone.
    """
    clock = session.ops.clock
    begin = clock.monotonic()

    def check_time(attempt: Attempt) -> None:
        if limit is not None and timedelta(seconds=clock.monotonic() - begin) >= limit:
            raise WaitTimeoutError(run, limit, attempt.state)

    attempt = chosen(await session.ops.run(run), run, number, first=True)
    while (ended := await _follow_one(session, attempt, screen, check_time)) and number is None:
        later = [a for a in await session.ops.run(run) if a.number > ended.number]
        if not later:
            break
        attempt = later[0]
    return ended


async def _follow_one(
    session: Session, attempt: Attempt, screen: Screen, check_time: Callable[[Attempt], None]
) -> Attempt | None:
    ops, seen, last = session.ops, 0, ""
    if attempt.state is AttemptState.PENDING:
        say("note", f"attempt {attempt.number} has not started yet", sys.stderr)
    while True:
        # In this order: what an attempt wrote is stored before its end is.
        newest = await ops.last(attempt.job, attempt.run_key)
        is_newest = newest is not None and newest.number == attempt.number
        run = [newest] if newest and is_newest else await ops.run(attempt.run_key)
        attempt = chosen(run, attempt.run_key, attempt.number)
        part = await session.store.output(*attempt.key, seen)
        if part is not None and part.text:
            last, seen = part.text[-1], part.end
            if not write_part(screen.fit(part.text), sys.stdout):
                return None
        if not attempt.is_open:
            break
        check_time(attempt)
        await ops.clock.wait(_LOOK_EVERY)
    if last not in ("", "\n"):
        write("", sys.stdout)
    is_well = attempt.outcome is Outcome.SUCCEEDED
    say("ok" if is_well else "error", f"attempt {attempt.number} {ending_of(attempt)}", sys.stderr)
    return attempt


def chosen(attempts: list[Attempt], run: str, number: int | None, *, first: bool = False) -> Attempt:
    """One of the attempts of a run; without a number, the last, or the first."""
    if number is None and attempts:
        return attempts[0 if first else -1]
    for attempt in attempts:
        if number == attempt.number:
            return attempt
    known = ", ".join(str(attempt.number) for attempt in attempts)
    raise RunNotFoundError(run, attempt=number, hint=f"its attempts are {known}")
