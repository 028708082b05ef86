"""Shows a trial while it goes on: on a terminal all the time, elsewhere a line now and then."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from foliot.clock import SystemClock
from foliot_proof.faults.fault import InjectedFault
from foliot_proof.faults.fault_injector import FaultInjector
from foliot_proof.faults.host import Host
from foliot_proof.faults.trial import Show
from foliot_proof.history.facts import Trouble

_CLOCK = SystemClock()
_BETWEEN_LINES = 10.0  # seconds, where nobody watches
_LATEST = 5
_COLOURS = {Trouble.DOWN: "red", Trouble.PAUSED: "yellow", Trouble.PARTITIONED: "magenta"}


@contextmanager
def display() -> Iterator[Show]:
    """How to show a trial, for as long as it lasts."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield _Lines().show
        return
    with Live(console=console, refresh_per_second=5, transient=True) as live:
        picture = _Picture()
        yield lambda phase, injector: live.update(picture.draw(phase, injector))


class _Lines:
    """A plain line now and then."""

    def __init__(self) -> None:
        self._begin = _CLOCK.monotonic()
        self._next = _BETWEEN_LINES

    def show(self, phase: str, injector: FaultInjector) -> None:
        elapsed = _CLOCK.monotonic() - self._begin
        if elapsed >= self._next:
            self._next += _BETWEEN_LINES
            sys.stderr.write(f"{elapsed:4.0f} s  {phase}: {_counts(injector)}\n")
            sys.stderr.flush()


class _Picture:
    """What is up, what is being done, and what was."""

    def __init__(self) -> None:
        self._begin = _CLOCK.monotonic()

    def draw(self, phase: str, injector: FaultInjector) -> Group:
        """Everything, as it is now."""
        table = Table.grid(padding=(0, 3))
        is_up = injector.database.is_up
        table.add_row("store", _state("up" if is_up else "down", "green" if is_up else "red"), "")
        for host in injector.hosts:
            table.add_row(host.name, _health(host), injector.now_doing.get(host.name, ""))
        elapsed = Text(f"{phase}, {_CLOCK.monotonic() - self._begin:.0f} s")
        bar = ProgressBar(total=1.0, completed=injector.progress, width=60)
        done = [Text(_fault(fault), style="dim") for fault in injector.injected[-_LATEST:]]
        return Group(elapsed, bar, table, Text(_counts(injector)), *done)


def _counts(injector: FaultInjector) -> str:
    injector.tail.read_on()
    noted, done = injector.tail.counts, injector.counts
    injuries = sum(n for kind, n in done.items() if kind != "start") - injector.kills
    return (
        f"{injector.kills} kills, {injuries} other faults, {done['start']} starts; "
        f"jobs: {noted['start']} starts, {noted['end']} ends; calls that failed: {noted['trouble']}"
    )


def _health(host: Host) -> Text:
    for trouble, colour in _COLOURS.items():
        if trouble in host.troubles:
            return _state(trouble, colour)
    return _state("up", "green")


def _state(words: str, colour: str) -> Text:
    return Text(words, style=colour)


def _fault(fault: InjectedFault) -> str:
    seconds = (fault.end - fault.begin).total_seconds()
    vain = "" if fault.bites else ", in vain"
    return (
        f"{fault.begin:%H:%M:%S}  {fault.kind} {fault.host or 'store'} {seconds:.1f} s  {fault.words}{vain}"
    )
