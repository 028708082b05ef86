"""Runs: list, show, cancel, repeat; what they wrote; and occurrences that did not run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta
from starlette.responses import Response

from foliot.api.answers import Log, Requested, RunAnswer, RunList, SkipList
from foliot.api.call import Call
from foliot.api.cursor import Paged, Query
from foliot.api.executor import require_executor
from foliot.api.finders import FINDERS, find_attempt
from foliot.api.ids import key_of
from foliot.api.job_commands import show_request
from foliot.api.jobs import Text
from foliot.api.pipeline_runs import jobs_of_meant, page_of_runs
from foliot.api.problem import ProblemError
from foliot.api.reading import Instant
from foliot.api.route import Group
from foliot.api.sent import Sent
from foliot.api.show import show_run, show_skip, status_of
from foliot.api.streams import KEEP_ALIVE, MEDIA_TYPE, stream, wait_for
from foliot.api.terms import Status
from foliot.model.access import Scope
from foliot.model.attempt import Attempt, Outcome, Trigger
from foliot.model.state import SkipCode
from foliot.operations.run_words import words_of
from foliot.protocols import JobQuery, JobView, Output, RunPage, RunQuery, SkipPage, SkipQuery

_MEDIA = ("text/plain", MEDIA_TYPE)
_HAPPY = (Outcome.SUCCEEDED, None)
routes = Group("runs", FINDERS)


class RunsOfJobQuery(Paged, frozen=True):
    """Which runs. `status` and `outcome` are those of the last attempt. Times are those of occurrences."""

    status: Status | None = None
    outcome: Outcome | None = None
    trigger: Trigger | None = None
    started_after: Instant | None = None
    started_before: Instant | None = None


class RunsQuery(RunsOfJobQuery, frozen=True):
    """Which runs, of which jobs. `job` is the id or the key of a job.

    A pipeline is given by its id, or by its namespace, layer and name.
    """

    source: Text | None = None
    job: Text | None = None
    node: Text | None = None
    pipeline_id: Text | None = None
    namespace: Text | None = None
    layer: Text | None = None
    pipeline: Text | None = None


@routes.get("/runs", Scope.READ)
async def list_runs(call: Call, query: RunsQuery) -> RunList:
    """List runs, the newest first. A page may have fewer than asked for, and a next one."""
    job, source = _job_and_source(query.job, query.source)
    names = query.namespace, query.layer, query.pipeline
    if (of_pipeline := await jobs_of_meant(call, query.pipeline_id, *names)) is not None:
        return await _list(call, query, source, RunQuery(node=query.node), of_pipeline)
    return await _list(call, query, source, RunQuery(job=job, node=query.node))


def _job_and_source(job: str | None, source: str | None) -> tuple[str | None, str | None]:
    """The key of the job that is asked for, by its id or its key, and its source.

    The source of the job decides what may be seen, whatever source was asked for.
    """
    if job is None:
        return None, source
    key = key_of(job) or job
    own = key.partition("/")[0]
    if source not in (None, own):
        detail = "the job is not of that source"
        raise ProblemError(400, "BAD_QUERY", detail, hint="give a job or a source, not both")
    return key, own


@routes.get("/jobs/{job}/runs", Scope.READ)
async def list_runs_of_job(call: Call, job: JobView, query: RunsOfJobQuery) -> RunList:
    """List the runs of a job, the newest first."""
    return await _list(call, query, job.key.partition("/")[0], RunQuery(job=job.key))


async def _list(
    call: Call,
    query: RunsOfJobQuery,
    source: str | None,
    asked: RunQuery,
    jobs: Sequence[str] | None = None,
) -> RunList:
    is_open = {"pending": True, "running": True}.get(query.status or "", False if query.status else None)
    outcome = Outcome.SUCCEEDED if query.status == "success" else query.outcome

    asked = asked._replace(
        outcome=outcome,
        is_open=is_open,
        trigger=query.trigger,
        since=query.started_after,
        until=query.started_before,
        limit=query.limit,
    )

    async def ask(source: str | None, after: str) -> RunPage:
        return await call.ops.store.runs(asked._replace(source=None if asked.job else source, after=after))

    attempts: Sequence[Attempt]
    if jobs is None:
        attempts, following = await call.page(query, source, ask)
    else:
        attempts, following = await page_of_runs(call, query, jobs, asked)
    shown: dict[str, Attempt] = {}
    for attempt in attempts:
        known = shown.get(attempt.run_key)
        if (known is None or attempt.number > known.number) and query.status in (None, status_of(attempt)):
            shown[attempt.run_key] = attempt
    runs = [one for one in shown.values() if await _is_last(call, one)]
    told = await words_of(call.ops.store, runs)
    shown_runs = tuple(show_run(call, [one], words) for one, words in zip(runs, told, strict=True))
    return RunList(runs=shown_runs, next=following)


async def _is_last(call: Call, attempt: Attempt) -> bool:
    """Whether no later attempt of the run is there; one that is open, or has succeeded, has none."""
    if attempt.outcome in _HAPPY:
        return True
    last = await call.ops.last(attempt.job, attempt.run_key)
    return last is None or last.number == attempt.number


@routes.get("/runs/{run}", Scope.READ)
async def show_one_run(call: Call, run: list[Attempt]) -> RunAnswer:
    """Show a run with all its attempts."""
    [words] = await words_of(call.ops.store, run[-1:])
    return show_run(call, run, words, is_whole=True)


@routes.post("/runs/{run}/cancel", Scope.OPERATE, status=202)
async def cancel(call: Call, run: list[Attempt]) -> Requested:
    """Ask a run to end: one that waits never starts. 409 if it has ended."""
    effect = await call.ops.cancel(run[-1].run_key, dry_run=call.dry_run)
    return show_request(call, effect)


@routes.post("/runs/{run}/rerun", Scope.OPERATE, status=202)
async def rerun(call: Call, run: list[Attempt]) -> Requested:
    """Repeat a run that has ended, as a new run with the same payload. 503 if no node can start it."""
    for view in await call.ops.store.jobs(JobQuery(keys=frozenset((run[-1].job,)))):
        await require_executor(call, view)
    effect = await call.ops.rerun(run[-1].run_key, request=call.key, dry_run=call.dry_run)
    if not effect.has_changed:
        if effect.attempt is not None and not effect.attempt.reason.endswith(f" {run[-1].run_key}"):
            detail = "the Idempotency-Key was used for another run"
            raise ProblemError(422, "KEY_REUSED", detail, hint="use a new key for each new run")
        call.replayed()
    return show_request(call, effect)


# -- what they wrote -------------------------------------------------------------------------------


class LogQuery(Query, frozen=True):
    """From which place on: the `end` of an earlier answer. `format` is for links, which accept anything."""

    after: Annotated[int, Meta(ge=0, le=2**53)] = 0
    format: Literal["json", "text"] | None = None


@routes.get("/runs/{run}/attempts/{number}/log", Scope.READ, media=_MEDIA, answer=Log)
async def log(call: Call, run: list[Attempt], number: int, query: LogQuery) -> Any:
    """Tell what an attempt wrote: as JSON, as text/plain, or live as text/event-stream, by `Accept`."""
    return await answer_log(call, find_attempt(run, number), query)


@routes.get("/runs/{run}/logs", Scope.READ, media=_MEDIA, answer=Log)
async def last_log(call: Call, run: list[Attempt], query: LogQuery) -> Any:
    """The same, of the last attempt that has started."""
    started = [attempt for attempt in run if attempt.claimed_at is not None or attempt.started_at is not None]
    return await answer_log(call, (started or run)[-1], query)


async def answer_log(call: Call, attempt: Attempt, query: LogQuery) -> Any:
    """What an attempt wrote, in the form that the client asks for, or else accepts."""
    accept, after = call.request.headers.get("accept", ""), query.after
    if query.format is not None:
        accept = {"text": "text/plain", "json": "application/json"}[query.format]
    if MEDIA_TYPE in accept:
        return stream(call, _follow(call, attempt, after))
    output = await call.ops.store.output(*attempt.key, after)
    if "text/plain" in accept:
        name = f"attachment; filename=attempt-{attempt.number}.txt"
        return Response(output.text if output else "", 200, {"Content-Disposition": name}, "text/plain")
    return _show(attempt, output, after)


def _show(attempt: Attempt, output: Output | None, after: int) -> Log:
    text, dropped, end = ("", 0, after) if output is None else (output.text, output.dropped, output.end)
    return Log(
        run=attempt.run_key, attempt=attempt.number, text=text, dropped=dropped, end=max(end, after),
        is_open=attempt.is_open,
    )  # fmt: skip


async def _follow(call: Call, attempt: Attempt, after: int) -> AsyncIterator[Sent | None]:
    """`log` for each new part, `status` when the attempt has ended; then the stream ends."""
    with call.service.logs.following(attempt) as reader:
        while not call.service.stopping.is_set():
            news, is_open = reader.news, reader.is_open
            output = await reader.since(after)
            if output is not None and output.text:
                after = output.end
                yield Sent("log", _show(attempt, output, after))
            if not is_open:
                final = [
                    a
                    for a in await call.ops.attempts_of(attempt.job, attempt.run_key)
                    if a.number == attempt.number
                ]
                ended = final[0] if final else attempt
                yield Sent("status", {"status": status_of(ended), "outcome": ended.outcome, "end": after})
                return
            await wait_for(call, KEEP_ALIVE, news)
            if not news.is_set():
                yield None


# -- what did not run ------------------------------------------------------------------------------


class SkipsQuery(Paged, frozen=True, rename={"first": "from", "last": "to"}):
    """Which skips: those that end within a time."""

    first: Instant | None = None
    last: Instant | None = None
    reason: SkipCode | None = None
    source: Text | None = None
    job: Text | None = None


@routes.get("/skips", Scope.READ)
async def list_skips(call: Call, query: SkipsQuery) -> SkipList:
    """List occurrences that did not run, the newest first. A page may have fewer than asked for."""
    job, source = _job_and_source(query.job, query.source)

    async def ask(source: str | None, after: str) -> SkipPage:
        asked = SkipQuery(job, query.first, query.last, after, query.limit, None if job else source)
        return await call.ops.store.skips(asked)

    skips, following = await call.page(query, source, ask)
    shown = tuple(show_skip(skip) for skip in skips if query.reason in (None, skip.code))
    return SkipList(skips=shown, next=following)
