"""An entry for each change: written before it, settled by how it ended, and without a secret."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from foliot.access.audit import LONGEST, Actor, Auditor
from foliot.errors import JobNotFoundError, StoreUnavailableError
from foliot.protocols_access import AuditEntry, AuditOutcome, AuditQuery
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock

JOB = "job:ops/backup"


class FailingStore(MemoryStore):
    """Is away for some verbs."""

    away: frozenset[str] = frozenset()

    async def write_audit(self, *entries: AuditEntry) -> None:
        self._answer("write_audit")
        await super().write_audit(*entries)

    async def settle_audit(
        self, entry_id: str, outcome: AuditOutcome, detail: str | None = None, after: str | None = None
    ) -> bool:
        self._answer("settle_audit")
        return await super().settle_audit(entry_id, outcome, detail, after)

    def _answer(self, verb: str) -> None:
        if verb in self.away:
            raise StoreUnavailableError(verb, "it is away")


class Scene:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = FailingStore(self.clock)
        self.auditor = Auditor(self.store, self.clock, Actor("token:t1 ci", "10.0.0.7", "r1"))

    async def entry(self) -> AuditEntry:
        (entry,) = await self.store.audit(AuditQuery())
        return entry


def played(act: Callable[[Scene], Awaitable[None]]) -> Callable[[], None]:
    def test() -> None:
        async def play() -> None:
            await act(Scene())

        asyncio.run(play())

    test.__name__ = act.__name__
    return test


@played
async def test_a_change_is_asked_for_and_then_done(scene: Scene) -> None:
    async with scene.auditor.change("pause", JOB, before={"paused": False}) as change:
        asked = await scene.entry()
        assert asked.outcome is AuditOutcome.ASKED
        change.after, change.detail = {"paused": True}, "it was running"
    entry = await scene.entry()
    assert entry == AuditEntry(
        asked.id, scene.clock.now(), "token:t1 ci", "pause", JOB, "10.0.0.7", '{"paused": false}',
        '{"paused": true}', "r1", AuditOutcome.DONE, "it was running",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("error", "outcome", "detail"),
    [
        (JobNotFoundError("ops/backup"), AuditOutcome.REFUSED, "there is no job ops/backup"),
        (StoreUnavailableError("update", "it is away"), AuditOutcome.UNKNOWN, "update: it is away"),
        (RuntimeError("a bug"), AuditOutcome.UNKNOWN, "RuntimeError"),
        (asyncio.CancelledError(), AuditOutcome.UNKNOWN, "CancelledError"),
    ],
    ids=["refused", "away", "bug", "cancelled"],
)
def test_a_change_that_fails_says_how(error: BaseException, outcome: AuditOutcome, detail: str) -> None:
    async def act() -> None:
        scene = Scene()
        with pytest.raises(type(error)):
            async with scene.auditor.change("pause", JOB, after="planned"):
                raise error
        entry = await scene.entry()
        assert (entry.outcome, entry.detail, entry.after) == (outcome, detail, "planned")

    asyncio.run(act())


@played
async def test_nothing_is_changed_without_an_entry(scene: Scene) -> None:
    scene.store.away = frozenset(("write_audit",))
    has_begun = False
    with pytest.raises(StoreUnavailableError):
        async with scene.auditor.change("pause", JOB):
            has_begun = True
    assert not has_begun


@played
async def test_an_end_that_cannot_be_told_is_unknown_after_ten_minutes(scene: Scene) -> None:
    scene.store.away = frozenset(("settle_audit",))
    async with scene.auditor.change("pause", JOB):
        pass
    entry, now = await scene.entry(), scene.clock.now()
    ten = timedelta(minutes=10)
    assert entry.outcome_at(now + ten - timedelta(microseconds=1)) is AuditOutcome.ASKED
    assert entry.outcome_at(now + ten) is AuditOutcome.UNKNOWN
    assert entry._replace(outcome=AuditOutcome.DONE).outcome_at(now + ten) is AuditOutcome.DONE


@played
async def test_what_is_not_allowed_is_told_at_once(scene: Scene) -> None:
    await scene.auditor.refuse("login", "login", "the token is not valid")
    entry = await scene.entry()
    assert (entry.verb, entry.outcome, entry.detail) == (
        "login", AuditOutcome.REFUSED, "the token is not valid",
    )  # fmt: skip


@played
async def test_no_secret_is_written(scene: Scene) -> None:
    async with scene.auditor.change(
        "declare", JOB, before={"env": {"TOKEN": "hunter2"}}, after="PGPASSWORD=hunter2 pg_dump"
    ) as change:
        change.detail = "postgresql://ann:hunter2@host/db"
    assert "hunter2" not in repr(await scene.entry())


@played
async def test_a_value_that_json_does_not_know_is_written_as_a_text(scene: Scene) -> None:
    value = {"at": scene.clock.now(), "of": AuditOutcome.DONE, "for": timedelta(hours=1)}
    async with scene.auditor.change("declare", JOB, before=value):
        pass
    assert (await scene.entry()).before == '{"at": "2026-01-01T00:00:00Z", "of": "done", "for": "1:00:00"}'


@played
async def test_a_long_or_bad_text_is_cut_and_cleaned(scene: Scene) -> None:
    async with scene.auditor.change("declare", "job:a\x00b", before="x" * 100_000, after="\ud800"):
        pass
    entry = await scene.entry()
    assert entry.before == "x" * LONGEST + "…"
    assert (entry.object, entry.after) == ("job:a\N{REPLACEMENT CHARACTER}b", "\N{REPLACEMENT CHARACTER}")
