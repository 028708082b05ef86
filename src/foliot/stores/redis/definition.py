"""Definitions on Redis: frames and lanes are sent to the server before jobs name them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from foliot.model.job import Job
from foliot.stores.optimistic import definition
from foliot.stores.redis.layout import lane_id

_News = tuple[str, str, str | int, str]


class Definitions(definition.Definitions):
    """Reads and writes definitions, and knows which frames and lanes the server has."""

    def news(self, jobs: Iterable[Job]) -> list[_News]:
        """Frames and lanes of jobs that the server does not have yet."""
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
        """The server has these frames and lanes now."""
        self.server_knows(str(name) for _, _, name, _ in news)
