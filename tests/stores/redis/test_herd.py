"""A herd leaves in the server, byte for byte, what jobs leave that are decided about one by one."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from foliot.engine.planner import plan_due
from foliot.stores.redis import RedisStore, script
from foliot.stores.redis.address import read_address
from foliot.stores.redis.wire import Wire
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import HOUR, MINUTE
from stores.herd_life import decide_one_by_one, live
from stores.redis.opening import fresh

_READ = {
    b"hash": ("HGETALL",),
    b"zset": ("ZRANGE", 0, -1, "WITHSCORES"),
    b"set": ("SMEMBERS",),
    b"list": ("LRANGE", 0, -1),
}


def stored(wire: Wire, url: str) -> dict[str, list[str]]:
    """All that the server has of a namespace, but for the names of marks and the places of claims."""
    prefix = read_address(url).prefix
    found = {}
    for key in wire.ask("KEYS", f"{prefix}:*"):
        name = key.decode().removeprefix(f"{prefix}:")
        if name.split(":")[0] in {"c", "meta", "seq", "rev_at"}:
            continue
        command, *rest = _READ[wire.ask("TYPE", key)]
        words = [word.decode() for word in wire.ask(command, key, *rest)]
        words = [re.sub(r"^[0-9a-f]{12}\.[0-9a-f]+ ", "MARK ", word) for word in words]
        found[name] = sorted(re.sub(r"^[0-9a-f]+ (c\d+)", r"PLACE \1", word) for word in words)
    return found


def test_a_herd_leaves_in_the_server_what_one_by_one_leaves(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = Wire(read_address(url), MINUTE)
    scripts: list[str] = []
    run = script.run

    def noted(wire: Any, prefix: str, name: str, *rest: Any) -> Any:
        scripts.append(name)
        return run(wire, prefix, name, *rest)

    monkeypatch.setattr(script, "run", noted)

    def lived(decide: Any) -> list[Any]:
        place = fresh(url.partition("?")[0])

        async def opened() -> list[Any]:
            clock = ManualClock()
            async with RedisStore(place, time=clock, lease=HOUR) as store:
                return await live(store, clock, decide, lambda: stored(wire, place))

        return asyncio.run(opened())

    expected = lived(decide_one_by_one)
    assert "herd" not in scripts
    found = lived(plan_due)
    assert scripts.count("herd") >= 18
    for one, other in zip(found, expected, strict=True):
        assert one == other
    wire.close()
