"""Faults of the driver that are no faults of the store's user."""

from __future__ import annotations

import asyncio

import pytest

from foliot.doors.documents.stores.mongodb import _answer
from foliot.errors import StoreUnavailableError


@pytest.mark.req("DOC-21")
def test_an_answer_that_the_driver_cannot_change_means_that_the_store_is_away() -> None:
    """Seen when a primary steps down: the driver adds to the server's answer, which is raw here."""

    async def steps_down() -> None:
        raise AttributeError("'RawBSONDocument' object has no attribute 'update'")

    with pytest.raises(StoreUnavailableError, match="stepping down"):
        asyncio.run(_answer("lock_next", steps_down))


def test_other_faults_of_code_are_told_as_they_are() -> None:
    async def is_wrong() -> None:
        raise AttributeError("'int' object has no attribute 'x'")

    with pytest.raises(AttributeError, match="'int'"):
        asyncio.run(_answer("lock_next", is_wrong))
