"""The audit: written once, settled once, found by what it says. For stores that the API works on."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from foliot.errors import InvalidJobError
from foliot.protocols_access import AuditEntry, AuditOutcome, AuditQuery, AuditStore
from foliot.testing.contract.access import prune_all
from foliot.testing.contract.sample import HOUR, SECOND, TICK
from foliot.testing.contract.stage import Contract, Stage, scenario

DONE, REFUSED = AuditOutcome.DONE, AuditOutcome.REFUSED


def audit_of(stage: Stage) -> AuditStore:
    """The store, by its other seam."""
    store: Any = stage.store
    return cast("AuditStore", store)


def an_entry(stage: Stage, name: str = "e1", **facts: Any) -> AuditEntry:
    """Somebody asks for a pause."""
    return AuditEntry(name, stage.now, "cli:ann@host", "pause", "job:ops/backup")._replace(**facts)


class AuditContract(Contract):
    """What was asked for stays as it was written, and how it ended is told once."""

    @scenario
    async def test_an_entry_comes_back_as_it_was(self, stage: Stage) -> None:
        whole = an_entry(
            stage, address="10.0.0.7", before='{"a": 1}', after="two\nlines \N{SNOWMAN}", request_id="r1",
            outcome=REFUSED, detail="it was not allowed",
        )  # fmt: skip
        await audit_of(stage).write_audit(whole)
        assert tuple(await audit_of(stage).audit(AuditQuery())) == (whole,)

    @scenario
    async def test_the_same_entry_again_changes_nothing(self, stage: Stage) -> None:
        store, entry = audit_of(stage), an_entry(stage)
        await store.write_audit(entry)
        await store.settle_audit("e1", DONE)
        await store.write_audit(entry._replace(actor="another"))
        assert tuple(await store.audit(AuditQuery())) == (entry._replace(outcome=DONE),)

    @scenario
    async def test_several_entries_are_written_at_once(self, stage: Stage) -> None:
        store = audit_of(stage)
        await store.write_audit(an_entry(stage, "e2"))
        await store.write_audit(
            *(an_entry(stage, f"e{n}", at=stage.now - n * SECOND, actor=f"a{n}") for n in (1, 2, 3))
        )
        assert [(one.id, one.actor) for one in await store.audit(AuditQuery())] == [
            ("e2", "cli:ann@host"), ("e1", "a1"), ("e3", "a3"),
        ]  # fmt: skip

    @scenario
    async def test_an_entry_is_settled_once(self, stage: Stage) -> None:
        store, entry = audit_of(stage), an_entry(stage, after="planned")
        await store.write_audit(entry)
        assert await store.settle_audit("e1", REFUSED, "no such job")
        assert not await store.settle_audit("e1", DONE, "changed", "history")
        assert not await store.settle_audit("unknown", DONE)
        assert tuple(await store.audit(AuditQuery())) == (
            entry._replace(outcome=REFUSED, detail="no such job"),
        )

    @scenario
    async def test_what_came_of_a_change_may_be_told_at_its_end(self, stage: Stage) -> None:
        store, entry = audit_of(stage), an_entry(stage, after="planned")
        await store.write_audit(entry)
        assert await store.settle_audit("e1", DONE, None, "stored")
        assert tuple(await store.audit(AuditQuery())) == (entry._replace(outcome=DONE, after="stored"),)

    @scenario
    async def test_entries_are_found_by_what_they_say_the_newest_first(self, stage: Stage) -> None:
        store = audit_of(stage)
        await store.write_audit(an_entry(stage, "e1", at=stage.now - HOUR))
        await store.write_audit(an_entry(stage, "e2", object="job:ops/other"))
        await store.write_audit(an_entry(stage, "e3", at=stage.now + TICK, actor="token:t1 ci"))
        job, ann = "job:ops/backup", "cli:ann@host"
        for query, expected in (
            (AuditQuery(), ["e3", "e2", "e1"]),
            (AuditQuery(actor=ann), ["e2", "e1"]),
            (AuditQuery(object=job), ["e3", "e1"]),
            (AuditQuery(actor=ann, object=job), ["e1"]),
            (AuditQuery(since=stage.now), ["e3", "e2"]),
            (AuditQuery(until=stage.now), ["e1"]),
            (AuditQuery(actor=ann, since=stage.now), ["e2"]),
            (AuditQuery(actor="cli:"), []),
            (AuditQuery(limit=0), []),
        ):
            assert [one.id for one in await store.audit(query)] == expected, query

    @scenario
    async def test_pages_of_the_audit_have_each_entry_once(self, stage: Stage) -> None:
        """Those of one instant, too."""
        store = audit_of(stage)
        for n in range(9):
            actor = f"cli:{n % 2}"
            await store.write_audit(an_entry(stage, f"e{n}", at=stage.now - (n // 4) * SECOND, actor=actor))
        for query in (AuditQuery(limit=2), AuditQuery(actor="cli:0", limit=2)):
            found: list[str] = []
            after: str | None = ""
            while after is not None:
                page = await store.audit(query._replace(after=after))
                found += [one.id for one in page]
                after = page.next
            whole = await store.audit(query._replace(limit=100))
            assert found == [one.id for one in whole]
            assert len(found) == (9 if query.actor is None else 5)

    @scenario
    async def test_a_place_that_no_page_of_the_audit_gave_is_refused(self, stage: Stage) -> None:
        with pytest.raises(InvalidJobError):
            await audit_of(stage).audit(AuditQuery(after="nowhere"))

    @scenario
    async def test_entries_are_kept_for_four_hundred_days(self, stage: Stage) -> None:
        store, days = audit_of(stage), timedelta(days=400)
        for n in range(5):
            await store.write_audit(an_entry(stage, f"old{n}", at=stage.now - days - n * TICK))
        await store.write_audit(an_entry(stage, "kept", at=stage.now - days + TICK))
        assert (await stage.store.prune(stage.now, 2)).forgotten == 2
        assert await prune_all(stage, 2) == 3
        assert [one.id for one in await store.audit(AuditQuery())] == ["kept"]
