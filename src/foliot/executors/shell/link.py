"""The daemon's end of a warden: starts it, talks to it, and notices when it is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foliot.executors.shell.warden.process_tree import kill_all
from foliot.executors.shell.warden.timer import now
from foliot.executors.shell.wire import Message, Wire

_SOURCES = Path(__file__).parents[3]
_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from foliot.executors.shell.warden.guard import main; sys.exit(main(sys.argv[2:]))"
)
_NEEDED = ("LD_LIBRARY_PATH",)  # by the interpreter itself, on some hosts
_AGAIN = 0.01
_PATIENCE = 500  # times that: for one that was killed, and hangs in the kernel
_BEAT = 1.0  # between one question and the next
_SILENT = 5.0  # seconds, after which it is woken
_DEAF = 20.0  # seconds, after which it is killed; ending those who do not die takes it ten


class WardenLink:
    """A warden that lives, on the running loop. `on_gone` is called once, when nothing of it is left.

    Both sides have to say something now and then, so that silence means something. A job that runs as the
    same user can stop its warden, and then nobody would end that job, nor any other.
    """

    def __init__(
        self,
        settings: dict[str, Any],
        on_message: Callable[[WardenLink, Message], None],
        on_gone: Callable[[WardenLink], None],
    ) -> None:
        self._on_message = on_message
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        try:
            self._process = _start(theirs.fileno())
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._wire = Wire(ours)
        self._loop.add_reader(ours, self._receive)
        self._is_flushing = False
        self.is_hung_up = False  # by us
        self._reaps = 0
        self._silence = 0.0  # seconds in which it was asked, and said nothing
        self._is_killed = False
        leash: float | None = settings["leash"]
        self._beat = _BEAT if leash is None else min(_BEAT, leash / 4)
        self.post({"settings": settings})  # not as arguments: every user of the host can read those
        self._ask()

    @property
    def pid(self) -> int:
        """The pid of the guard."""
        return self._process.pid

    def post(self, message: Message) -> None:
        """Have a message sent, with the others of this turn."""
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self._flush)
        self._wire.post(message)

    def hang_up(self) -> None:
        """Have the warden end all that runs, and go."""
        if not self.is_hung_up and self._wire.fileno() >= 0:
            self.is_hung_up = True
            self._wire.flush()
            self._wire.hang_up()

    def _flush(self) -> None:
        self._is_flushing = False
        if self._wire.fileno() < 0:
            return
        self._wire.flush()
        if self._wire.unsent:
            self._is_flushing = True
            self._loop.add_writer(self._wire, self._flush)
        else:
            self._loop.remove_writer(self._wire)

    def _receive(self) -> None:
        try:
            for message in self._wire.receive():
                self._silence = 0.0
                if "alive" not in message:
                    self._hear(message)
        except EOFError:
            self._part()

    def _part(self) -> None:
        if self._wire.fileno() >= 0:
            self._loop.remove_reader(self._wire)
            self._loop.remove_writer(self._wire)
            self._wire.close()
            self._reap()

    def _ask(self) -> None:
        """Ask for a sign of life. Silence is counted in questions: if we slept, it has had no chance."""
        if self._wire.fileno() < 0:
            return
        if self._silence >= _SILENT or self.is_hung_up:
            self._process.send_signal(signal.SIGCONT)  # the guard wakes the worker
        if self._silence >= _DEAF and not self._is_killed:
            self._is_killed = True
            killed = self._loop.run_in_executor(None, kill_all, lambda: [self.pid])
            killed.add_done_callback(lambda _: self._part())
        if not self.is_hung_up:
            self.post({"alive": True, "at": now()})
        self._silence += self._beat
        self._loop.call_later(self._beat, self._ask)

    def _hear(self, message: Message) -> None:
        try:
            self._on_message(self, message)
        except Exception as error:  # noqa: BLE001 - who fails to hear one message must hear the next
            context = {"message": "what a warden told was not understood", "exception": error}
            self._loop.call_exception_handler(context)

    def _reap(self) -> None:
        self._reaps += 1
        if self._process.poll() is None and self._reaps < _PATIENCE:  # it is about to exit
            self._loop.call_later(_AGAIN, self._reap)
        else:
            self._on_gone(self)


def _start(descriptor: int) -> subprocess.Popen[bytes]:
    arguments = [str(_SOURCES), str(descriptor), str(os.getpid())]
    return subprocess.Popen(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", _CODE, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(descriptor,),
        env={name: os.environ[name] for name in _NEEDED if name in os.environ},
        start_new_session=True,  # a terminal's Ctrl-C is for the daemon
    )
