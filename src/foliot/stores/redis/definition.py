"""Definitions on Redis: what the server has to be told before jobs name it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from foliot.model.job import Job
from foliot.stores.optimistic import definition
from foliot.stores.redis.layout import lane_id

_News = tuple[str, str, str | int, str]


class Definitions(definition.Definitions):
    """Reads and writes definitions, and tells the server of frames and lanes."""

    def news(self, jobs: Iterable[Job]) -> list[_News]:
        """Frames and lanes of jobs that the server has not been told of."""
        told = list(jobs)
        found: dict[str, _News] = {
            digest: ("HSET", "frames", digest, json.dumps(texts, ensure_ascii=False))
            for digest, texts in self.unknown_frames(told).items()
        }
        for job in told:
            lane = lane_id(job.queue, job.action.kind)
            if lane not in self._told:
                names = json.dumps((job.queue, job.action.kind), ensure_ascii=False)
                found[lane] = "HSET", "lanes", lane, names
        return list(found.values())

    def told(self, news: Iterable[_News]) -> None:
        """The server knows them now."""
        self.server_knows(str(name) for _, _, name, _ in news)
