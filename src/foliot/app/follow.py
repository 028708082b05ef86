"""Requests a run because of an event. It counts once, however many nodes ask, and however often."""

from __future__ import annotations

from contextlib import suppress

from foliot.app.part import Workplace
from foliot.engine.plan_command import Follow, plan_command
from foliot.errors import CommandRefusedError, JobNotFoundError


async def follow(host: Workplace, job: str, command: Follow) -> None:
    """Ask for it. A job that is not there, and a request that was there before, change nothing."""
    now = await host.store.now()
    with suppress(JobNotFoundError, CommandRefusedError):
        done = await host.store.update(job, lambda record: plan_command(record, command, now))
        host.handle_events(done.events)
