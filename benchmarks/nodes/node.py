"""One node of a race: `python -m benchmarks.nodes.node URL DUE PATH`.

It says `ready` when it has joined, and from then on how many of its runs have ended. When its standard input
ends it stops, writes to PATH when its runs started (seconds after DUE, a Unix time), and answers
when the last end was recorded.
"""

from __future__ import annotations

import asyncio
import sys
from array import array
from datetime import timedelta
from pathlib import Path
from time import perf_counter

from benchmarks.fire.child import answer, tell_progress
from foliot import Foliot
from foliot.clock import SystemClock
from foliot.model.decision import Event, Happening

SOURCE = "bench"
ACTION = "do_nothing"
_NEWS = timedelta(milliseconds=100)


class Witness:
    """What the node has seen: when each run started, how many have ended, and when the last of them had."""

    def __init__(self) -> None:
        self.starts = array("d")  # not a list: the garbage collector would walk through a million entries
        self.ended = 0
        self.recorded = 0.0

    async def do_nothing(self, user: int) -> None:  # noqa: ARG002 - each job has a payload of its own
        """The job."""
        self.starts.append(perf_counter())

    def heed(self, event: Event) -> None:
        """Is told what happened."""
        if event.what is Happening.ENDED:
            self.ended += 1
            self.recorded = perf_counter()


def main() -> None:
    """Take part in a race, and tell."""
    url, due, path = sys.argv[1:]
    clock, witness = SystemClock(), Witness()
    due_at = float(due) - (clock.now().timestamp() - perf_counter())
    app = Foliot(url, name=SOURCE, clock=clock)
    app.action(witness.do_nothing, name=ACTION)
    app.listen(witness.heed)
    asyncio.run(_take_part(app, witness, clock))
    with Path(path).open("wb") as file:
        array("d", sorted(start - due_at for start in witness.starts)).tofile(file)
    answer({"ended": witness.ended, "recorded": witness.recorded - due_at})


async def _take_part(app: Foliot, witness: Witness, clock: SystemClock) -> None:
    async with app:
        print("ready", flush=True)
        is_over = asyncio.ensure_future(asyncio.to_thread(sys.stdin.read))
        while not is_over.done():
            tell_progress(witness.ended, 0)
            await clock.wait(_NEWS)
    app.close()


if __name__ == "__main__":
    main()
