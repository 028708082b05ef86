"""Jobs in the order of their wakes, then of their keys: page by page, in any number of lanes."""

from __future__ import annotations

from collections.abc import Sequence

from foliot.stores.mongodb import layout
from foliot.stores.mongodb.connection import Document, Jobs

ORDER = [("w", 1), ("_id", 1)]


def page_of_wakes(
    jobs: Jobs, lanes: Sequence[str], count: int, after: str | None = None, until: int | None = None
) -> list[Document]:
    """At most `count` documents of lanes, after a position, with wakes up to `until`.

    Each of the two queries reads a range of the index, so a herd with one wake is not read again.
    """
    lane = {"q": {"$in": list(lanes)}}
    rest: Document = {"$exists": True} if until is None else {"$lte": until}
    found: list[Document] = []
    if after is not None:
        wake, key = layout.split_place(after)
        same = {**lane, "w": wake, "_id": {"$gt": key}}
        found = list(jobs.find(same).sort(ORDER).limit(count))
        rest["$gt"] = wake
    if len(found) < count:
        found += jobs.find({**lane, "w": rest}).sort(ORDER).limit(count - len(found))
    return found


def place_of(document: Document) -> str:
    """The position of a job in this order."""
    return layout.place_of(int(document["w"]), document["_id"])
