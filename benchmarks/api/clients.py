"""Clients of an API, in a process of their own: `python -m benchmarks.api.clients CROWD`, a `Crowd` as JSON.

They say `ready` when all are there, go on until stdin is closed, and tell as JSON what they got.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, cycle
from random import Random
from typing import Any

from benchmarks.api.connection import Connection, connected, request
from foliot.clock import SystemClock

_CLOCK = SystemClock()
_SECOND = timedelta(seconds=1)
KINDS_OF_QUESTIONS = 4  # the last of them asks for a run
_ASKING = 10  # connections that share the requests
_LARGE = b"[%s]" % b",".join([b"[]"] * 2_666_666)  # 8 MB, and much work for a decoder
_CHUNK = 65_536
_STREAMS_OF_TOKEN = 8
_JSON = "Content-Type: application/json"
_LOST = (OSError, EOFError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """How many clients there are of each kind, and what they know. `job` and `run` are ids."""

    rate: int = 0  # requests a second
    slow: int = 0
    streams: int = 0
    large: int = 0  # senders of large bodies
    port: int = 0
    tokens: tuple[str, ...] = ()
    job: str = ""
    run: str = ""
    runs_without_asking: float = (
        0  # a second, which the engine starts by itself: what others ask for by requests
    )

    @property
    def tokens_needed(self) -> int:
        """So many that the limits of one token keep no request and no stream away."""
        return 4 + -(-self.streams // _STREAMS_OF_TOKEN)


class Clients:
    """Clients that are at work, and what they got."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._tokens = cycle(crowd.tokens[:4])
        self.answers: Counter[int] = Counter()  # by status
        self.refused: Counter[int] = Counter()  # large bodies
        self.streams: Counter[int] = Counter()
        self.took: list[float] = []
        self.hints = self.cut_off = self.lost = 0
        self._opened = 0

    async def work(self, group: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        """Begin; all streams are open, or refused, when this ends."""
        crowd = self._crowd
        jobs = [self._listen(token) for token in self._tokens_of_streams()]
        jobs += [self._dawdle() for _ in range(crowd.slow)]
        jobs += [self._send_large(kind) for kind, _ in zip(cycle(range(3)), range(crowd.large), strict=False)]
        if crowd.rate:
            jobs += [self._ask(number) for number in range(_ASKING)]
        tasks = [group.create_task(job) for job in jobs]
        while self._opened < crowd.streams:
            await _CLOCK.wait(_SECOND / 20)
        return tasks

    def _tokens_of_streams(self) -> list[str]:
        return [self._crowd.tokens[4 + n // _STREAMS_OF_TOKEN] for n in range(self._crowd.streams)]

    async def _ask(self, number: int) -> None:
        """Ask at times that are fixed before: late is an answer from when it should have been asked for."""
        pause, begin = _ASKING / self._crowd.rate, _CLOCK.monotonic()
        turns, times = count(), Random(number)  # noqa: S311 - no secret
        while True:
            try:
                async with connected(self._crowd.port) as connection:
                    for turn in turns:
                        due = begin + (turn + times.random()) * pause
                        await _CLOCK.wait(timedelta(seconds=max(0.0, due - _CLOCK.monotonic())))
                        self.answers[await connection.ask(self._question(turn + number))] += 1
                        self.took.append(_CLOCK.monotonic() - due)
            except _LOST:
                self.lost += 1

    def _question(self, turn: int) -> bytes:
        job, run = self._crowd.job, self._crowd.run
        verb, path = (
            ("GET", "/jobs?limit=50"), ("GET", f"/jobs/{job}"),
            ("GET", f"/runs/{run}"), ("POST", f"/jobs/{job}/runs"),
        )[turn % KINDS_OF_QUESTIONS]  # fmt: skip
        return request(verb, f"/api/v1{path}", next(self._tokens), "Content-Length: 0")

    async def _listen(self, token: str) -> None:
        """Listen to all hints, for as long as the server allows it."""
        try:
            async with connected(self._crowd.port) as connection:
                connection.writer.write(request("GET", "/api/v1/events", token))
                try:
                    status, _ = await connection.read_head()
                finally:
                    self._opened += 1
                self.streams[status] += 1
                while part := await connection.reader.read(_CHUNK):
                    self.hints += part.count(b"event: changed")
        except _LOST:
            self.lost += 1

    async def _dawdle(self) -> None:
        """Send a byte a second, and begin anew when the server has had enough."""
        head = request("POST", "/api/v1/jobs", next(self._tokens), _JSON, "Content-Length: 100000")
        while True:
            try:
                async with connected(self._crowd.port) as connection:
                    for byte in head:
                        connection.writer.write(bytes((byte,)))
                        await connection.writer.drain()
                        await _CLOCK.wait(_SECOND)
            except _LOST:
                self.cut_off += 1

    async def _send_large(self, kind: int) -> None:
        """Send a too large body each second: with its length, in chunks, or as a batch that is none."""
        while True:
            try:
                async with connected(self._crowd.port) as connection:
                    self.refused[await self._send(connection, kind)] += 1
            except _LOST:  # it may be cut off before it has read the answer
                self.refused[0] += 1
            await _CLOCK.wait(_SECOND)

    async def _send(self, connection: Connection, kind: int) -> int:
        path = "/api/v1/jobs/batch" if kind == 2 else "/api/v1/jobs"  # noqa: PLR2004 - see above
        length = "Transfer-Encoding: chunked" if kind == 1 else f"Content-Length: {len(_LARGE)}"
        connection.writer.write(request("POST", path, next(self._tokens), _JSON, length))
        for start in range(0, len(_LARGE), _CHUNK):
            part = _LARGE[start : start + _CHUNK]
            connection.writer.write(b"%x\r\n%s\r\n" % (len(part), part) if kind == 1 else part)
            if connection.writer.transport.is_closing():
                break
            await connection.writer.drain()
        if kind == 1:
            connection.writer.write(b"0\r\n\r\n")
        return (await connection.read_head())[0]

    def told(self) -> dict[str, Any]:
        """What they got."""
        took = sorted(self.took) or [0.0]
        return {
            "answers": dict(self.answers),
            "answer_p50_ms": round(took[len(took) // 2] * 1000, 1),
            "answer_p95_ms": round(took[len(took) * 95 // 100] * 1000, 1),
            "streams": dict(self.streams),
            "hints": self.hints,
            "slow_cut_off": self.cut_off,
            "large_bodies": dict(self.refused),
            "lost": self.lost,
        }


async def _work(crowd: Crowd) -> dict[str, Any]:
    clients = Clients(crowd)
    async with asyncio.TaskGroup() as group:
        tasks = await clients.work(group)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        told = clients.told()
        for task in tasks:
            task.cancel()
    return told


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_work(Crowd(**json.loads(sys.argv[1]))))))
