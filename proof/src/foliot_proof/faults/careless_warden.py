"""A warden with a bug: it signals process groups, and adopts nobody. See `bug.end_groups_only`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection
from contextlib import suppress

from foliot.executors.shell.warden import guard, process_tree


def main(arguments: list[str]) -> int:
    """Be a warden that takes a shell's process group for its whole tree."""
    bugs = {
        "adopt_orphans": _do_nothing,
        "end_all": _signal(signal.SIGTERM),
        "kill_all": _signal(signal.SIGKILL),
    }
    for name, bug in bugs.items():
        getattr(process_tree, name)  # if it is no longer there, fail loudly
        setattr(process_tree, name, bug)
    return guard.main(arguments)


def _do_nothing() -> None:
    """Orphans become the children of whoever the system gives them to."""


def _signal(number: signal.Signals) -> Callable[[Callable[[], Collection[int]]], None]:
    def to_groups(roots: Callable[[], Collection[int]]) -> None:
        for pid in roots():
            with suppress(ProcessLookupError):
                os.killpg(pid, number)

    return to_groups
