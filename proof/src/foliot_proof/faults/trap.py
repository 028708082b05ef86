"""Where a node can be told to die: the named steps of engine and store."""

from __future__ import annotations

import os
import signal

from foliot.clock import SystemClock
from foliot_proof.faults.witness_log import WitnessLog

_TIME_TO_HEAR = 0.1  # seconds: it may be another thread that hears a signal first
ENGINE = ("claimed", "before_start", "before_finish", "finished")
BIRTH = ("migrate:before_commit", "migrate:after_commit")  # of the file: before anything else can happen
_VERBS = (
    "open", "reconcile", "join", "renew", "claim", "finish", "recover", "update", "prune", "write_outputs",
)  # fmt: skip
COMMITS = tuple(f"{verb}:{side}_commit" for verb in _VERBS for side in ("before", "after"))
PARTING = ("leave:before_commit", "leave:after_commit")  # only a node that is asked to stop comes here
ONCE = ("open", "join", "prune", "leave", "migrate")  # in a life, if at all
ALL = (*BIRTH, *ENGINE, *COMMITS, *PARTING)
PREPARING = ("prepare:before_commit", "prepare:after_commit")  # a server is told of new jobs beforehand
STANDING = ("claim:before_commit", "finish:before_commit", "recover:before_commit", "before_start")
ON_A_SERVER = (*BIRTH, *ENGINE, *PREPARING, *COMMITS[2:], *PARTING)  # where opening writes nothing


class Trap:
    """Kills its own process, or stops it, when it comes to a step for the nth time; without a step, not."""

    def __init__(self, witness_log: WitnessLog, step: str, passes: int, *, stands: bool = False) -> None:
        self._witness_log = witness_log
        self._step = step
        self._left = passes
        self._stands = stands

    def __call__(self, step: str) -> None:
        """The process has come to a step."""
        if step != self._step:
            return
        self._left -= 1
        if self._left == 0 and self._stands:
            self._witness_log.note("stands", step=step)
            os.kill(os.getpid(), signal.SIGSTOP)
            SystemClock().sleep(_TIME_TO_HEAR)
        elif self._left <= 0 and not self._stands:
            self._witness_log.note("trapped", step=step)
            os.kill(os.getpid(), signal.SIGKILL)
