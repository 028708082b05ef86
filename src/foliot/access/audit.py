"""An entry of the audit for each change: written as `asked` before the change, and settled after it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any, NamedTuple
from uuid import uuid4

from foliot.access.masking import mask_text, mask_value
from foliot.errors import FoliotError, StoreUnavailableError
from foliot.model.attempt import format_instant
from foliot.model.audit import AuditEntry, AuditOutcome
from foliot.model.json_text import clean_text
from foliot.protocols import Clock
from foliot.protocols_access import AuditStore

LONGEST = 20_000  # characters of each text


class Actor(NamedTuple):
    """The caller, its address, and the request."""

    name: str
    address: str | None = None
    request_id: str | None = None


class Change:
    """A change in progress. `after` and `detail` may be set before it ends."""

    def __init__(self) -> None:
        self.after: Any = None
        self.detail: str | None = None


class Auditor:
    """Writes the entries of one actor. Values before and after a change are written without secrets."""

    def __init__(
        self,
        store: AuditStore,
        clock: Clock,
        actor: Actor,
        new_id: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        self._store = store
        self._clock = clock
        self._actor = actor
        self._new_id = new_id

    @asynccontextmanager
    async def change(
        self, verb: str, thing: str, *, before: object = None, after: object = None
    ) -> AsyncIterator[Change]:
        """Do a change inside of this. If the entry cannot be written, the change does not begin.

        An error of Foliot means that it was refused. After any other end it is unknown what took effect.
        """
        entry = self._entry(verb, thing, before, after)
        await self._store.write_audit(entry)
        change = Change()
        try:
            yield change
        except StoreUnavailableError as error:
            await self._settle(entry, AuditOutcome.UNKNOWN, error.message, None)
            raise
        except FoliotError as error:
            await self._settle(entry, AuditOutcome.REFUSED, error.message, None)
            raise
        except BaseException as error:
            await self._settle(entry, AuditOutcome.UNKNOWN, type(error).__name__, None)
            raise
        await self._settle(entry, AuditOutcome.DONE, change.detail, change.after)

    async def refuse(self, verb: str, thing: str, reason: str) -> None:
        """What was asked for is not allowed: such as a login with a wrong token."""
        entry = self._entry(verb, thing, None, None)
        refused = entry._replace(outcome=AuditOutcome.REFUSED, detail=_text(reason))
        await self._store.write_audit(refused)

    async def note(self, verb: str, things: Mapping[str, object]) -> None:
        """Add entries for other objects that a change has changed. Lost if the store does not answer now."""
        entries = [self._entry(verb, thing, None, after) for thing, after in things.items()]
        with suppress(StoreUnavailableError):
            await self._store.write_audit(*(entry._replace(outcome=AuditOutcome.DONE) for entry in entries))

    def _entry(self, verb: str, thing: str, before: object, after: object) -> AuditEntry:
        name, address, request_id = self._actor
        return AuditEntry(
            self._new_id(), self._clock.now(), clean_text(name), verb, clean_text(thing), address,
            _text(before), _text(after), request_id,
        )  # fmt: skip

    async def _settle(
        self, entry: AuditEntry, outcome: AuditOutcome, detail: str | None, after: object
    ) -> None:
        # If the store does not answer now, the entry stays `asked`, and is later shown as unknown.
        with suppress(StoreUnavailableError):
            await self._store.settle_audit(entry.id, outcome, _text(detail), _text(after))


def _text(value: object) -> str | None:
    if value is None:
        return None
    given = mask_text(value) if isinstance(value, str) else json.dumps(mask_value(value), default=_plain)
    text = clean_text(given)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _plain(value: object) -> str:
    return format_instant(value) if isinstance(value, datetime) else str(value)
