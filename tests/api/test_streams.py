"""Event streams: never more than the limit, and many hints are one piece."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

from api.stage import WIDE, staged
from foliot.api.hints import Batch, Hint

LIMIT = 3


def test_streams_that_come_at_once_are_never_more_than_the_limit(tmp_path: Path) -> None:
    with staged(None, tmp_path, replace(WIDE, streams=LIMIT)) as stage:
        port = int(stage.base.rpartition(":")[2])
        lines = ("GET /api/v1/events HTTP/1.1", "Host: localhost")
        request = "\r\n".join((*lines, f"Authorization: Bearer {stage.tokens['read']}", "", "")).encode()
        connections = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(20)]
        for connection in connections:
            connection.sendall(request)
        answers = [connection.recv(12) for connection in connections]
        for connection in connections:
            connection.close()
    assert sorted(answers) == [b"HTTP/1.1 200"] * LIMIT + [b"HTTP/1.1 429"] * (20 - LIMIT)


def test_hints_that_have_gathered_are_sent_as_one_piece() -> None:
    one = b'event: changed\ndata: {"topic":"jobs","version":null,"token":7}\n\n'
    batch = Batch([Hint("jobs", "ops", None, 7), Hint("nodes", None, None, 7)])
    assert batch.encoded() == one + one.replace(b"jobs", b"nodes")
