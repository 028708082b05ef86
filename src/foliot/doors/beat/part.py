"""What the door does beside its action: it tells of schedules that this node cannot use, and keeps gauges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from foliot.app.part import Workplace
from foliot.doors.beat.log import tell_line
from foliot.errors import StoreError
from foliot.model.decision import Event, Happening
from foliot.model.events import HERDS, parts_of
from foliot.protocols import Executor, JobQuery, JobView

_MOST_WATCHED = 1000  # schedules of which times are told, however many there are
Watch = Callable[[Sequence[JobView]], None]


class BeatPart:
    """A part of the application. `watch` is told how schedules stand, at the start and by each heartbeat."""

    def __init__(self, sources: Sequence[str], watch: Watch | None) -> None:
        self._sources = sources
        self._watch = watch
        self._host: Workplace | None = None

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """The executor comes by the application's settings."""
        self._host = host
        return {}

    async def live(self) -> None:
        """Other nodes run schedules, too: what they did is read from the store."""
        host, watch = self._host, self._watch
        while host is not None and watch is not None:
            with suppress(StoreError):  # the engine tells of a store that is away
                for source in self._sources:
                    watch(await host.store.jobs(JobQuery(source=source, limit=_MOST_WATCHED)))
            await host.clock.wait(host.lease / 3)

    async def close(self) -> None:
        """It has nothing to let go of."""

    def title(self, job: str) -> None:
        """The door has lines of its own."""

    # -- as a listener -----------------------------------------------------------------------------

    def on_events(self, events: Sequence[Event]) -> None:
        """A zone that this host does not know, and another may: the node says so, and passes it over."""
        for part in parts_of(events):
            if isinstance(part, HERDS):
                continue
            for event in part:
                source, _, schedule = event.job.partition("/")
                if event.what is Happening.PASSED_OVER and source in self._sources:
                    tell_line("schedule_unusable", schedule_id=schedule, error=event.reason)

    def on_trouble(self, error: StoreError) -> None:
        """The engine's own line tells that."""
