"""What comes, counted once for all who look: to count reads thousands of jobs."""

from __future__ import annotations

from foliot.api.answers import ForecastAnswer
from foliot.api.call import Call
from foliot.api.rules import ForecastQuery, foretell
from foliot.dashboard.memory import Memory

_FRESH = 120.0  # seconds
_GROWING = 2.0  # seconds, while jobs are still being counted
_known: Memory[tuple[float, ForecastAnswer]] = Memory(20)


async def forecast_of(call: Call, query: ForecastQuery) -> ForecastAnswer:
    """The forecast of a query, which may be two minutes old."""
    key, now = (call.identity.sources, query), call.service.clock.monotonic()
    found = _known.find(call.service, key)
    if found is None or now > found[0]:
        with call.service.heavy.held("forecast"):
            answer, is_growing = await foretell(call, query)
        found = now + (_GROWING if is_growing else _FRESH), answer
        _known.keep(call.service, key, found)
    return found[1]


def known_forecast(call: Call, query: ForecastQuery) -> ForecastAnswer | None:
    """The same, if it was counted already."""
    found = _known.find(call.service, (call.identity.sources, query))
    return None if found is None else found[1]
