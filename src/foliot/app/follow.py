"""Requests a run because of an event. It counts once, however many nodes ask, and however often."""

from __future__ import annotations

from foliot.app.part import Workplace
from foliot.engine.plan_command import Follow, plan_command
from foliot.errors import CommandRefusedError, JobNotFoundError
from foliot.protocols import JobQuery


async def follow(host: Workplace, job: str, command: Follow) -> bool:
    """Ask for it. A job that is not there, and a request that was there before, change nothing.

    False: the job is there, and this process cannot read it. Another process may be able to.
    """
    now = await host.store.now()
    try:
        done = await host.store.update(job, lambda record: plan_command(record, command, now))
    except CommandRefusedError:
        return True
    except JobNotFoundError:
        return not await host.store.jobs(JobQuery(keys=frozenset((job,))))
    host.handle_events(done.events)
    return True
