"""Jobs inside a Flask application: plain code all through, no event loop of your own.

    python examples/flask_app.py [PORT]
    curl -X POST localhost:5000/reports/july
    curl localhost:5000/reports

`jobs.wait(…)` does from plain code what is awaited elsewhere.
"""

from __future__ import annotations

import signal
import sys
import time

from flask import Flask

from foliot import Foliot
from foliot.executors.python import JobRun

jobs = Foliot("sqlite:///flask.db")
web = Flask(__name__)


@jobs.job("0 6 * * *", timezone="Europe/Berlin")
def report(run: JobRun) -> None:
    """A plain function runs in a thread, and may block."""
    time.sleep(0.2)
    run.log("report written for", run.key)


@web.post("/reports/<name>")
def order(name: str) -> tuple[dict[str, str], int]:
    """Run the job now. Ordered twice under one name, it runs once."""
    return {"run": jobs.wait(jobs.trigger("report", request=name))}, 202


@web.get("/reports")
def list_reports() -> list[dict[str, str]]:
    """The latest runs."""
    return [{"run": a.run_key, "state": a.outcome or a.state} for a in jobs.wait(jobs.history("report"))]


def main(port: int) -> None:
    """Serve until Ctrl-C or SIGTERM; then let what runs end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    jobs.start()
    try:
        web.run(port=port)
    finally:
        jobs.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 5000)
