"""A real process, in a zone whose clocks change while it runs: libfaketime sets its wall clock."""

from __future__ import annotations

import sys
import textwrap
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from faketime import environment, library
from foliot.clock import SystemClock
from programs import Program

pytestmark = pytest.mark.prove

BERLIN = ZoneInfo("Europe/Berlin")
PROGRAM = textwrap.dedent(
    """
    import asyncio, sys, time
    from datetime import timedelta
    from zoneinfo import ZoneInfo
    from foliot.doors.declarative import Scheduler, TaskRunStarted

    def tell(event):
        if isinstance(event, TaskRunStarted):
            due = event.scheduled_for.astimezone(ZoneInfo("Europe/Berlin"))
            print(f"{event.task} due {due:%d %H:%M %Z} at", time.strftime("%d %H:%M %Z"), flush=True)

    async def quick():
        pass

    async def long(delays=[21]):
        await asyncio.sleep(delays[0])  # by the machine's own time: over the change, and what comes after it
        delays[0] = 0
        print("long ended", flush=True)

    async def main():
        tasks = [entry.split("=") for entry in sys.argv[1:]]
        scheduler = Scheduler("sqlite:///tasks.db", listeners=[tell])
        await scheduler.initialize(
            [(name, cron, long if name == "long" else quick, timedelta(hours=1)) for name, cron in tasks]
        )
        print("running", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
        await scheduler.stop()
        print("over", flush=True)

    asyncio.run(main())
    """
)


class Berlin:
    """The process, and its clock."""

    def __init__(self, folder: Path, now: datetime, **tasks: str) -> None:
        self._file = folder / "time"
        self.set(now)
        faked = {**environment(library(), self._file), "TZ": "Europe/Berlin"}
        words = [f"{name}={value}" for name, value in faked.items()]
        registered = [f"{name}={cron}" for name, cron in tasks.items()]
        self.program = Program(folder, "env", *words, sys.executable, "-c", PROGRAM, *registered)

    def set(self, now: datetime) -> None:
        """From here on, it is that time there."""
        offset = now.timestamp() - SystemClock().now().timestamp()
        self._file.write_text(f"{offset:+.3f}")

    def until(self, *texts: str) -> None:
        """Wait for lines, in any order."""
        for text in texts:
            if not any(text in line for line in self.program.lines):
                self.program.read_until(text)

    def end(self) -> None:
        self.program.write("")
        self.program.read_until("over")

    def starts(self, task: str) -> list[str]:
        """When a task was due and started, as the clocks on the wall there have it."""
        return [line.removeprefix(f"{task} due ") for line in self.program.lines if f"{task} due" in line]


@pytest.mark.req("DECL-08", "DECL-41")
def test_a_running_scheduler_passes_the_change_to_summer(tmp_path: Path) -> None:
    berlin = Berlin(
        tmp_path,
        datetime(2027, 3, 28, 1, 59, 54, tzinfo=BERLIN),
        each="* * * * *", lost="30 2 * * *", after="0 3 * * *", long="59 1 * * *",
    )  # fmt: skip
    with berlin.program:
        # The minute after 01:59 CET.
        berlin.until("each due 28 03:00 CEST at 28 03:00 CEST", "after due 28 03:00 CEST at 28 03:00 CEST")
        berlin.set(datetime(2027, 3, 29, 2, 29, 48, tzinfo=BERLIN))
        berlin.until("lost due 29 02:30 CEST at 29 02:30 CEST")
        berlin.until("long ended", "long due 29 01:59 CEST at 29 02:30 CEST")  # who sets a clock ends nothing
        berlin.end()
    assert berlin.starts("lost") == ["29 02:30 CEST at 29 02:30 CEST"], "on the 28th there was no 02:30"
    assert berlin.starts("after") == ["28 03:00 CEST at 28 03:00 CEST"]
    assert [line.partition(" at ")[0] for line in berlin.starts("each")][:2] == [
        "28 01:59 CET",
        "28 03:00 CEST",
    ]


@pytest.mark.req("DECL-09", "DECL-41")
def test_a_running_scheduler_passes_the_change_to_winter(tmp_path: Path) -> None:
    berlin = Berlin(
        tmp_path,
        datetime(2027, 10, 31, 1, 59, 57, tzinfo=BERLIN),
        each="* * * * *", twice="0 2 * * *", once="59 1 * * *",
    )  # fmt: skip
    with berlin.program:
        berlin.until("twice due 31 02:00 CEST at 31 02:00 CEST")
        berlin.set(datetime(2027, 10, 31, 2, 59, 48, tzinfo=BERLIN))
        berlin.until("twice due 31 02:00 CET at 31 02:00 CET")
        berlin.end()
    assert berlin.starts("twice") == ["31 02:00 CEST at 31 02:00 CEST", "31 02:00 CET at 31 02:00 CET"]
    assert berlin.starts("once") == ["31 01:59 CEST at 31 01:59 CEST"]
    due = [line.partition(" at ")[0] for line in berlin.starts("each")]
    assert due[:2] == ["31 01:59 CEST", "31 02:00 CEST"]
    assert due[-1] == "31 02:00 CET"
    assert len(due) == len(set(due)), "each minute runs once, those that come twice as well"
