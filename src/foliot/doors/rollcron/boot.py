"""Jobs with the schedule `@reboot`: when a daemon starts, it asks for one run for this boot of its host.

    boot ──▶ daemon starts ──▶ request boot-web1-6f2c…  ──▶ a run
             daemon starts again ──▶ the same request: nothing

A request counts once, so neither a daemon that is started again nor two daemons on one host double it.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

from foliot.app.follow import follow
from foliot.app.part import Workplace
from foliot.engine.plan_command import Follow
from foliot.model.attempt import Trigger
from foliot.model.job import Job
from foliot.schedules import Never
from foliot.sources.git.layout import this_boot

_SEPARATORS = str.maketrans("!@", "__")
_SHOWN = 16  # characters of a boot id, which is random


def boot_request(host: str, boot: str) -> str:
    """The name of the one request for a boot of a host."""
    return f"boot-{host}-{boot.replace('-', '')[:_SHOWN]}".translate(_SEPARATORS)


def this_boot_request() -> str | None:
    """That of the present boot; None: this system does not tell its boots apart."""
    boot = this_boot()
    return boot_request(socket.gethostname(), boot) if boot else None


async def ask_after_boot(host: Workplace, jobs: Sequence[Job], request: str | None) -> None:
    """Ask for a run of each job that runs after a boot, unless this boot has had it."""
    if request is None:
        return
    command = Follow(request, Trigger.REBOOT, f"its host has started: {request}")
    for job in jobs:
        if isinstance(job.schedule, Never) and job.schedule.at_boot:
            await follow(host, job.key, command)
