"""Jobs of an application that call a URL, whole: declared, claimed, sent, retried, kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.scene import NEVER, ended, play
from foliot import Foliot, Outcome, Retry
from foliot.errors import InvalidJobError, InvalidPolicyError
from foliot.model.job import Action
from web_server import reply, web_server


def http(url: str, **data: Any) -> Action:
    return Action(kind="http", data={"url": url, **data})


def test_a_job_calls_a_url_and_keeps_the_answer(url: str) -> None:
    async def scene() -> None:
        async with Foliot(url, name="shop", http_allow=[f"localhost:{server.port}"]) as app:
            await app.schedule("reindex", NEVER, http(server.url, body={"full": True}))
            run = await app.trigger("reindex")
            attempt = await app.finished(run)
            assert attempt.outcome is Outcome.SUCCEEDED
            assert await app.log(attempt) == "HTTP 201 Created\n\nmade\n"
            assert server.asked[0].headers["idempotency-key"] == run
            await app.finished(await app.trigger("reindex", payload={"full": False}))
            assert json.loads(server.asked[1].body) == {"full": False}

    with web_server(reply(201, b"made")) as server:
        play(scene)


def test_an_error_of_the_caller_is_not_retried_and_one_of_the_server_is(url: str) -> None:
    async def scene() -> None:
        async with Foliot(url, name="shop", http_allow=["localhost"]) as app:
            retry = Retry(max=2, delay="0s")
            await app.schedule("reindex", NEVER, http(server.url), retry=retry)
            first = await app.finished(await app.trigger("reindex"))
            assert (first.outcome, first.number) == (Outcome.FAILED, 1)
            second = await app.finished(await app.trigger("reindex"))
            assert (second.outcome, second.number) == (Outcome.SUCCEEDED, 2)
        keys = [asked.headers["idempotency-key"] for asked in server.asked]
        assert len(set(keys)) == 2
        assert keys[1] == keys[2], "a retry is the same run"

    with web_server(reply(404), reply(503), reply(200)) as server:
        play(scene)


def test_retry_after_delays_the_retry(url: str) -> None:
    async def scene() -> None:
        async with Foliot(url, name="shop", http_allow=["localhost"]) as app:
            retry = Retry(max=2, delay="1s", longest="10m")
            await app.schedule("reindex", NEVER, http(server.url), retry=retry)
            await app.trigger("reindex")
            [attempt] = await ended(app)
            waiting = next(a for a in await app.history() if a.is_open)
            assert waiting.wake_at is not None
            assert attempt.finished_at is not None
            assert (waiting.wake_at - attempt.finished_at).total_seconds() == 500

    with web_server(reply(503, Retry_After="500")) as server:
        play(scene)


@pytest.mark.req("OWN-13")
def test_what_the_operator_has_not_allowed_is_not_reached() -> None:
    async def scene() -> None:
        async with Foliot("memory://", name="shop", http_allow=["10.0.0.0/8"]) as app:
            await app.schedule("reindex", NEVER, http(server.url), retry=Retry(max=5, delay="0s"))
            attempt = await app.finished(await app.trigger("reindex"))
            assert (attempt.outcome, attempt.number) == (Outcome.FAILED, 1)
            assert attempt.error is not None
            assert "localhost may not be reached: 127.0.0.1 leads to this host" in attempt.error

    with web_server() as server:
        play(scene)
    assert server.connections == 0


def test_an_action_that_cannot_be_sent_is_refused_where_it_is_written() -> None:
    app = Foliot("memory://")
    with pytest.raises(InvalidJobError, match=r"job a: invalid action\.data\.method FETCH: is not known"):
        app.wait(app.schedule("a", NEVER, http("https://example.org/", method="FETCH")))
    app.close()


@pytest.mark.parametrize("allowed", ["localhost", [7], ["10.0.0.1/8"], ["a b"], {"localhost"}, None, [""]])
def test_openings_that_cannot_be_are_refused(allowed: Any) -> None:
    with pytest.raises(InvalidPolicyError, match="http_allow"):
        Foliot("memory://", http_allow=allowed)
