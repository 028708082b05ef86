"""A web server for tests that answers as it is told: wrongly, slowly, or never."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

Answering = Callable[[socket.socket], None]


class Asked(NamedTuple):
    """A request as it arrived; names of headers in small letters."""

    line: str
    headers: dict[str, str]
    body: bytes


class WebServer:
    """Listens on loopback. `answers` is used up in order; the last one is used for ever."""

    def __init__(self, *answers: bytes | Answering, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.connections = 0
        self._answers = list(answers) or [reply(200)]
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http{'s' if tls else ''}://localhost:{self.port}/hook/s3cret?token=c4nary"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in `accept`
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                self.asked.append(_read(connection))
                answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
                connection.sendall(answer) if isinstance(answer, bytes) else answer(connection)


def _read(connection: socket.socket) -> Asked:
    with connection.makefile("rb") as file:
        line = file.readline().decode("latin-1").strip()
        headers = {}
        while text := file.readline().decode("latin-1").strip():
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        return Asked(line, headers, file.read(int(headers.get("content-length", 0))))


def reply(status: int, body: bytes = b"", **headers: str) -> bytes:
    """An answer as it goes over the wire."""
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextmanager
def web_server(*answers: bytes | Answering, tls: ssl.SSLContext | None = None) -> Iterator[WebServer]:
    server = WebServer(*answers, tls=tls)
    try:
        yield server
    finally:
        server.close()


class Certificate(NamedTuple):
    """A certificate for localhost that signs itself."""

    certificate: Path
    key: Path

    @property
    def server(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context

    @property
    def client(self) -> ssl.SSLContext:
        """The settings of a client that trusts it."""
        return ssl.create_default_context(cafile=str(self.certificate))


def make_certificate(folder: Path) -> Certificate:
    program = shutil.which("openssl") or pytest.skip("there is no openssl here to make certificates")
    made = Certificate(folder / "own.crt", folder / "own.key")
    subprocess.run(  # noqa: S603 - the program that was found
        [
            program, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            "-keyout", str(made.key), "-out", str(made.certificate),
        ],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    return made
