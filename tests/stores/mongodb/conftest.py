"""A database of one's own on the server that all tests share, or a server of one's own.

What `make test` has time for: of the contract, what writes of several nodes can do to one another.
`make prove` runs all of it, and the races once more on a replica set.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from foliot.testing.contract import (
    ClaimContract,
    FinishContract,
    GroupContract,
    LeaseContract,
    ReconcileContract,
    RecoveryContract,
)
from foliot.testing.servers import MissingServerError, MongoServer, mongodb_server
from real_postgres import do_without
from stores.mongodb.opening import fresh

_LONG = ("[processes]", "[threads]", "one_by_one", "life_of_many_cuts", "thousand", "many_kinds", "killed_")
_OF_THE_LONG = ("test_each_due_job_is_claimed_exactly_once", "test_claimers_at_once_never_exceed_the_limit")
_TOPICS = (ClaimContract, FinishContract, LeaseContract, RecoveryContract, ReconcileContract, GroupContract)
_RACES = {name for topic in _TOPICS for name in vars(topic) if name.startswith("test_")}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On a replica set, where the rest is no other than alone, `make prove` runs the races only."""
    for item in list(items):
        if "stores/mongodb/test_set" in item.nodeid and "TestOnSetOfOne" in item.nodeid:
            if item.name.partition("[")[0] not in _RACES or any(sign in item.name for sign in _LONG):
                items.remove(item)
        elif "stores/mongodb/test_contract" in item.nodeid:
            is_long = any(sign in item.name for sign in _LONG) and not item.name.startswith(_OF_THE_LONG)
            if is_long or item.name.partition("[")[0] not in _RACES:
                item.add_marker(pytest.mark.prove)


@pytest.fixture
def url(mongodb_url: str) -> str:
    """A database of one's own."""
    return fresh(mongodb_url)


@pytest.fixture
def server() -> Iterator[MongoServer]:
    """A standalone server of one's own, which may be stopped and paused."""
    try:
        with mongodb_server() as server:
            yield server
    except MissingServerError as error:
        do_without(error)
