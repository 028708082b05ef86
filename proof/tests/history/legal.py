"""Histories as they ought to be: a world in which nobody ever makes a mistake, drawn from a seed.

It knows nothing of the planner or the checker. It goes through the occurrences of a job in order and tells
what a perfect scheduler does about each, with outages, crashes, failures, pauses and removals.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from foliot.model.attempt import Outcome, Trigger
from foliot.model.policy import Misfire, MisfireMode, OnLost, Overlap, OverlapMode, Policy, Retry
from foliot_proof.history import History, Operation, Trouble
from history.case_builder import BOUNDS, DAY, CaseBuilder

RULES = {"* * * * *": 60, "*/5 * * * *": 300, "*/15 * * * *": 900, "@every 90s": 90, "@every 7m": 420}
HOSTS = ("a", "b", "c")
MOMENT = timedelta(seconds=1)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def draw_history(seed: int, *, hours: int | None = None, is_stormy: bool = False) -> History:
    """One legal history of up to three jobs. A stormy one has few quiet moments, and catches up a lot."""
    return Perfect(seed, hours, is_stormy=is_stormy).tell()


class Span(NamedTuple):
    begin: datetime
    end: datetime


class Start(NamedTuple):
    """One attempt that is about to begin."""

    slot: datetime
    at: datetime
    host: str
    trigger: Trigger = Trigger.SCHEDULE
    covers: datetime | None = None
    number: int = 1
    retries: int = 0


@dataclass
class Life:
    """What a job is like, and how far its story has been told."""

    name: str
    policy: Policy
    slots: list[datetime]
    free_at: datetime
    until: datetime
    index: int = 0

    @property
    def mode(self) -> OverlapMode:
        return self.policy.overlap.mode

    @property
    def next_slot(self) -> datetime | None:
        """The first occurrence that nothing has been decided about."""
        return self.slots[self.index] if self.index < len(self.slots) else None

    def take(self, until: datetime) -> list[datetime]:
        """All occurrences up to an instant that nothing has been decided about."""
        found = [slot for slot in self.slots[self.index :] if slot <= until]
        self.index += len(found)
        return found


class Perfect:
    """Tells the story of a few hours in which faults happen and everybody does the right thing."""

    def __init__(self, seed: int, hours: int | None, *, is_stormy: bool) -> None:
        self.rng = random.Random(seed)  # noqa: S311 - chance that can be repeated
        self.is_stormy = is_stormy
        self.begin = DAY + timedelta(hours=8)
        self.end = self.begin + timedelta(hours=hours or self.rng.choice([1, 2, 4]))
        self.case = CaseBuilder(self.end + timedelta(minutes=30), HOSTS)
        self.down: dict[str, list[Span]] = {host: [] for host in HOSTS}

    def tell(self) -> History:
        self._break_things()
        for number in range(self.rng.randint(1, 3)):
            self._tell_job(f"s/job{number}")
        return self.case.history()

    # -- faults ------------------------------------------------------------------------------------

    def _break_things(self) -> None:
        blackouts = self.rng.randint(2, 4) if self.is_stormy else self.rng.randint(0, 2)
        for at in self._moments(blackouts):
            for host in HOSTS:
                self._fall(host, at + seconds(self.rng.random()), self.rng.choice([90, 300, 600]))
        for at in self._moments(self.rng.randint(0, 12 if self.is_stormy else 4)):
            self._fall(self.rng.choice(HOSTS), at, self.rng.choice([20, 90, 600]))

    def _moments(self, count: int) -> list[datetime]:
        return [self.begin + (self.end - self.begin) * self.rng.random() for _ in range(count)]

    def _fall(self, host: str, at: datetime, length: float) -> None:
        span, gap = Span(at, min(at + seconds(length), self.end)), seconds(10)
        if all(span.end + gap < other.begin or span.begin - gap > other.end for other in self.down[host]):
            self.down[host] = sorted([*self.down[host], span])
            self.case.fault(Trouble.DOWN, span.begin, span.end, host)

    def _up(self, since: datetime) -> tuple[datetime, str]:
        """The first moment at which a host can take something and has a while to do so."""
        moments = []
        for host in HOSTS:
            at = since
            for span in self.down[host]:
                if span.begin - MOMENT < at + MOMENT and at < span.end:
                    at = span.end + seconds(self.rng.uniform(0.1, 2))
            moments.append((at, host))
        earliest = min(at for at, _ in moments)
        return earliest, self.rng.choice([host for at, host in moments if at == earliest])

    def _crash(self, host: str, begin: datetime, end: datetime) -> datetime | None:
        return min((span.begin for span in self.down[host] if begin <= span.begin < end), default=None)

    # -- jobs --------------------------------------------------------------------------------------

    def _draw_policy(self) -> Policy:
        rng = self.rng
        modes = [MisfireMode.ONCE] if self.is_stormy else list(MisfireMode)
        return Policy(
            misfire=Misfire(mode=rng.choice(modes), limit=rng.choice([1, 3]), grace=seconds(60)),
            overlap=Overlap(mode=rng.choice(list(OverlapMode))),
            retry=Retry(max=rng.choice([0, 1, 2]), delay=seconds(20), is_preempted=rng.random() < 0.5),
            on_lost=rng.choice(list(OnLost)),
        )

    def _tell_job(self, name: str) -> None:
        policy, rules = self._draw_policy(), ["* * * * *", "@every 90s"] if self.is_stormy else list(RULES)
        rule = self.rng.choice(rules)
        declared = self.begin + seconds(self.rng.uniform(0, 300))
        told = {field: getattr(policy, field) for field in ("misfire", "overlap", "retry", "on_lost")}
        self.case.declare(declared, rule, name, **told)
        life = Life(name, policy, _grid(rule, declared, self.end), declared, self.end)
        if self.rng.random() < 0.4:
            self._live_with_a_pause(life, declared)
        self._live(life)
        self.case.change(Operation.REMOVE, self.end, name)
        self._pass_over(life, self.end, "the job was removed")

    def _live_with_a_pause(self, life: Life, declared: datetime) -> None:
        begin = declared + (self.end - declared) * self.rng.uniform(0.1, 0.6)
        end = begin + (self.end - begin) * self.rng.uniform(0.1, 0.8)
        self.case.change(Operation.PAUSE, begin, life.name)
        self.case.change(Operation.RESUME, end, life.name)
        life.until = begin
        self._live(life)
        self._pass_over(life, end, "the job was paused")
        life.until, life.free_at = self.end, max(life.free_at, end + MOMENT)

    def _pass_over(self, life: Life, until: datetime, reason: str) -> None:
        """What has come up to an instant, and was not taken, will not run."""
        self._skip(life, life.take(until), reason)

    def _skip(self, life: Life, slots: list[datetime], reason: str) -> None:
        if slots:
            self.case.skip(slots[0], slots[-1], reason, life.name)

    def _live(self, life: Life) -> None:
        """Take occurrence after occurrence, until time is up."""
        while life.next_slot is not None and life.next_slot < life.until - MOMENT:
            is_parallel = life.mode is OverlapMode.PARALLEL
            since = life.next_slot if is_parallel else max(life.next_slot, life.free_at)
            at, host = self._up(since)
            if at >= life.until - MOMENT:
                break
            self._meet(life, at + seconds(self.rng.uniform(0, 0.4)), host)

    def _meet(self, life: Life, at: datetime, host: str) -> None:
        """Somebody can act now: on all that has come since the last time."""
        slots, misfire = life.take(at), life.policy.misfire
        is_late = at - slots[-1] > misfire.grace
        kept, covers = slots[-1:], None
        if misfire.mode is MisfireMode.SKIP:
            kept = [] if is_late else kept
        elif misfire.mode is MisfireMode.ALL:
            kept = slots[-misfire.limit :]
        elif len(slots) > 1:
            covers = slots[0]
        if covers is None:
            self._skip(life, slots[: len(slots) - len(kept)], "missed")
        for slot in kept:
            trigger = Trigger.CATCH_UP if at - slot > misfire.grace else Trigger.SCHEDULE
            self._run(life, Start(slot, at, host, trigger, covers))
            at, host = self._up(max(at, life.free_at) + seconds(0.1))
        if life.mode is not OverlapMode.PARALLEL:
            self._settle_what_came(life)

    def _settle_what_came(self, life: Life) -> None:
        """Occurrences that came while the job was busy: skipped, or one of them waits."""
        came = life.take(min(life.free_at, life.until - MOMENT))
        if life.mode is OverlapMode.SKIP or not came:
            self._skip(life, came, "a run was still open")
            return
        is_first = life.mode is OverlapMode.WAIT
        self._skip(life, came[1:] if is_first else came[:-1], "a run was still open")
        at, host = self._up(life.free_at + seconds(0.1))
        self._run(life, Start(came[0] if is_first else came[-1], at, host))
        self._settle_what_came(life)

    # -- runs --------------------------------------------------------------------------------------

    def _run(self, life: Life, start: Start | None) -> None:
        """A run with all its attempts."""
        while start is not None:
            if start.at >= self.end - MOMENT:
                self._drop(life, start, self.end)
                life.free_at = max(life.free_at, self.end)
                return
            outcome, end = self._attempt(life, start)
            if life.mode is not OverlapMode.PARALLEL:
                life.free_at = end
            start = self._follow(life, start, outcome, end)

    def _drop(self, life: Life, start: Start, at: datetime) -> None:
        """What was to begin never does."""
        slot, trigger, covers, number = start.slot, start.trigger, start.covers, start.number
        self.case.drop(slot, at, number=number, job=life.name, trigger=trigger, covers=covers)

    def _attempt(self, life: Life, start: Start) -> tuple[Outcome, datetime]:
        takes = self.rng.choice([2, 20, 45, 100, 400]) * self.rng.uniform(0.5, 1)
        end = start.at + seconds(takes)
        outcome = Outcome.FAILED if self.rng.random() < 0.25 else Outcome.SUCCEEDED
        if life.mode is OverlapMode.REPLACE and self._is_replaced(life, end):
            outcome, end = Outcome.CANCELLED, self._replaced_at(life, start.at)
        facts: dict[str, Any] = {
            "start": start.at, "node": start.host, "number": start.number,
            "trigger": start.trigger, "covers": start.covers, "job": life.name,
        }  # fmt: skip
        crash = self._crash(start.host, start.at, end)
        if crash is None:
            self.case.run(start.slot, outcome=outcome, end=end, **facts)
            return outcome, end
        lost_at, _ = self._up(crash + BOUNDS.lease + seconds(self.rng.uniform(0.5, 8)))
        self.case.run(start.slot, outcome=Outcome.LOST, lost_at=lost_at, **facts)
        return Outcome.LOST, lost_at

    def _is_replaced(self, life: Life, end: datetime) -> bool:
        return life.next_slot is not None and life.next_slot <= min(end, life.until - MOMENT)

    def _replaced_at(self, life: Life, begin: datetime) -> datetime:
        at, _ = self._up(max(begin, life.next_slot or begin))
        return at + seconds(self.rng.uniform(0.1, 2))

    def _follow(self, life: Life, start: Start, outcome: Outcome, end: datetime) -> Start | None:
        """The next attempt at the same run, if there is to be one."""
        retry, number = life.policy.retry, start.number + 1
        if outcome is Outcome.LOST and life.policy.on_lost is OnLost.RESTART:
            trigger, at = Trigger.LOST, end
        elif outcome is Outcome.FAILED and start.retries < (retry.max or 0):
            trigger, at = Trigger.RETRY, end + retry.delay
        else:
            return None
        following = life.next_slot
        has_come = following is not None and following <= min(end, life.until)
        if end >= self.end or (has_come and life.mode is OverlapMode.REPLACE):
            return None
        if has_come and retry.is_preempted and life.mode is not OverlapMode.PARALLEL:
            return None
        at, host = self._up(at)
        at += seconds(self.rng.uniform(0, 0.4))
        if retry.is_preempted and following is not None and following <= min(at, life.until - MOMENT):
            met_at, _ = self._up(max(following, end))
            self._drop(life, start._replace(number=number, trigger=trigger), met_at)
            return None
        retries = start.retries + (trigger is Trigger.RETRY)
        return Start(start.slot, at, host, trigger, start.covers, number, retries)


def _grid(rule: str, after: datetime, until: datetime) -> list[datetime]:
    """The occurrences of one of the rules: all of them are grids that begin with the day."""
    step, epoch = seconds(RULES[rule]), datetime(1970, 1, 1, tzinfo=after.tzinfo)
    first = epoch + ((after - epoch) // step + 1) * step
    return [first + n * step for n in range(int((until - first) / step) + 1)]
