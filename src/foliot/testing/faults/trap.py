"""Where a node can be told to die: the named steps of engine and store."""

from __future__ import annotations

import os
import signal

from foliot.testing.faults.diary import Diary

ENGINE = ("claimed", "before_start", "before_finish", "finished")
BIRTH = ("migrate:before_commit", "migrate:after_commit")  # of the file: before anything else can happen
_VERBS = (
    "open", "reconcile", "join", "renew", "claim", "finish", "recover", "update", "prune", "write_outputs",
)  # fmt: skip
COMMITS = tuple(f"{verb}:{side}_commit" for verb in _VERBS for side in ("before", "after"))
PARTING = ("leave:before_commit", "leave:after_commit")  # only a node that is asked to stop comes here
ONCE = ("open", "join", "prune", "leave", "migrate")  # in a life, if at all
ALL = (*BIRTH, *ENGINE, *COMMITS, *PARTING)


class Trap:
    """Kills its own process when it comes to a step for the nth time. Without a step it does nothing."""

    def __init__(self, diary: Diary, step: str, passes: int) -> None:
        self._diary = diary
        self._step = step
        self._left = passes

    def __call__(self, step: str) -> None:
        """The process has come to a step."""
        if step != self._step:
            return
        self._left -= 1
        if self._left <= 0:
            self._diary.note("trapped", step=step)
            os.kill(os.getpid(), signal.SIGKILL)
