"""A daemon whose remote lags waits for each revision of the others anew, before it declares what it sees."""

from __future__ import annotations

from datetime import timedelta

from doors.rollcron.test_door import House
from foliot.doors.rollcron.precedence import Precedence
from foliot.model.state import Node
from sources.git.scene import played

KIND = "shell:ops"
PATIENCE = timedelta(minutes=5)
SECOND = timedelta(seconds=1)


async def company(house: House) -> Precedence:
    """This daemon, and another that follows the same repository."""
    for name in ("this", "other"):
        await house.store.join(Node(name, kinds=(KIND,)))
    precedence = Precedence(house.host(), "ops", KIND, follows_rewrites=False)
    precedence.has_begun = True
    return precedence


async def asked_after(house: House, precedence: Precedence, duration: timedelta, known: str) -> bool:
    await house.clock.advance(duration)
    for name in ("this", "other"):
        await house.store.renew(name)
    return await precedence.may_declare("old", f"{known}+1", goes_on=False)


@played
async def test_it_waits_for_five_minutes() -> None:
    house = House()
    precedence = await company(house)
    assert not await asked_after(house, precedence, SECOND, "new")
    assert not await asked_after(house, precedence, PATIENCE - SECOND, "new")
    assert await asked_after(house, precedence, SECOND, "new")


@played
async def test_what_is_declared_again_is_waited_for_as_long_again() -> None:
    house = House()
    precedence = await company(house)
    assert not await asked_after(house, precedence, SECOND, "new")
    assert await asked_after(house, precedence, PATIENCE, "new")
    assert not await asked_after(house, precedence, SECOND, "new")
    assert await asked_after(house, precedence, PATIENCE, "new")


@played
async def test_a_further_revision_is_waited_for_from_when_it_came() -> None:
    house = House()
    precedence = await company(house)
    assert not await asked_after(house, precedence, SECOND, "new")
    assert not await asked_after(house, precedence, PATIENCE, "newer")
    assert await asked_after(house, precedence, PATIENCE, "newer")


@played
async def test_alone_it_does_not_wait() -> None:
    house = House()
    precedence = await company(house)
    await house.store.leave("other")
    assert await precedence.may_declare("old", "new+1", goes_on=False)
