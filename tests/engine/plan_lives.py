"""Random lives for the planner's laws: any policy, any sequence of events, time only ever forward.

What happens is chosen by numbers from what can happen then, so that few draws are wasted; zero is a
claim at the same moment, which does no harm, so failing lives shrink to what matters.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from hypothesis import note
from hypothesis import strategies as st

from engine.plan_cases import DAY, Life, brief, make_job
from foliot.engine.plan_command import Backfill, Cancel, Pause, Resume, RunNow
from foliot.errors import CommandRefusedError
from foliot.model.alert import AlertKind
from foliot.model.attempt import Attempt, Outcome
from foliot.model.job import Job
from foliot.model.policy import (
    Expect,
    FirstSeen,
    Misfire,
    MisfireMode,
    Notify,
    OnChange,
    OnLost,
    Overlap,
    OverlapMode,
    Policy,
    Retry,
)
from foliot.schedules import Cron, Every, Once, Schedule

TICK = timedelta(microseconds=1)
ZERO, SECOND, MINUTE, HOUR = timedelta(0), timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
START = DAY + timedelta(hours=9, minutes=59, seconds=30)
RULES: tuple[Schedule, ...] = (
    Cron("* * * * *"),
    Cron("*/7 * * * *"),
    Cron("5,6,40 10-11 * * *", timezone="Europe/Berlin"),
    Cron("*/20 * * * * *", dialect="seconds"),
    Every("90s"),
    Once(DAY + timedelta(hours=10, minutes=2)),
)

retries = st.builds(
    Retry,
    max=st.sampled_from([0, 1, None]),
    delay=st.sampled_from([10 * SECOND, ZERO, 90 * SECOND]),
    backoff=st.sampled_from([1, 2]),
    jitter=st.sampled_from([0, 0.5]),
    is_preempted=st.booleans(),
)
misfires = st.builds(
    Misfire,
    mode=st.sampled_from(MisfireMode),
    limit=st.integers(1, 3),
    grace=st.sampled_from([MINUTE, ZERO, 5 * SECOND, HOUR]),
)
overlaps = st.sampled_from(
    [
        *(Overlap(mode=mode) for mode in OverlapMode),
        Overlap(mode=OverlapMode.PARALLEL, limit=1),
        Overlap(mode=OverlapMode.PARALLEL, limit=2),
    ]
)

NOTIFIES = (
    None,
    Notify("ops"),
    Notify(("ops", "admins"), on=AlertKind, remind="7m"),
    Notify("ops", on=("failure", "recovery"), after=2, remind=None),
)
EXPECTS = (
    None,
    Expect(start_within=5 * SECOND, finish_within=MINUTE, success_every=10 * MINUTE),
    Expect(success_every=HOUR),
)


@st.composite
def jobs(draw: st.DrawFn, on_change: OnChange | None = None) -> Job:
    """Any definition of the one job."""
    policy = Policy(
        first_seen=draw(st.sampled_from(FirstSeen)),
        misfire=draw(misfires),
        before_first_run=draw(st.booleans()),
        on_change=on_change or draw(st.sampled_from(OnChange)),
        overlap=draw(overlaps),
        retry=draw(retries),
        on_lost=draw(st.sampled_from(OnLost)),
        timeout=draw(st.sampled_from([None, MINUTE])),
        remembers=draw(st.booleans()),
        splay=draw(st.sampled_from([None, None, None, 90 * SECOND])),
        notify=draw(st.sampled_from(NOTIFIES)),
        expect=draw(st.sampled_from(EXPECTS)),
    )
    return make_job(
        draw(st.sampled_from(RULES)),
        policy,
        enabled=draw(st.sampled_from([True, True, True, False])),
        repeat_until=draw(st.sampled_from([None, None, START + HOUR])),
        auto_remove=draw(st.sampled_from([False, False, True])),
    )


PEOPLE = ("run", "pause", "resume", "resume", "backfill", "rerun")
SOURCES = ("declare", "change", "switch", "remove")
ENDS = ("succeed", "succeed", "succeed", "fail", "fail", "time_out", "interrupt", "lose", "lose")


class Player:
    """Lets things happen to a life. `definitions` are those that a change chooses from."""

    def __init__(self, *definitions: Job, without: frozenset[str] = frozenset()) -> None:
        self.definitions = definitions
        self.without = without
        self.job = definitions[0]
        self.life = Life()
        self.now = START
        self.count = 0
        self.life.declare(self.job, self.now)

    def happen(self, number: int) -> None:
        """One event, at this moment or at one of those that matter."""
        self.count += 1
        number, wait = divmod(number, 8)
        which, number = divmod(number, 64)
        self.now += self._waits()[wait]
        events = self._events()
        event = events[number % len(events)]
        note(f"{brief(self.now)} {event} {which}")
        getattr(self, f"_{event}")(which)

    def _waits(self) -> list[timedelta]:
        state = self.life.record.state if self.life.record else None
        wake_at = (state and state.wake_at) or self.now
        next_at = (state and state.next_at) or self.now
        late = self.job.policy.misfire.grace + TICK
        to_wake, to_next = max(wake_at - self.now, ZERO), max(next_at - self.now, ZERO)
        return [ZERO, to_wake, to_next, SECOND, to_next + late, 61 * SECOND, 5 * MINUTE, HOUR]

    def _events(self) -> list[str]:
        life = self.life
        ends = ENDS if life.running else ()
        if life.record is None or life.record.state.removed_at:
            return ["declare", "change", "switch", *ends]
        cancels = ("cancel",) * 3 if life.open else ()
        events = ("claim",) * 8 + ends * 2 + cancels + PEOPLE + SOURCES + ("look",)
        return [event for event in events if event not in self.without]

    # -- events ------------------------------------------------------------------------------------

    def _claim(self, _: int) -> None:
        self.life.claim(self.now)

    def _look(self, _: int) -> None:
        self.life.look(self.now)

    def _declare(self, _: int) -> None:
        self.life.declare(self.job, self.now)

    def _change(self, which: int) -> None:
        self.job = self.definitions[which % len(self.definitions)]
        self.life.declare(self.job, self.now)

    def _switch(self, _: int) -> None:
        self.job = replace(self.job, enabled=not self.job.enabled)
        self.life.declare(self.job, self.now)

    def _remove(self, _: int) -> None:
        self.life.remove(self.now)

    def _succeed(self, which: int) -> None:
        self.life.end(self._pick(which), self.now, Outcome.SUCCEEDED)

    def _fail(self, which: int) -> None:
        self.life.end(self._pick(which), self.now, Outcome.FAILED)

    def _time_out(self, which: int) -> None:
        self.life.end(self._pick(which), self.now, Outcome.TIMED_OUT)

    def _interrupt(self, which: int) -> None:
        self.life.end(self._pick(which), self.now, Outcome.INTERRUPTED)

    def _lose(self, which: int) -> None:
        self.life.lose(self._pick(which), self.now)

    def _pick(self, which: int) -> Attempt:
        return self.life.running[which % len(self.life.running)]

    def _run(self, _: int) -> None:
        self.life.command(RunNow(f"r{self.count}"), self.now)

    def _pause(self, _: int) -> None:
        self.life.command(Pause(), self.now)

    def _resume(self, _: int) -> None:
        self.life.command(Resume(), self.now)

    def _cancel(self, which: int) -> None:
        open_ = self.life.open
        self.life.command(Cancel(open_[which % len(open_)].run_key), self.now)

    def _backfill(self, which: int, *, rerun: bool = False) -> None:
        last = self.life.there.state.served_until or self.now
        first = last - which * MINUTE
        fill = Backfill(first, last, self.life.ran(first, last), rerun=rerun)
        with suppress(CommandRefusedError):
            self.life.command(fill, self.now)

    def _rerun(self, which: int) -> None:
        self._backfill(which, rerun=True)


numbers = st.lists(st.integers(0, 2**12), min_size=10, max_size=40)


@st.composite
def lives(
    draw: st.DrawFn,
    on_change: OnChange | None = None,
    definitions: tuple[Job, ...] = (),
    without: frozenset[str] = frozenset(),
    *,
    changes: bool = True,
) -> Life:
    """A life of some twenty events, under definitions that are drawn unless they are given."""
    if not definitions:
        definitions = draw(st.tuples(*[jobs(on_change)] * (2 if changes else 1)))
    player = Player(*definitions, without=without)
    for number in draw(numbers):
        player.happen(number)
    return player.life
