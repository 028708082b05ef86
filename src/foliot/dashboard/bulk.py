"""Pause, resume or run all jobs that fit a filter: first a preview, then page by page, until somebody stops.

The browser carries how far it is: each form has the filter, the place and the sums so far. So nothing goes on
when a window is closed, and without a script a person presses *Continue* for each page.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta
from starlette.responses import Response

from foliot.api.answers import BulkItem
from foliot.api.call import Call
from foliot.api.job_commands import Act, BulkFilter, carry_out, page_that_fits
from foliot.api.reading import read_struct
from foliot.dashboard.frame import frame_of
from foliot.dashboard.route import Form, Pages
from foliot.dashboard.view import leave, render
from foliot.dashboard.words import number
from foliot.model.access import Scope
from foliot.model.alert import OWN_SOURCE

pages = Pages("jobs")
DEEDS = {"pause": "Pause", "resume": "Resume", "run": "Run now"}
_DONE = {"pause": "paused", "resume": "resumed", "run": "asked to run"}
_MORE = "More jobs fit now than the preview has counted."
_AT_ONCE = 100  # jobs of one form: about a second of work
_SHOWN = 20  # jobs whose effect is previewed
_COUNTED = 500  # jobs of a page when they are only counted
_MOST_PAGES = 40
_OTHERS = ("preview", "request_key", "stop")
Sum = Annotated[int, Meta(ge=0, le=100_000_000)]


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What is done to which jobs, where it goes on, and what became of those before.

    `expect`: how many jobs the preview has counted; None: more than it counts.
    """

    action: Act
    filter: BulkFilter
    reason: Annotated[str, Meta(max_length=200)] = ""
    cursor: Annotated[str, Meta(max_length=4000)] | None = None
    expect: Sum | None = None
    done: Sum = 0
    same: Sum = 0
    refused: Sum = 0

    @property
    def seen(self) -> int:
        """How many jobs were met."""
        return self.done + self.same + self.refused

    @property
    def fields(self) -> dict[str, Any]:
        """The same, as the fields of a form."""
        own = {name: getattr(self, name) for name in self.__struct_fields__ if name != "filter"}
        given = own | {name: getattr(self.filter, name) for name in self.filter.__struct_fields__}
        return {name: value for name, value in given.items() if value not in (None, "")}


class Counted(NamedTuple):
    """How many jobs fit; None: more than were counted, of which there are so many."""

    exact: int | None
    at_least: int

    @property
    def words(self) -> str:
        """For people."""
        if self.exact is None:
            return f"more than {number(self.at_least)} jobs"
        return f"{number(self.exact)} {'job' if self.exact == 1 else 'jobs'}"


def read_progress(form: Form) -> Progress:
    """What a form says; 422 if it is nothing that this page has written."""
    given = {name: text for name, text in form.typed.items() if text and name not in _OTHERS}
    names = set(BulkFilter.__struct_fields__)
    told: dict[str, Any] = {name: text for name, text in given.items() if name not in names}
    for name in ("expect", "done", "same", "refused"):
        if name in told and told[name].isascii() and told[name].isdecimal():
            told[name] = int(told[name][:10])
    return read_struct(told | {"filter": {n: t for n, t in given.items() if n in names}}, Progress)


@pages.post("/jobs/bulk/all", Scope.OPERATE)
async def bulk_all(call: Call, form: Form) -> Response:
    """All jobs that fit a filter: how many and what would happen; then some of them, and how to go on."""
    asked = read_progress(form)
    if call.dry_run:
        return await _preview(call, asked)
    if "stop" in form:
        return leave(call, _back(call, asked), f"Stopped. {_told(asked)}")
    left = _AT_ONCE if asked.expect is None else max(0, asked.expect - asked.seen)
    most = min(_AT_ONCE, max(1, left))
    ids, following = await page_that_fits(call, asked.filter, asked.action, asked.cursor, most)
    if ids and not left:
        return leave(call, _back(call, asked), f"{_told(asked)} {_MORE}")
    results = await carry_out(call, asked.action, ids, asked.reason)
    now = _added(asked, results, following)
    if following is not None and asked.expect is not None and now.seen >= asked.expect:
        more, following = await page_that_fits(call, asked.filter, asked.action, following, 1)
        if more:
            return leave(call, _back(call, asked), f"{_told(now)} {_MORE}")
    if following is None:
        return leave(call, _back(call, asked), f"Done. {_told(now)}")
    return await _show(call, now, results)


def _added(asked: Progress, results: list[BulkItem], following: str | None) -> Progress:
    refused = sum(one.code is not None for one in results)
    done = sum(one.changed for one in results)
    return msgspec.structs.replace(
        asked,
        cursor=following,
        done=asked.done + done,
        refused=asked.refused + refused,
        same=asked.same + len(results) - done - refused,
    )


def _told(now: Progress) -> str:
    words = [f"{number(now.done)} {_DONE[now.action]}"]
    words += [f"{number(now.same)} were so already"] if now.same else []
    words += [f"{number(now.refused)} refused"] if now.refused else []
    return f"{', '.join(words)}."


def _back(call: Call, asked: Progress) -> str:
    return frame_of(call).url("/jobs", msgspec.to_builtins(asked.filter))


async def _preview(call: Call, asked: Progress) -> Response:
    counted = await _count(call, asked)
    ids, _ = await page_that_fits(call, asked.filter, asked.action, None, _SHOWN)
    results = await carry_out(call, asked.action, ids, asked.reason)
    return await render(
        call,
        "bulk_all.html",
        heading=f"{DEEDS[asked.action]}: {counted.words}",
        asked=msgspec.structs.replace(asked, expect=counted.exact, cursor=None, done=0, same=0, refused=0),
        counted=counted,
        results=results,
        deed=DEEDS[asked.action],
        request_key="",
        is_preview=True,
        told="",
        back=_back(call, asked),
    )


async def _show(call: Call, now: Progress, results: list[BulkItem]) -> Response:
    return await render(
        call,
        "bulk_all.html",
        heading=f"{DEEDS[now.action]}: under way",
        asked=now,
        counted=Counted(now.expect, now.seen),
        results=[one for one in results if one.code is not None],
        deed=DEEDS[now.action],
        request_key=call.key or "",  # one for all pages: a job is asked to run once, however often it is sent
        is_preview=False,
        told=_told(now),
        back=_back(call, now),
    )


async def _count(call: Call, asked: Progress) -> Counted:
    """How many jobs fit. Those of whole sources are counted already."""
    chosen, found = asked.filter, 0
    if chosen in (BulkFilter(), BulkFilter(source=chosen.source)):
        sources = call.seen_sources(chosen.source)
        known = [
            one
            for one in await call.ops.store.sources()
            if one.source in sources or (None in sources and one.source != OWN_SOURCE)
        ]
        return Counted(sum(one.jobs for one in known), 0)
    cursor = None
    for _ in range(_MOST_PAGES):
        ids, cursor = await page_that_fits(call, chosen, asked.action, cursor, _COUNTED)
        found += len(ids)
        if cursor is None:
            return Counted(found, found)
    return Counted(None, found)
