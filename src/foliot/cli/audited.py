"""Commands on the store write the audit, as those of the API do. The actor is `cli:user@host`."""

from __future__ import annotations

import os
import pwd
import socket
from typing import Any

from foliot.access import Actor, Auditor
from foliot.model.attempt import Attempt
from foliot.model.state import Record
from foliot.operations import Effect, Operations
from foliot.protocols import Clock
from foliot.wiring import FullStore


def auditor_of(store: FullStore, clock: Clock) -> Auditor:
    """What writes the entries of the person at the command line."""
    try:
        user = pwd.getpwuid(os.getuid()).pw_name  # and not what the environment says
    except KeyError:  # a container may run as a user without a name
        user = str(os.getuid())
    return Auditor(store, clock, Actor(f"cli:{user}@{socket.gethostname()}"))


class AuditedOperations(Operations):
    """What is done to a job is in the audit; a dry run is not."""

    def __init__(self, store: FullStore, clock: Clock, auditor: Auditor) -> None:
        super().__init__(store, clock)
        self._auditor = auditor

    async def _do(
        self, name: str, record: Record, command: Any, about: Attempt | None = None, *, dry_run: bool
    ) -> Effect:
        if dry_run:
            return await super()._do(name, record, command, about, dry_run=dry_run)
        thing = f"job:{record.job.key}" if about is None else f"run:{about.run_key}"
        payload = getattr(command, "payload", None)
        async with self._auditor.change(name, thing, after=payload) as change:
            effect = await super()._do(name, record, command, about, dry_run=dry_run)
            reason = getattr(command, "reason", "")
            change.detail = effect._replace(reason=reason if name == "pause" else "").text
        return effect
