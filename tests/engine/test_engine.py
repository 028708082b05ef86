"""One node's life, on a clock that is moved by hand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

from engine.stage import LEASE, MINUTE, SECOND, Stage, job, staged
from foliot.engine.plan_command import Cancel, RunNow, plan_command
from foliot.engine.planner import plan_due
from foliot.errors import StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.decision import Happening
from foliot.model.job import Action
from foliot.model.policy import Overlap, OverlapMode, Retry
from foliot.model.state import Lease, Node
from foliot.protocols import AskToEnd, JobQuery, OnEnd, Output, Result, Run
from foliot.stores.memory import MemoryStore


@staged
async def test_an_occurrence_starts_on_its_minute_and_its_success_is_recorded(stage: Stage) -> None:
    await stage.declare(job())
    await stage.start()

    await stage.clock.advance(MINUTE + 5 * SECOND)

    [(at, key, number)] = stage.starts
    assert (at.minute, at.second, number) == (1, 0, 1)
    [attempt] = await stage.runs()
    assert (attempt.run_key, attempt.outcome) == (key, Outcome.SUCCEEDED)
    assert attempt.finished_at == at + SECOND


@staged
async def test_a_job_declared_later_is_started_without_waiting_for_the_poll(stage: Stage) -> None:
    engine = await stage.start()
    await stage.clock.advance(10 * SECOND)
    await stage.declare(job())
    engine.wake()

    await stage.clock.advance(MINUTE)

    assert len(stage.starts) == 1


@staged
async def test_a_lost_hint_is_made_good_by_the_poll(stage: Stage) -> None:
    await stage.start()
    await stage.clock.advance(MINUTE - 10 * SECOND)
    await stage.declare(job(rule="1 0 * * *"))

    await stage.clock.advance(MINUTE)

    assert len(stage.starts) == 1
    assert stage.starts[0][0] <= stage.clock.now()


@staged
async def test_two_nodes_share_the_work_and_start_each_occurrence_once(stage: Stage) -> None:
    await stage.declare(*(job(f"job-{number}") for number in range(20)))
    await stage.start(slots=12)
    await stage.start(slots=12)

    await stage.clock.advance(3 * MINUTE + 2 * SECOND)

    assert len(stage.starts) == len({start[1:] for start in stage.starts}) == 60
    assert len({attempt.node for attempt in await stage.runs(limit=1000)}) == 2


@staged
async def test_what_a_process_ended_with_goes_into_the_history(stage: Stage) -> None:
    stage.result = Result(Outcome.FAILED, "killed", exit_code=-9)
    await stage.declare(job(rule="1 0 * * *"))
    await stage.start()

    await stage.clock.advance(MINUTE + 2 * SECOND)

    [attempt] = await stage.runs()
    assert (attempt.outcome, attempt.exit_code) == (Outcome.FAILED, -9)


@staged
async def test_no_more_is_claimed_than_there_are_slots(stage: Stage) -> None:
    stage.takes = 10 * SECOND
    await stage.declare(*(job(f"job-{number}", "1 0 * * *") for number in range(5)))
    await stage.start(slots=2)

    await stage.clock.advance(MINUTE + SECOND)
    assert len(stage.starts) == 2
    await stage.clock.advance(10 * SECOND)
    assert len(stage.starts) == 4
    await stage.clock.advance(10 * SECOND)
    assert len(stage.starts) == 5


@staged
async def test_a_run_that_takes_too_long_times_out(stage: Stage) -> None:
    stage.takes = timedelta(hours=1)
    await stage.declare(job(rule="1 0 * * *", timeout=10 * SECOND))
    await stage.start()

    await stage.clock.advance(MINUTE + 10 * SECOND)

    [attempt] = await stage.runs(outcome=Outcome.TIMED_OUT)
    [(started_at, _, _)] = stage.starts
    assert attempt.finished_at == started_at + 10 * SECOND
    assert attempt.error == "did not end within 10s"


@staged
async def test_what_an_attempt_wrote_is_kept(stage: Stage) -> None:
    stage.result = Result(Outcome.FAILED, "no luck", "some words", dropped=3)
    await stage.declare(job(rule="1 0 * * *"))
    await stage.start()

    await stage.clock.advance(MINUTE + 5 * SECOND)

    [attempt] = await stage.runs()
    assert await stage.store.output(*attempt.key) == Output("code/a", *attempt.key, "some words", 3)


@staged
async def test_an_executor_that_raises_fails_its_run_and_nothing_else(stage: Stage) -> None:
    await stage.declare(job(rule="1 0 * * *"), job("b", rule="1 0 * * *"))
    engine = await stage.start()
    real, starts = engine._runner._executors["x"].start, count(1)

    def start(run: Run, on_end: OnEnd) -> AskToEnd:
        if next(starts) == 1:
            raise OSError("no more processes")
        return real(run, on_end)

    engine._runner._executors["x"].start = start  # type: ignore[method-assign] # a fault that nature will not give

    await stage.clock.advance(MINUTE + 5 * SECOND)

    outcomes = {attempt.job: (attempt.outcome, attempt.error) for attempt in await stage.runs()}
    assert outcomes == {
        "code/a": (Outcome.FAILED, "OSError: no more processes"),
        "code/b": (Outcome.SUCCEEDED, None),
    }


@staged
async def test_a_failure_is_retried_and_a_success_ends_it(stage: Stage) -> None:
    stage.result = Result(Outcome.FAILED, "no luck")
    await stage.declare(job(rule="1 0 * * *", retry=Retry(max=3, delay="10s")))
    await stage.start()

    await stage.clock.advance(MINUTE + 5 * SECOND)
    stage.result = Result(Outcome.SUCCEEDED)
    await stage.clock.advance(MINUTE)

    assert [(attempt.number, attempt.outcome) for attempt in await stage.runs()] == [
        (1, Outcome.FAILED),
        (2, Outcome.SUCCEEDED),
    ]
    assert stage.starts[1][0] - stage.starts[0][0] == 11 * SECOND


@staged
async def test_replace_ends_the_open_run_before_the_next_one_starts(stage: Stage) -> None:
    stage.takes = 90 * SECOND
    await stage.declare(job(overlap=Overlap(mode=OverlapMode.REPLACE)))
    await stage.start()

    await stage.clock.advance(2 * MINUTE + 5 * SECOND)

    assert [start[0].minute for start in stage.starts] == [1, 2]
    first = (await stage.runs())[0]
    assert first.outcome is Outcome.CANCELLED
    assert any(event.what is Happening.CANCEL_ASKED for event in stage.told.events)


@staged
async def test_a_cancel_by_a_person_reaches_the_node_with_its_next_heartbeat(stage: Stage) -> None:
    stage.takes = timedelta(hours=1)
    await stage.declare(job(rule="1 0 * * *"))
    await stage.start()
    await stage.clock.advance(MINUTE + SECOND)
    key = stage.starts[0][1]

    now = stage.clock.now()
    await stage.store.update("code/a", lambda record: plan_command(record, Cancel(key), now))
    await stage.clock.advance(11 * SECOND)

    [attempt] = await stage.runs()
    assert attempt.outcome is Outcome.CANCELLED


@staged
async def test_a_request_runs_at_once(stage: Stage) -> None:
    await stage.declare(job(rule="0 0 1 1 *"))
    engine = await stage.start()
    now = stage.clock.now()

    await stage.store.update("code/a", lambda record: plan_command(record, RunNow("please"), now))
    engine.wake()
    await stage.clock.advance(2 * SECOND)

    assert [start[1] for start in stage.starts] == ["code/a!please"]


@staged
async def test_stop_lets_what_runs_end_and_claims_no_more(stage: Stage) -> None:
    stage.takes = 20 * SECOND
    await stage.declare(job())
    engine = await stage.start()
    await stage.clock.advance(MINUTE + 5 * SECOND)

    engine.stop()
    await stage.clock.advance(2 * MINUTE)

    assert len(stage.starts) == 1
    [attempt] = await stage.runs()
    assert attempt.outcome is Outcome.SUCCEEDED
    assert (await stage.store.overview()).nodes == ()


class Silent:
    """A store that does its work and then does not answer, as often as it is told."""

    def __init__(self, store: MemoryStore, **silences: int) -> None:
        self._store = store
        self.traits = store.traits
        self._silences = silences

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        call = getattr(self._store, verb)

        async def perhaps_answer(*arguments: Any, **options: Any) -> Any:
            answer = await call(*arguments, **options)
            if self._silences.get(verb, 0):
                self._silences[verb] -= 1
                raise StoreUnavailableError(verb, "the answer was lost")
            return answer

        return perhaps_answer


@staged
async def test_a_claim_whose_answer_was_lost_is_asked_again_and_starts_once(stage: Stage) -> None:
    await stage.declare(job(rule="1 0 * * *"))
    await stage.clock.advance(MINUTE - SECOND)
    await stage.start(Silent(stage.store, claim=3))

    await stage.clock.advance(10 * SECOND)

    assert len(stage.starts) == 1
    assert stage.told.troubles


@staged
async def test_an_ending_whose_answer_was_lost_is_reported_again_and_counts_once(stage: Stage) -> None:
    await stage.declare(job(rule="1 0 * * *"))
    await stage.start(Silent(stage.store, finish=2))

    await stage.clock.advance(MINUTE + 10 * SECOND)

    [attempt] = await stage.runs()
    assert attempt.outcome is Outcome.SUCCEEDED


@staged
async def test_a_node_that_was_buried_ends_its_runs_and_joins_anew(stage: Stage) -> None:
    stage.takes = timedelta(hours=1)
    await stage.declare(job(rule="1 0 * * *"))
    engine = await stage.start()
    await stage.clock.advance(MINUTE + SECOND)
    dead = engine.node

    await stage.store.leave(dead)  # somebody else declared it dead
    await stage.clock.advance(25 * SECOND)

    assert engine.node != dead
    assert [(a.number, a.outcome) for a in await stage.runs()] == [(1, Outcome.LOST), (2, None)]
    assert [number for _, _, number in stage.starts] == [1, 2]


@staged
async def test_what_the_store_knows_and_the_node_does_not_is_ended(stage: Stage) -> None:
    """A claim that took effect while its node was sure of nothing any more."""
    await stage.declare(job(rule="1 0 * * *"))
    engine = await stage.start(slots=0)
    await stage.clock.advance(MINUTE)
    assert stage.starts == []

    await stage.store.claim(engine.node, stage.clock.now(), {"default": 1}, plan_due, "in the dark")
    await stage.clock.advance(21 * SECOND)

    first = (await stage.runs())[0]
    assert first.outcome is Outcome.INTERRUPTED
    assert first.error == "never started"


@staged
async def test_a_job_of_a_kind_that_the_node_cannot_run_is_left_alone(stage: Stage) -> None:
    other = replace(job("other", "1 0 * * *"), action=Action(kind="y"))
    await stage.declare(job(rule="1 0 * * *"), other)
    await stage.start()

    await stage.clock.advance(2 * MINUTE)

    assert [start[1].partition("@")[0] for start in stage.starts] == ["code/a"]
    assert [view.record.state.wake_at is not None for view in await _views(stage, "code/other")] == [True]


async def _views(stage: Stage, key: str) -> Any:
    return await stage.store.jobs(JobQuery(keys=frozenset({key})))


@staged
async def test_a_node_that_drains_keeps_its_lease_and_goes_on_reporting(stage: Stage) -> None:
    """Otherwise others would bury it, and start a second time what it is about to end."""
    stage.takes = 3 * LEASE
    await stage.declare(job(rule="1 0 * * *"), job("short", rule="1 0 * * *"))
    first = await stage.start(drain=5 * LEASE)
    await stage.clock.advance(MINUTE + SECOND)
    stage.takes = SECOND
    await stage.start()

    first.stop()
    await stage.clock.advance(2 * LEASE)
    assert len(stage.starts) == 2

    await stage.clock.advance(2 * LEASE)
    attempts = await stage.runs()
    assert [(a.number, a.outcome) for a in attempts] == [(1, Outcome.SUCCEEDED)] * 2
    assert len(stage.starts) == 2


@staged
async def test_what_ends_while_others_are_drained_is_reported_at_once(stage: Stage) -> None:
    stage.takes = 2 * MINUTE
    await stage.declare(job(rule="1 0 * * *"))
    await stage.declare(job(rule="1 0 * * *"), job("late", rule="2 0 * * *"))
    engine = await stage.start(drain=timedelta(minutes=10))
    await stage.clock.advance(MINUTE + SECOND)
    stage.takes = 5 * MINUTE
    await stage.clock.advance(MINUTE)
    engine.stop()

    await stage.clock.advance(MINUTE + SECOND)

    assert [a.job for a in await stage.runs(outcome=Outcome.SUCCEEDED)] == ["code/a"]
    assert [a.job for a in await stage.runs(is_open=True)] == ["code/late"]


@staged
async def test_a_node_that_cannot_join_can_be_stopped(stage: Stage) -> None:
    class Away(MemoryStore):
        async def join(self, node: Node) -> Lease:
            raise StoreUnavailableError("join", f"{node.id} cannot reach it")

    engine = await stage.start(Away(stage.clock))
    await stage.clock.advance(MINUTE)
    assert stage.told.troubles
    engine.stop()
    await stage.clock.advance(LEASE)
    assert all(life.done() for _, life in stage._lives)
