"""The stream of hints: that something has changed. What has changed, a GET tells."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.hints import RESYNC, Batch, read_log_topic
from foliot.api.problem import ProblemError
from foliot.api.route import Group
from foliot.api.streams import KEEP_ALIVE, MEDIA_TYPE, Encodable, stream, wait_for
from foliot.model.access import Scope

MOST_TOPICS = 100
MOST_LOGS = 10  # each of them is read again every second
_OF_ALL = ("overview", "nodes")
_WORDS = (*_OF_ALL, "jobs", "sources")
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
    if call.identity.sources is not None and set(topics) & set(_OF_ALL):
        detail = f"{' and '.join(_OF_ALL)} are about all sources, and your token is limited to some"
        raise ProblemError(403, "LIMITED_TOKEN", detail, hint="use a token without --source")
    return stream(call, _hints(call, topics))


async def _hints(call: Call, topics: list[str]) -> AsyncIterator[Encodable | None]:
    with call.service.hub.watching(topics, call.identity.sources) as watcher:
        yield RESYNC  # what came before this stream is not told by it
        while not call.service.stopping.is_set():
            await wait_for(call, KEEP_ALIVE, watcher.news)
            batches: list[Batch] = watcher.take()
            for batch in batches:
                yield batch
            if not batches:
                yield None
