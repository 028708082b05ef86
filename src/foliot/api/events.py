"""The stream of hints: that something has changed. What has changed, a GET tells."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any, NamedTuple

from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.hints import read_log_topic
from foliot.api.problem import ProblemError
from foliot.api.route import Group
from foliot.api.streams import KEEP_ALIVE, MEDIA_TYPE, Encodable, Sent, stream, wait_for
from foliot.model.access import Scope

MOST_TOPICS = 100
MOST_LOGS = 10  # each of them is read again every second
_WORDS = ("overview", "jobs", "nodes", "sources")
_PREFIXES = ("job:", "run:")
routes = Group("events")


class EventsQuery(Query, frozen=True):
    """Topics, with commas between them: `jobs,job:ops~2Fbackup`; none: all but logs.

    `log:RUN/N` tells that attempt N of a run has written more.
    """

    topics: str = ""


@routes.get("/events", Scope.READ, media=(MEDIA_TYPE,))
async def events(call: Call, query: EventsQuery) -> Any:
    """Tell by server-sent events that something has changed. After a `resync`, look at everything again."""
    topics = [topic for topic in query.topics.split(",") if topic]
    logs = [topic for topic in topics if read_log_topic(topic)]
    others = [topic for topic in topics if topic not in _WORDS and not topic.startswith(_PREFIXES)]
    if len(topics) > MOST_TOPICS or len(logs) > MOST_LOGS or len(others) > len(logs):
        words = ", ".join((*_WORDS, "job:ID", "run:ID", "log:RUN/N"))
        hint = f"one of: {words}; {MOST_TOPICS} at most, and {MOST_LOGS} logs"
        raise ProblemError(400, "BAD_QUERY", "there is no such topic", hint=hint)
    return stream(call, _hints(call, topics))


async def _hints(call: Call, topics: list[str]) -> AsyncIterator[Encodable | None]:
    with call.service.hub.watching(topics, call.identity.sources) as watcher:
        yield Sent("resync", {})  # what came before this stream is not told by it
        while not call.service.stopping.is_set():
            await wait_for(call, KEEP_ALIVE, watcher.news)
            if watcher.is_behind:
                watcher.is_behind = False
                watcher.take()
                yield Sent("resync", {})
            elif changed := watcher.take():
                yield _Changed([(topic, version, token) for topic, _, version, token in changed])
            else:
                yield None
            await wait_for(call, call.service.hub.pause)  # what comes meanwhile is sent at once


class _Changed(NamedTuple):
    """Hints that are sent at once."""

    hints: list[tuple[str, int | None, int | None]]  # topic, version, token

    def encoded(self) -> bytes:
        """The hints as they are sent."""
        return b"".join(_encoded(*hint) for hint in self.hints)


@lru_cache(maxsize=2000)
def _encoded(topic: str, version: int | None, token: int | None) -> bytes:
    """A hint as it is sent: made once, for all streams."""
    return Sent("changed", {"topic": topic, "version": version, "token": token}).encoded()
