"""A cursor tells nothing that its client may not see, and works for the question that it was given for."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from api.stage import BACKUP, OTHER, Stage, declare
from foliot.model.policy import Misfire, MisfireMode, Policy
from foliot.operations import Operations
from foliot.schedules import Every

LISTS = ("jobs", "runs", "skips")
HOURS = 30
POLICIES = {mode: Policy(misfire=Misfire(mode=mode)) for mode in (MisfireMode.ONCE, MisfireMode.SKIP)}


def told_by(cursor: str) -> bytes:
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


@pytest.fixture(scope="module")
def busy(stage: Stage) -> Stage:
    """Two sources, of whose jobs some have run and some have missed their occurrences."""

    async def furnish(ops: Operations) -> None:
        now = await ops.store.now()
        for job in (BACKUP, OTHER):
            jobs = [
                replace(job, name=f"{job.source}-{mode}-{n}", schedule=Every("1h"), policy=policy)
                for mode, policy in POLICIES.items()
                for n in range(3)
            ]
            await declare(ops, *jobs, at=now - timedelta(hours=HOURS))

    stage.act(furnish)
    stage.run_due()
    return stage


def pages(stage: Stage, path: str, who: str) -> tuple[list[Any], list[str]]:
    """All that a list has, and the cursors of its pages."""
    found: list[Any] = []
    cursors: list[str] = []
    while True:
        page = stage.get(f"/{path}", who, params={"limit": 1, **({"cursor": cursors[-1]} if cursors else {})})
        found += page[path]
        if page["next"] is None:
            return found, cursors
        cursors.append(page["next"])


@pytest.mark.req("OWN-10")
@pytest.mark.parametrize("path", LISTS)
def test_a_cursor_names_nothing_of_other_sources(busy: Stage, path: str) -> None:
    found, cursors = pages(busy, path, "elsewhere")
    everything, _ = pages(busy, path, "admin")
    keys = [one.get("key") or one["job"] for one in found]
    assert len(keys) >= 3
    assert all(key.startswith("other/") for key in keys)
    meant = [one for one in everything if (one.get("key") or one["job"]).startswith("other/")]
    assert sorted(map(str, found)) == sorted(map(str, meant))
    assert len(cursors) < len(everything) - 1, "a page is for what may be seen"
    assert not [cursor for cursor in cursors if b"ops" in told_by(cursor)]


@pytest.mark.req("OWN-10")
@pytest.mark.parametrize("path", LISTS)
def test_a_cursor_that_was_changed_or_is_of_another_client_is_refused(busy: Stage, path: str) -> None:
    cursor = busy.get(f"/{path}?limit=1")["next"]
    busy.get(f"/{path}?limit=1&cursor={cursor}")
    digits = [found.start() for found in re.finditer(rb"[0-9]", told_by(cursor))]
    for place in (digits[0], digits[len(digits) // 2], digits[-1]):
        changed = bytearray(told_by(cursor))
        changed[place] = ord("1") if changed[place] != ord("1") else ord("2")
        text = base64.urlsafe_b64encode(changed).decode().rstrip("=")
        assert busy.get(f"/{path}?limit=1&cursor={text}", code=400)["code"] == "BAD_CURSOR"
    assert busy.get(f"/{path}?limit=1&cursor={cursor}", "elsewhere", code=400)["code"] == "BAD_CURSOR"


@pytest.mark.req("OWN-10")
def test_skips_of_a_job_of_another_source_are_not_there(busy: Stage) -> None:
    assert busy.get("/skips?job=ops/ops-skip-0", "elsewhere") == {"skips": [], "next": None}
    assert busy.get("/skips?job=ops/ops-skip-0&source=other", "elsewhere", code=400)["code"] == "BAD_QUERY"
    assert busy.get("/skips?source=ops", "elsewhere") == {"skips": [], "next": None}
    assert {one["job"] for one in busy.get("/skips?job=ops~2Fops-skip-0")["skips"]} == {"ops/ops-skip-0"}
