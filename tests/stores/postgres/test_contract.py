"""The store on PostgreSQL keeps the contract, from several processes too, whatever way a job is damaged."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import psycopg
import pytest

from foliot.protocols import Store
from foliot.stores.postgres.address import read_address
from foliot.testing.contract import (
    AlertContract,
    Damage,
    DamageContract,
    NodeContract,
    OutputContract,
    Sharing,
    SourceContract,
    StoreContract,
)
from stores.postgres.opening import open_postgres

WAYS = {
    "no JSON": "UPDATE jobs SET frame = '{' WHERE job_no = %(job)s",
    "data that is none": "UPDATE jobs SET data = '[1]' WHERE job_no = %(job)s",
    "a policy that is not there": "UPDATE jobs SET policy_no = 99999 WHERE job_no = %(job)s",
    "a time beyond all calendars": "UPDATE states SET served_until = 1::bigint << 62 WHERE job_no = %(job)s",
    "a wake beyond all calendars": "UPDATE states SET wake_at = 1::bigint << 62 WHERE job_no = %(job)s",
    "a wake before all calendars": "UPDATE states SET wake_at = -(1::bigint << 62) WHERE job_no = %(job)s",
    "a token that cannot grow": "UPDATE states SET token = 9223372036854775807 WHERE job_no = %(job)s",
    "a token below zero": "UPDATE states SET token = -7 WHERE job_no = %(job)s",
}


async def damage_by(sql: str, url: str, _: Store, key: str) -> None:
    server, schema = read_address(url)
    with psycopg.connect(server) as connection:
        connection.execute("SELECT set_config('search_path', %s, false)", (schema,))
        row = connection.execute("SELECT job_no FROM jobs WHERE key = %s", (key,)).fetchone()
        assert row is not None
        connection.execute(sql.encode(), {"job": row[0]})


class TestPostgresStore(StoreContract, OutputContract, NodeContract, SourceContract, AlertContract):
    head_start: ClassVar[float] = 0.05  # it decides under the locks of its rows: others wait anyway

    @pytest.fixture
    def sharing(self, url: str) -> Sharing:
        return Sharing(open_postgres, url)

    @pytest.fixture
    def damage(self, url: str) -> Damage:
        return partial(damage_by, WAYS["no JSON"], url)


@pytest.mark.prove
class TestAnyDamage(DamageContract):
    @pytest.fixture
    def sharing(self, url: str) -> Sharing:
        return Sharing(open_postgres, url)

    @pytest.fixture(params=WAYS)
    def damage(self, request: pytest.FixtureRequest, url: str) -> Damage:
        return partial(damage_by, WAYS[request.param], url)
