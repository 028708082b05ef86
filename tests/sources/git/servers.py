"""Servers on loopback: a real one for git over HTTP, one for git's own protocol, and some that misbehave."""

from __future__ import annotations

import os
import socket
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

USER, PASSWORD = "me", "p@ss/w0rd"
_EXPECTED = "Basic " + b64encode(f"{USER}:{PASSWORD}".encode()).decode()


class GitServer(ThreadingHTTPServer):
    """git-http-backend behind a password; notes the arguments of every process that it sees meanwhile."""

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.root = root
        self.seen: set[str] = set()
        self.asked = 0


class _Handler(BaseHTTPRequestHandler):
    server: GitServer

    def _serve(self) -> None:
        self.server.asked += 1
        self.server.seen |= command_lines()
        if self.headers["Authorization"] != _EXPECTED:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": parts.path,
            "QUERY_STRING": parts.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers["Content-Type"] or "",
            "HTTP_CONTENT_ENCODING": self.headers["Content-Encoding"] or "",
            "REMOTE_USER": USER,
        }
        done = subprocess.run(  # the real thing
            ["git", "http-backend"],  # noqa: S607 - the git that is on the PATH
            env=environment, input=body, capture_output=True, check=True,
        )  # fmt: skip
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = _serve  # noqa: N815 - the names that the base class asks for

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def command_lines() -> set[str]:
    """The arguments of all processes of this host, as every user sees them."""
    lines = set()
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.add(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return lines


@contextmanager
def git_over_http(root: Path) -> Iterator[GitServer]:
    with GitServer(root) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return int(server.getsockname()[1])


@contextmanager
def git_daemon(root: Path, port: int) -> Iterator[None]:
    """`git daemon`, for repositories below a directory."""
    words = [
        "git", "daemon", f"--base-path={root}", "--export-all", "--reuseaddr",
        "--listen=127.0.0.1", f"--port={port}", "--verbose", "--log-destination=stderr",
    ]  # fmt: skip
    with subprocess.Popen(words, stderr=subprocess.PIPE) as process:  # noqa: S603 - the test's own server
        assert process.stderr is not None
        while b"Ready to rumble" not in process.stderr.readline():
            pass
        Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield
        finally:
            process.terminate()


@contextmanager
def deaf_server(answer: bytes = b"") -> Iterator[int]:
    """A server that accepts, perhaps begins to answer, and then says nothing for ever; its port."""
    open_: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    open_.append(connection)
                    connection.sendall(answer)

        Thread(target=accept, daemon=True).start()
        try:
            yield int(server.getsockname()[1])
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for connection in open_:
                connection.close()
