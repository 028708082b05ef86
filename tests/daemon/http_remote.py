"""Repositories over HTTP, as a forge serves them: git's own program, behind a door with a password."""

from __future__ import annotations

import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from sources.git.scene import git


class HttpRemote(ThreadingHTTPServer):
    """All repositories of a folder; `heard` is who callers said they were."""

    def __init__(self, folder: Path, user: str, password: str) -> None:
        super().__init__(("127.0.0.1", 0), _Caller)
        self.folder = folder
        self.pass_word = f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"
        self.heard: list[str | None] = []


class _Caller(BaseHTTPRequestHandler):
    """One who asks; without the password, nobody gets anything."""

    server: HttpRemote

    def do_GET(self) -> None:
        said = self.headers.get("Authorization")
        self.server.heard.append(said)
        if said == self.server.pass_word:
            self._answer()
            return
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="here"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET  # noqa: N815 - as the standard library calls it

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        done = subprocess.run(  # noqa: S603 - git's own program
            [f"{git(self.server.folder, '--exec-path')}/git-http-backend"],
            input=body,
            capture_output=True,
            check=True,
            env={
                "GIT_PROJECT_ROOT": str(self.server.folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": parts.path,
                "QUERY_STRING": parts.query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REMOTE_USER": "me",
            },
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = next((value for name, value in fields if name == "Status"), "200 OK")
        self.send_response(int(status.split()[0]))
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def http_remote(folder: Path, user: str, password: str) -> Iterator[HttpRemote]:
    """A server, for as long as a test needs it."""
    with HttpRemote(folder, user, password) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
