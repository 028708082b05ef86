"""`after` in `rollcron.yaml`: which job a job runs after, and what both definitions become by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from foliot.doors.rollcron.record import record, then
from foliot.doors.rollcron.value import Kind, Value, either, matching, word
from foliot.errors import shorten
from foliot.model.chain import Link, On
from foliot.model.job import Job

_HINT = "write after: load, or after: {job: load, on: failure}"
_NAME = matching(r"[A-Za-z0-9_-]+", "id of a job", _HINT)
AFTER_FIELDS: dict[str, Kind] = {"job": _NAME, "on": then(word(On), On)}
_AFTER = record(
    Link, AFTER_FIELDS, _HINT, required="job", missing="write which job it runs after: job: load",
    synonyms={"when": "did you mean on?"},
)  # fmt: skip
AFTER = either(then(_NAME, Link), _AFTER)


def check_chains(links: Mapping[str, Link], places: Mapping[str, Value], names: Sequence[str]) -> None:
    """Refuse chains that lead nowhere, or to themselves. Each job has one that it runs after, at most."""
    for id_, link in links.items():
        if link.job not in names:
            close = get_close_matches(link.job, names, n=1)
            hint = f"did you mean {close[0]}?" if close else "it must be a job of this repository"
            places[id_].refuse(f"there is no job {shorten(link.job)}", hint=hint)
        elif (way := _way_back(id_, links)) is not None:
            hint = "remove one of them: a chain has a beginning"
            places[id_].refuse(f"it runs after itself: {' after '.join(way)}", hint=hint)


def _way_back(id_: str, links: Mapping[str, Link]) -> list[str] | None:
    way, at = [id_], links[id_].job
    while at in links and at not in way:
        way.append(at)
        at = links[at].job
    return [*way, at] if at == id_ else None


def chained(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """The same jobs; those that others run after know them."""
    followers: dict[str, list[Link]] = {}
    for job in jobs:
        if (after := job.policy.after) is not None:
            followers.setdefault(after.job, []).append(Link(job.name, after.on))
    return tuple(
        replace(job, policy=replace(job.policy, then=tuple(followers[job.name])))
        if job.name in followers
        else job
        for job in jobs
    )
