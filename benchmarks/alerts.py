"""A flood of failures beside punctual jobs, with and without alerts: `python -m benchmarks.alerts` (OWN-04).

Real time, a real file, a real web server on this host. So many jobs fail, spread over so many seconds; twenty
jobs run each second, and note how late they started. The lateness of those, once without alerts and once with
them, and the messages that came, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from foliot import Every, Foliot, JobRun, Once
from foliot.alerts.webhook import Webhook
from foliot.clock import SystemClock

_CLOCK = SystemClock()
_PUNCTUAL = 20
_AHEAD = timedelta(seconds=3)  # to declare them all
_SECOND = timedelta(seconds=1)
_PATIENCE = timedelta(minutes=15)


class Receiver:
    """What has come to a web server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.messages: list[dict[str, Any]] = []

    @property
    def told(self) -> set[str]:
        """The jobs that were named."""
        alerts = (alert for message in list(self.messages) for alert in message.get("alerts", [message]))
        return {alert["job"] for alert in alerts if alert["kind"] == "failure"}


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A web server that takes everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.messages.append(json.loads(body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Receiver(f"http://127.0.0.1:{server.server_port}/hook")
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield found
        server.shutdown()


async def flood(folder: str, failing: int, seconds: int, hook: Receiver | None) -> dict[str, float | int]:
    """Let them fail; how late the others were, and how many messages told of it."""
    lateness: list[float] = []
    channels = {} if hook is None else {"ops": Webhook(hook.url)}
    app = Foliot(f"sqlite:///{Path(folder) / 'jobs.db'}", name="flood", channels=channels)

    @app.action
    async def fail() -> None:
        raise RuntimeError("no route to host")

    @app.action
    async def be_punctual(run: JobRun) -> None:
        lateness.append((_CLOCK.now() - run.scheduled_for).total_seconds())

    begin = _CLOCK.now() + _AHEAD
    times = (begin + timedelta(seconds=seconds) * number / failing for number in range(failing))
    await app.schedule_many(
        ((f"failing-{n}", Once(at), "fail", None) for n, at in enumerate(times)),
        notify="ops" if hook else None,
    )
    await app.schedule_many((f"punctual-{n}", Every(_SECOND), "be_punctual", None) for n in range(_PUNCTUAL))
    async with app:
        await _CLOCK.wait(_AHEAD + timedelta(seconds=seconds + 5))
        late = sorted(lateness)
        waited = timedelta(0)
        while hook is not None and len(hook.told) < failing and waited < _PATIENCE:
            await _CLOCK.wait(_SECOND)
            waited += _SECOND
    found: dict[str, float | int] = {
        "starts": len(late),
        "late_p50_ms": round(median(late) * 1000, 1),
        "late_p99_ms": round(late[len(late) * 99 // 100] * 1000, 1),
        "late_most_ms": round(late[-1] * 1000, 1),
    }
    if hook is not None:
        found |= {"messages": len(hook.messages), "told": len(hook.told), "told_after_s": waited.seconds + 5}
    return found


async def measure(failing: int, seconds: int) -> dict[str, Any]:
    """Once without alerts, and once with them."""
    with TemporaryDirectory(prefix="foliot-alerts-") as folder:
        without = await flood(folder, failing, seconds, None)
    with TemporaryDirectory(prefix="foliot-alerts-") as folder, receiver() as hook:
        told = await flood(folder, failing, seconds, hook)
    return {"failures": failing, "seconds": seconds, "without_alerts": without, "with_alerts": told}


def main() -> None:
    """Measure, and tell as JSON."""
    parser = ArgumentParser(prog="python -m benchmarks.alerts", description=__doc__)
    parser.add_argument("--failures", type=int, default=2000, help="how many jobs fail")
    parser.add_argument("--seconds", type=int, default=60, help="within how many seconds")
    given = parser.parse_args()
    json.dump(asyncio.run(measure(given.failures, given.seconds)), sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
