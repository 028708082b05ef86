"""A program that uses the REST API of Foliot: declares a job, runs it, and waits for its end.

BASE=http://127.0.0.1:8000/cron FOLIOT_API_TOKEN=… python examples/rest_httpx.py
"""

from __future__ import annotations

import os
import time

import httpx

client = httpx.Client(
    base_url=f"{os.environ['BASE']}/api/v1",
    headers={"Authorization": f"Bearer {os.environ['FOLIOT_API_TOKEN']}"},
)


def main() -> None:
    """Every error is a problem: `code` is for programs, `detail` and `hint` are for people."""
    action = {"kind": "python:greet", "payload": {"who": "httpx"}}
    wrong = client.post("/jobs", json={"name": "x", "schedule": "61 * * * *", "action": action}).json()
    print(wrong["code"], "-", wrong["detail"])

    job = client.put("/jobs/api~2Fevening", json={"schedule": "0 19 * * *", "action": action})
    job.raise_for_status()
    run = client.post("/jobs/api~2Fevening/runs").raise_for_status().json()
    while (found := client.get(run["links"]["self"].partition("/api/v1")[2]).json())["status"] in (
        "pending",
        "running",
    ):
        time.sleep(0.2)
    print(found["status"], "-", client.get(f"/runs/{run['id']}/logs").json()["text"].strip())
    client.delete("/jobs/api~2Fevening").raise_for_status()


if __name__ == "__main__":
    main()
