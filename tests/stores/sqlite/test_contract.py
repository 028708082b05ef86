"""The store on SQLite keeps the contract, from several processes too, whatever way a job is damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from foliot.protocols import Store
from foliot.testing.contract import Damage, DamageContract, Sharing, StoreContract
from stores.sqlite.opening import open_sqlite

WAYS = {
    "no JSON": "UPDATE jobs SET frame = '{' WHERE job_no = :job",
    "data that is none": "UPDATE jobs SET data = '[1]' WHERE job_no = :job",
    "a policy that is not there": "UPDATE jobs SET policy_no = 99999 WHERE job_no = :job",
    "a time beyond all calendars": "UPDATE states SET served_until = 1 << 62 WHERE job_no = :job",
    "a wake beyond all calendars": "UPDATE states SET wake_at = 1 << 62 WHERE job_no = :job",
    "a wake before all calendars": "UPDATE states SET wake_at = -(1 << 62) WHERE job_no = :job",
    "a token that cannot grow": "UPDATE states SET token = 9223372036854775807 WHERE job_no = :job",
    "a token that is no number": "UPDATE states SET token = 'seven' WHERE job_no = :job",
}


async def damage_by(sql: str, path: Path, _: Store, key: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        (job,) = connection.execute("SELECT job_no FROM jobs WHERE key = ?", (key,)).fetchone()
        connection.execute(sql, {"job": job})


class TestSqliteStore(StoreContract):
    head_start: ClassVar[float] = 0.02  # it decides under the file's lock: others wait anyway

    @pytest.fixture
    def sharing(self, tmp_path: Path) -> Sharing:
        return Sharing(open_sqlite, str(tmp_path / "jobs.db"))

    @pytest.fixture
    def damage(self, tmp_path: Path) -> Damage:
        return partial(damage_by, WAYS["no JSON"], tmp_path / "jobs.db")


class TestAnyDamage(DamageContract):
    @pytest.fixture
    def sharing(self, tmp_path: Path) -> Sharing:
        return Sharing(open_sqlite, str(tmp_path / "jobs.db"))

    @pytest.fixture(params=WAYS)
    def damage(self, request: pytest.FixtureRequest, tmp_path: Path) -> Damage:
        return partial(damage_by, WAYS[request.param], tmp_path / "jobs.db")
