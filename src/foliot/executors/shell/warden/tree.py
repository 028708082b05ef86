"""One command with all that came from it, as the warden sees it: its pipes, what it wrote, how far it is."""

from __future__ import annotations

import os
from codecs import IncrementalDecoder, getincrementaldecoder
from enum import Enum
from typing import Any

from foliot.executors.run_log import RunLog
from foliot.executors.shell.warden.mask import Mask
from foliot.executors.shell.warden.spawn import Command, Spawner

_CHUNK = 1 << 16
_LAST_CHUNKS = 32  # more than a pipe can hold
_COMPLAINT = 2000  # characters of stderr that are kept for the error
_Decoder = getincrementaldecoder("utf-8")


class Step(Enum):
    """How far a tree is on its way to the end."""

    RUNNING = 1
    LINGERING = 2  # the shell has ended, and others have not
    ENDING = 3  # everybody was sent SIGTERM
    KILLING = 4


class Tree:
    """A command that was started. `code` is the shell's, once it has ended."""

    def __init__(self, command: Command, spawner: Spawner) -> None:
        self.number = command.number
        self.run_id = command.environment.get("FOLIOT_RUN_ID")
        self.mark = spawner.mark(self.number)
        self.step = Step.RUNNING
        self.code: int | None = None
        self.is_asked = False  # to end, before the shell had ended by itself
        self.because: str | None = None  # it is ended, if the daemon did not ask for it
        self.is_fault = False  # whether that was nobody's intention
        self.asked: set[int] = set()  # who was sent SIGTERM
        self.kills = 0
        self.is_to_tell = False  # whether what it wrote is to be told in a while
        self.told_at = 0.0
        self._log = RunLog()
        self._told = 0  # characters of it
        self._complaint = ""
        self._masked = command.masked
        self._streams: dict[int, tuple[IncrementalDecoder, Mask]] = {}
        self.pid, *self.pipes = _start(command, spawner)
        self._err = self.pipes[1]

    # -- what it writes ----------------------------------------------------------------------------

    def read(self, pipe: int) -> bool:
        """Take one piece of what was written; False: nothing more will come."""
        try:
            data = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return True
        self._keep(pipe, data)
        return bool(data)

    def _keep(self, pipe: int, data: bytes) -> None:
        if not data and pipe not in self._streams:
            return
        if pipe not in self._streams:
            self._streams[pipe] = _Decoder("replace"), Mask(self._masked)
        decoder, mask = self._streams[pipe]
        if text := mask.hide(decoder.decode(data, final=not data), is_last=not data):
            self._log.write(text)
            if pipe == self._err:
                self._complaint = (self._complaint + text)[-_COMPLAINT:]

    def close(self, pipe: int) -> None:
        self.pipes.remove(pipe)
        os.close(pipe)

    def drain(self) -> None:
        """Take what is left in the pipes. A stranger may hold them open: that is not waited for."""
        for pipe in list(self.pipes):
            for _ in range(_LAST_CHUNKS):
                try:
                    data = os.read(pipe, _CHUNK)
                except BlockingIOError:
                    data = b""
                self._keep(pipe, data)
                if not data:
                    break
            self.close(pipe)

    # -- what is told ------------------------------------------------------------------------------

    def so_far(self) -> dict[str, Any]:
        """What it has written since this was last told."""
        parts = self._log.since(self._told)
        if parts:
            start, text = parts[-1]
            self._told = start + len(text)
        return {"wrote": self.number, "parts": parts}

    def at_the_end(self, *, is_oom: bool, left: list[int]) -> dict[str, Any]:
        """All there is to know when nobody of it is left, or nobody who can be ended."""
        return {
            "ended": self.number,
            "code": self.code,
            "is_asked": self.is_asked,
            "because": self.because,
            "is_fault": self.is_fault,
            "text": self._log.text,
            "dropped": self._log.dropped,
            "complaint": self._complaint,
            "is_oom": is_oom,
            "left": left,
        }


def _start(command: Command, spawner: Spawner) -> tuple[int, int, int]:
    """The shell's pid, and the ends of its pipes that are ours; nothing stays open if it cannot start."""
    ours: list[int] = []
    theirs: list[int] = []
    try:
        for _ in range(2):
            end, start = os.pipe2(os.O_CLOEXEC)
            ours.append(end)
            theirs.append(start)
            os.set_blocking(end, False)
        spawner.check_files(max(theirs))
        pid = spawner.spawn(command, theirs[0], theirs[1])
    except BaseException:
        for end in ours:
            os.close(end)
        raise
    finally:
        for start in theirs:
            os.close(start)
    return pid, ours[0], ours[1]
