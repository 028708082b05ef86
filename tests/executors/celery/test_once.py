"""`@once_per_run`, on a real Redis: one piece of work for each run, however many messages there are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import redis

from executors.celery.stage import celery_app, close_backend, taken
from foliot.errors import AppStateError, InvalidPolicyError
from foliot.executors.celery import once_per_run
from real_redis import redis_url_of

pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning")
KEY = f"shop/charge!{uuid4().hex}"  # other processes may run this file at the same time


shops: list[Shop] = []


class Shop:
    """A task that notes its work, and can be made to fail or to be called within itself."""

    def __init__(self, url: str, **settings: Any) -> None:
        self.app = celery_app(url, settings.pop("backend", url))
        self.redis = redis.Redis.from_url(url)
        shops.append(self)
        self.done: list[int] = []
        self.fault: Exception | None = None
        self.meanwhile: Any = None

        def charge(amount: int) -> int:
            self.done.append(amount)
            if self.meanwhile is not None:
                meanwhile, self.meanwhile = self.meanwhile, None
                meanwhile()
            if self.fault is not None:
                raise self.fault
            return amount

        self.task = self.app.task(once_per_run(**settings)(charge), name="shop.charge", shared=False)

    def close(self) -> None:
        self.redis.close()
        close_backend(self.app)

    def get(self, key: str | None = KEY, amount: int = 7) -> Any:
        """Do as a worker does with a message of a run."""
        return self.task.apply([amount], headers={} if key is None else {"run_key": key})


@pytest.fixture
def url() -> Iterator[str]:
    url = redis_url_of("redis")
    yield url
    with redis.Redis.from_url(url) as client:
        client.delete(f"foliot:once:{KEY}", f"foliot:once:{KEY}x")
    while shops:
        shops.pop().close()


def test_a_second_message_of_a_run_is_dropped_and_says_neither_success_nor_failure(url: str) -> None:
    shop = Shop(url)
    assert shop.get().state == "SUCCESS"
    assert shop.get().state == "IGNORED"
    assert shop.get(KEY + "x").state == "SUCCESS"
    assert shop.done == [7, 7]
    assert taken(shop.app) == []


def test_after_a_failure_the_next_message_does_the_work(url: str) -> None:
    shop = Shop(url)
    shop.fault = ValueError("sold out")
    assert shop.get().state == "FAILURE"
    shop.fault = None
    assert shop.get().state == "SUCCESS"
    assert shop.get().state == "IGNORED"
    assert shop.done == [7, 7]


def test_a_message_that_comes_while_another_does_the_work_comes_again_later(url: str) -> None:
    shop = Shop(url)
    shop.meanwhile = lambda: shop.get().state
    assert shop.get().state == "SUCCESS"
    assert shop.done == [7]
    [message] = taken(shop.app)
    assert message.headers["run_key"] == KEY, "it is still known whose it is"
    assert message.payload[0] == [7]
    assert message.headers["eta"] is not None
    assert message.headers["retries"] == 0


def test_a_worker_that_died_holds_the_run_for_so_long_only(url: str) -> None:
    shop = Shop(url, hold="20m", keep="2d")
    within: list[int] = []
    shop.meanwhile = lambda: within.append(shop.redis.pttl(f"foliot:once:{KEY}"))
    shop.get()
    assert 0 < within[0] <= 20 * 60_000
    kept = shop.redis.pttl(f"foliot:once:{KEY}")
    assert 20 * 60_000 < kept <= 2 * 86_400_000


def test_whose_hold_has_ended_changes_nothing_of_the_next(url: str) -> None:
    shop = Shop(url)
    shop.meanwhile = lambda: shop.redis.set(f"foliot:once:{KEY}", "another")
    shop.get()
    assert shop.redis.get(f"foliot:once:{KEY}") == b"another"


@pytest.mark.parametrize("key", [None])
def test_a_task_that_foliot_has_not_sent_runs_as_ever(url: str, key: None) -> None:
    shop = Shop(url)
    assert [shop.get(key).state, shop.get(key).state] == ["SUCCESS", "SUCCESS"]
    assert shop.task(7) == 7
    assert shop.done == [7, 7, 7]


def test_without_redis_as_backend_it_needs_a_client(url: str) -> None:
    shop = Shop(url, backend="cache+memory://")
    with pytest.raises(AppStateError, match="the result backend is not Redis"):
        shop.get().get()
    assert shop.done == []
    with redis.Redis.from_url(url, decode_responses=True) as client:
        shop = Shop(url, backend="cache+memory://", client=client)
        assert [shop.get().state, shop.get().state] == ["SUCCESS", "IGNORED"]


@pytest.mark.parametrize("setting", ["hold", "keep"])
@pytest.mark.parametrize("value", ["soon", "0s", timedelta(milliseconds=5)])
def test_durations_that_cannot_be_are_refused(setting: str, value: Any) -> None:
    with pytest.raises(InvalidPolicyError, match=setting):
        once_per_run(**{setting: value})


def test_it_can_be_written_without_parentheses() -> None:
    @once_per_run
    def charge(amount: int) -> int:
        return amount

    assert charge(7) == 7
    assert charge.__name__ == "charge"
