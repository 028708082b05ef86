"""A bare loop on PyMongo: the same reads and writes as a run through the store, and no decisions.

For each batch: look whether the node lives, find what is due, note the claim, start the jobs, each guarded by
its mark; look again, note the write, end the jobs with their outboxes, write the history, drop the note. The
texts are put together from what was read.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from time import perf_counter
from typing import Any

from pymongo import InsertOne, ReturnDocument, UpdateOne
from pymongo.database import Database

from benchmarks.fire.batches import DUE, NOW, REASON, run_key
from foliot.stores.mongodb.address import read_address
from foliot.stores.mongodb.connection import connect
from foliot.stores.mongodb.layout import lane_of

_NODE = "bare"
_KEPT = 30 * 86_400_000_000  # microseconds
_ID = "@2026-03-02T09:00:00Z#1"
_TIME = {"$multiply": [{"$toLong": "$$NOW"}, 1000]}
_LANE = lane_of("default", "bench")
_OPEN = f'null,null,null,null,"{REASON}",0,0,null,1,null'

Document = dict[str, Any]


def bare_loop(url: str, runs: int, batch: int) -> float:
    """Seconds for so many runs of the jobs that are there."""
    address = read_address(url)
    with connect(address, timedelta(seconds=60)) as client:
        database = client[address.database]
        database.nodes.insert_one({"_id": _NODE, "until": 1 << 60, "facts": "{}"})
        begin, done, marks = perf_counter(), 0, map("b.{:x}".format, count(1))
        while done < runs:
            jobs = _claim(database, batch, next(marks), str(done))
            _finish(database, jobs, next(marks))
            if not jobs:
                raise ValueError(f"{done} of {runs} runs, and no more")
            done += len(jobs)
        return perf_counter() - begin


def _claim(database: Database[Document], batch: int, mark: str, claim: str) -> list[Document]:
    """Start what is due; the jobs as they were written."""
    _look_at_node(database)
    lanes = [one["_id"] for one in database.lanes.find()]
    due = database.jobs.find({"q": {"$in": lanes}, "w": {"$lte": NOW}}).sort([("w", 1), ("_id", 1)])
    found = list(due.limit(batch))
    asked = {"now": _TIME, "c": [{"k": claim, "a": "me"}]}
    database.nodes.find_one_and_update(
        {"_id": _NODE}, [{"$set": asked}], return_document=ReturnDocument.AFTER
    )
    started = []
    for place, job in enumerate(found):
        head, row, tally = _started(job["_id"], job["b"])
        held = [{"i": _ID, "n": _NODE, "k": claim, "p": place}]
        body = f"{head},[[1,{row}{_OPEN}]],{tally}"
        started.append({"_id": job["_id"], "was": job["m"], "head": head, "row": row, "b": body, "c": held})
    _sure(database, [_guarded(one, one["was"], mark, b=one["b"], c=one["c"]) for one in started])
    return [{**one, "m": mark} for one in started]


def _finish(database: Database[Document], jobs: list[Document], mark: str) -> None:
    """End them all."""
    _look_at_node(database)
    keys = [job["_id"] for job in jobs]
    note = {"keys": {"$literal": keys}, "at": _TIME}
    database.writes.update_one({"_id": mark}, [{"$set": note}], upsert=True)
    rows = [f'[1,{job["row"]}{NOW},{NOW},1,null,"{REASON}",0,0,null,1]' for job in jobs]
    names = [f"{DUE:016}{key}\0{1:010}" for key in keys]
    tally = f"[1,1,225,{NOW + _KEPT},{DUE},{NOW}]]"
    _sure(database, [
        _guarded(
            job, job["m"], mark, b=f"{job['head']},[],{tally}", e=[["a", name, _ID, row]], r=NOW + _KEPT,
        )
        for job, name, row in zip(jobs, names, rows, strict=True)
    ])  # fmt: skip
    history = [
        InsertOne({"_id": name, "j": key, "i": _ID, "a": row})
        for key, name, row in zip(keys, names, rows, strict=True)
    ]
    database.history.bulk_write(history, ordered=False)
    database.writes.delete_one({"_id": mark})


def _look_at_node(database: Database[Document]) -> None:
    steps: list[Document] = [{"$match": {"_id": _NODE}}, {"$set": {"now": _TIME}}]
    (node,) = database.nodes.aggregate(steps)
    assert node["now"] < node["until"]  # noqa: S101 - as the store does


def _guarded(job: Document, was: str, mark: str, **fields: Any) -> UpdateOne:
    """Write a job if it has a mark, in the quickest way that we know (docs/adr/0044)."""
    checked = {"$cond": [{"$eq": ["$m", was]}, mark, {"$toInt": "$_id"}]}
    gone = {name: "$$REMOVE" for name in ("w", "c", "e", "r") if name not in fields}
    values = {name: {"$literal": value} for name, value in fields.items()}
    return UpdateOne({"_id": job["_id"]}, [{"$set": {"m": checked, **gone, **values}}])


def _sure(database: Database[Document], writes: list[UpdateOne]) -> None:
    if database.jobs.bulk_write(writes, ordered=False).matched_count != len(writes):
        raise ValueError("a bare write was refused")


def _started(key: str, body: str) -> tuple[str, str, str]:
    """The body of a job whose run has started, up to the attempts; the row of the attempt; and the counts."""
    format_, token, rest = body.split(",", 2)
    number = int(token[1:]) + 1
    row = f'1,0,1,{DUE},null,null,null,"{_NODE}",{number},{NOW},null,'
    state = (
        f'[{number},{NOW},null,{DUE},null,null,null,1,0,{NOW},null,"{run_key(key)}",1,null,null,null,null]'
    )
    assert rest  # noqa: S101 - all of it was read
    return f"{format_},{state}", row, f"[1,1,225,null,{DUE},null]]"
