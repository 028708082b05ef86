"""Pages are whole however little a call may look at, and tell nothing of other sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from foliot.stores.redis import history
from foliot.stores.sql import run_queries
from foliot.testing.contract import PageContract, Sharing
from real_redis import redis_url_of
from stores.postgres.opening import open_postgres
from stores.redis.opening import fresh, open_redis
from stores.sqlite.opening import open_sqlite


class ShortLooks(PageContract):
    """A call looks at five attempts or skips, and not at 20,000."""

    test_pages_of_jobs_have_all_that_is_meant = None  # type: ignore[assignment] # they are looked at otherwise

    @pytest.fixture(autouse=True)
    def short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(run_queries, "MOST_LOOKED_AT", 5)
        monkeypatch.setattr(history, "MOST_LOOKED_AT", 5)
        monkeypatch.setattr(history, "parts", lambda walk: ([one] for one in walk))


class TestSqlite(ShortLooks):
    @pytest.fixture
    def sharing(self, tmp_path: Path) -> Sharing:
        return Sharing(open_sqlite, str(tmp_path / "jobs.db"))


@pytest.mark.prove
class TestPostgres(ShortLooks):
    @pytest.fixture
    def sharing(self, url: str) -> Sharing:
        return Sharing(open_postgres, url)


@pytest.mark.prove
class TestRedis(ShortLooks):
    @pytest.fixture
    def sharing(self) -> Sharing:
        return Sharing(open_redis, fresh(redis_url_of("redis")))
