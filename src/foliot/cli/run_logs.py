"""What a run writes, as it grows: how the new part of a stored text is found, and how it is shown.

What is stored is the beginning and the end of all that was written, with a mark between them that tells how
much was left out. While a run goes on, that text is replaced by a longer one about once a second: the gap
moves, and what was shown already must not be shown again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta

from foliot.cli.output import say, visible, write, write_part
from foliot.cli.run_report import ending_of
from foliot.cli.session import Session
from foliot.errors import RunNotFoundError, WaitTimeoutError
from foliot.model.attempt import Attempt, AttemptState, Outcome
from foliot.protocols import Output

_LOOK_EVERY = timedelta(milliseconds=500)


class Growth:
    """The new part of a text that is looked at again and again."""

    def __init__(self) -> None:
        self._seen = 0  # how much of all that was written, what was left out included

    def new_part(self, output: Output | None) -> str:
        """What has come since the last look; if some of it was left out meanwhile, that is told."""
        if output is None:
            return ""
        head, tail = _ends(output)
        begin = len(head) + output.dropped
        before, self._seen = self._seen, max(self._seen, begin + len(tail))
        if before >= begin:
            return tail[before - begin :]
        missing = begin - max(before, len(head))
        gap = gap_mark(missing) if missing else ""
        return f"{head[before:]}{gap}{tail}"


def _ends(output: Output) -> tuple[str, str]:
    """The beginning and the end of what was written."""
    head, mark, tail = output.text.partition(gap_mark(output.dropped)) if output.dropped else ("", "", "")
    return (head, tail) if mark else ("", output.text)


def gap_mark(count: int) -> str:
    """What stands where so many characters are missing."""
    return f"\n… {count} characters left out …\n"


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
    """A line with everything escaped that could steer a terminal. Tabs stay: they harm nobody."""
    return "\t".join(map(visible, line.removesuffix("\r").split("\t")))


async def follow(
    session: Session, run: str, number: int | None, screen: Screen, limit: timedelta | None = None
) -> Attempt | None:
    """Print what an attempt writes until it has ended; without a number, each one until the run has ended.

    The last attempt that was followed is the answer; None: the reader is gone.
    """
    clock = session.ops.clock
    begin = clock.monotonic()

    def check_time(attempt: Attempt) -> None:
        if limit is not None and timedelta(seconds=clock.monotonic() - begin) >= limit:
            raise WaitTimeoutError(run, limit, attempt.state)

    attempt = chosen(await session.ops.run(run), run, number)
    while (ended := await _follow_one(session, attempt, screen, check_time)) and number is None:
        later = [a for a in await session.ops.run(run) if a.number > ended.number]
        if not later:
            break
        attempt = later[0]
    return ended


async def _follow_one(
    session: Session, attempt: Attempt, screen: Screen, check_time: Callable[[Attempt], None]
) -> Attempt | None:
    ops, growth, last = session.ops, Growth(), ""
    if attempt.state is AttemptState.PENDING:
        say("note", f"attempt {attempt.number} has not started yet", sys.stderr)
    while True:
        # In this order: what an attempt wrote is stored before its end is.
        newest = await ops.last(attempt.job, attempt.run_key)
        is_newest = newest is not None and newest.number == attempt.number
        run = [newest] if newest and is_newest else await ops.run(attempt.run_key)
        attempt = chosen(run, attempt.run_key, attempt.number)
        if part := growth.new_part(await session.store.output(*attempt.key)):
            last = part[-1]
            if not write_part(screen.fit(part), sys.stdout):
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


def chosen(attempts: list[Attempt], run: str, number: int | None) -> Attempt:
    """One of the attempts of a run; without a number, the last."""
    for attempt in attempts if number else attempts[-1:]:
        if number in (None, attempt.number):
            return attempt
    known = ", ".join(str(attempt.number) for attempt in attempts)
    raise RunNotFoundError(run, attempt=number, hint=f"its attempts are {known}")
