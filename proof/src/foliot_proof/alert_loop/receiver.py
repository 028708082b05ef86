"""The other end of a webhook: it writes down each message, and does not always say so."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from random import Random
from typing import Any

from foliot_proof.kill_loop.fork import fork

_ANSWERS = (204,) * 10 + (503, None)  # None: it hangs up without an answer


class Receiver:
    """A web server on this host, in a process that lives until it is closed."""

    def __init__(self, path: Path, seed: int) -> None:
        self._path = path
        self._peace = path.with_name("peace")
        path.touch()
        server = HTTPServer(("127.0.0.1", 0), _handler(path, self._peace, Random(f"receiver {seed}")))  # noqa: S311 - chance that can be repeated
        self.url = f"http://127.0.0.1:{server.server_port}/hook"
        self._pid = fork(server.serve_forever)
        server.socket.close()  # the child has it

    def make_peace(self) -> None:
        """From now on it takes everything. A delivery that failed often is tried every ten minutes only."""
        self._peace.touch()

    def close(self) -> None:
        """End it."""
        os.kill(self._pid, 9)
        os.waitpid(self._pid, 0)

    def alerts(self) -> Iterator[dict[str, Any]]:
        """All that it was sent, one by one, those of digests too, with their channels; some several times."""
        for line in self._path.read_text().splitlines():
            channel, _, text = line.partition(" ")
            message = json.loads(text)
            yield from ({**alert, "channel": channel} for alert in message.get("alerts", [message]))


def _handler(path: Path, peace: Path, chance: Random) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:  # who sent it was killed
                self.close_connection = True
                return
            answer = 204 if peace.exists() else chance.choice(_ANSWERS)
            if answer != 503:  # noqa: PLR2004 - a server that is overloaded takes nothing
                with path.open("ab") as file:
                    file.write(f"{self.path.rpartition('/')[2]} ".encode() + body + b"\n")
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Handler
