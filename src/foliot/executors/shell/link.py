"""The daemon's end of a warden: starts it, talks to it, and notices when it is gone."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foliot.executors.shell.wire import Message, Wire

_SOURCES = Path(__file__).parents[3]
_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from foliot.executors.shell.warden.guard import main; sys.exit(main(sys.argv[2:]))"
)
_NEEDED = ("LD_LIBRARY_PATH",)  # by the interpreter itself, on some hosts
_AGAIN = 0.01


class WardenLink:
    """A warden that lives, on the running loop. `on_gone` is called once, when nothing of it is left."""

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
            self._process = _start(theirs.fileno(), settings)
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._wire = Wire(ours)
        self._loop.add_reader(ours, self._receive)
        self._is_flushing = False
        self.is_hung_up = False  # by us

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
                self._hear(message)
        except EOFError:
            self._loop.remove_reader(self._wire)
            self._loop.remove_writer(self._wire)
            self._wire.close()
            self._reap()

    def _hear(self, message: Message) -> None:
        try:
            self._on_message(self, message)
        except Exception as error:  # noqa: BLE001 - who fails to hear one message must hear the next
            context = {"message": "what a warden told was not understood", "exception": error}
            self._loop.call_exception_handler(context)

    def _reap(self) -> None:
        if self._process.poll() is None:  # it has closed its end, and is about to exit
            self._loop.call_later(_AGAIN, self._reap)
        else:
            self._on_gone(self)


def _start(descriptor: int, settings: dict[str, Any]) -> subprocess.Popen[bytes]:
    arguments = [str(_SOURCES), str(descriptor), str(os.getpid()), json.dumps(settings)]
    return subprocess.Popen(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", _CODE, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(descriptor,),
        env={name: os.environ[name] for name in _NEEDED if name in os.environ},
        start_new_session=True,  # a terminal's Ctrl-C is for the daemon
    )
