"""Places of groups: how many attempts of a group run, over all nodes.

A group's document lists the attempts that were started in it. A claim first adds its attempts to this list,
in a write that is guarded by the document's mark, and then writes the jobs. An entry of the list counts

- if its attempt runs, by its job's document; or
- if the job still has the mark that the claim has read: then the claim's write may be under way.

A claim may die between the two writes, and would then occupy its place for ever. So if an entry is old and
its job was not written, the job gets a new mark: then the claim's write can never take effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pymongo.errors import DuplicateKeyError

from foliot.stores.mongodb.codec import MongoEntry
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.effects import Effects
from foliot.stores.optimistic.change import Change
from foliot.stores.optimistic.names import attempt_id

_LOST = 10_000_000  # microseconds; an older claim that has not written its job is kept from writing it


class Places(Effects):
    """Counts and takes the places of groups."""

    def running(self, group: str) -> int:
        """How many attempts that were started in a group still run."""
        found = self["groups"].find_one({"_id": group})
        return 0 if found is None else len({(one["j"], one["i"]) for one in self._counting(found)})

    def take_places(self, changes: Sequence[Change], limits: Mapping[str, int]) -> set[str]:
        """Take places for the attempts that changes start. Returns the keys of jobs without a place."""
        by_group: dict[str, list[Change]] = {}
        for change in changes:
            group = change.after.job.group if change.after is not None else None
            if group is not None and change.group_starts:
                by_group.setdefault(group, []).append(change)
        full: set[str] = set()
        for group, starting in by_group.items():
            full |= self._take(group, starting, limits.get(group, 0))
        return full

    def _take(self, group: str, changes: Sequence[Change], limit: int) -> set[str]:
        while True:
            found = self["groups"].find_one({"_id": group})
            counting = self._counting(found) if found else []
            taken = {(one["j"], one["i"]) for one in counting}
            news: list[Document] = []
            full: set[str] = set()
            at = self.server_time()
            for change in changes:
                started = [attempt_id(attempt) for attempt in change.group_starts]
                if len(taken) + len(started) > limit:
                    full.add(change.key)
                    continue
                taken.update((change.key, identity) for identity in started)
                mark = change.entry.raw if isinstance(change.entry, MongoEntry) else change.entry.mark
                news += ({"j": change.key, "i": identity, "m": mark, "at": at} for identity in started)
            if not news or self._put(group, found, [*counting, *news]):
                return full

    def _put(self, group: str, found: Document | None, entries: list[Document]) -> bool:
        mark = next(self.shared.marks)
        if found is None:
            try:
                self["groups"].insert_one({"_id": group, "m": mark, "a": entries})
            except DuplicateKeyError:
                return False
            return True
        change = {"$set": {"m": mark, "a": entries}}
        return self["groups"].update_one({"_id": group, "m": found["m"]}, change).matched_count > 0

    def _counting(self, found: Document) -> list[Document]:
        """The entries of a group that count."""
        entries: list[Document] = found["a"]
        keys = sorted({one["j"] for one in entries})
        jobs = {one["_id"]: one for one in self["jobs"].find({"_id": {"$in": keys}}, {"m": 1, "c": 1})}
        counting = []
        for entry in entries:
            job = jobs.get(entry["j"])
            if job is None:
                continue
            is_running = any(one["i"] == entry["i"] and one["n"] for one in job.get("c") or ())
            if is_running or (job.get("m") == entry["m"] and self._may_land(entry)):
                counting.append(entry)
        return counting

    def _may_land(self, entry: Document) -> bool:
        """Whether the claim's write may be under way. A late write is kept from taking effect."""
        if entry["at"] > self.server_time() - _LOST:
            return True
        wanted = {"_id": entry["j"], "m": entry["m"]}
        mark = {"$set": {"m": next(self.shared.marks)}}
        return self["jobs"].update_one(wanted, mark).matched_count == 0
