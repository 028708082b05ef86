"""A RabbitMQ of one's own, for tests that pause it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import NamedTuple
from uuid import uuid4

from foliot.clock import SystemClock
from foliot.testing.servers import MissingServerError
from foliot.testing.servers.process import free_port

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # Debian's other one starts it as another user
_PATIENCE = 90.0  # seconds


class Rabbit(NamedTuple):
    """A broker that runs."""

    url: str
    process: int

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all of its processes."""
        os.killpg(self.process, number)


@contextmanager
def rabbit() -> Iterator[Rabbit]:
    """A broker, which is gone afterwards. MissingServerError if there is none, or it does not start."""
    if not PROGRAM.exists():
        raise MissingServerError("there is no RabbitMQ: apt-get install rabbitmq-server")
    with tempfile.TemporaryDirectory(prefix="foliot-rabbit-", ignore_cleanup_errors=True) as folder:
        port = free_port()
        variables = {
            "HOME": folder,
            "RABBITMQ_NODENAME": f"foliot-{uuid4().hex}@localhost",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": f"{folder}/data",
            "RABBITMQ_LOG_BASE": f"{folder}/log",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins",
            "RABBITMQ_CONF_ENV_FILE": f"{folder}/none",
            "ERL_EPMD_PORT": str(free_port()),
        }
        # A daemon of this kind would outlive the test: as a child it does not.
        names = subprocess.Popen(["epmd"], env=os.environ | variables)  # noqa: S607 - it comes with RabbitMQ
        process = subprocess.Popen(  # noqa: S603 - the program that was found
            [PROGRAM], env=os.environ | variables, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            _wait_until_ready(process, port)
            yield Rabbit(f"amqp://guest:guest@127.0.0.1:{port}//", process.pid)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            names.kill()
            names.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    clock, pause = SystemClock(), Event()
    give_up_at = clock.monotonic() + _PATIENCE
    while not _answers(port):
        if process.poll() is not None or clock.monotonic() > give_up_at:
            raise MissingServerError("RabbitMQ does not start")
        pause.wait(0.1)


def _answers(port: int) -> bool:
    """Whether it answers a client that speaks its language."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 2) as wire:
        wire.sendall(b"AMQP\0\0\x09\x01")
        return bool(wire.recv(8))
    return False
