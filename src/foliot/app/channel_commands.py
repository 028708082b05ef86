"""Commands for channels: list them, test one, mute one.

A test goes the same way as every alert: into the outbox, and out through a node that has the channel. So it
tests the secrets and the network of that node, and the person who calls it needs neither.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

from foliot.app.channel_memory import plan_mute
from foliot.app.delivery import SOURCE, key_of, kind_of
from foliot.errors import AmbiguousNameError, JobNotFoundError
from foliot.model.alert import Alert, AlertKind
from foliot.model.decision import Decision
from foliot.model.kinds import serves
from foliot.model.state import Record
from foliot.protocols import AlertQuery, AlertState, ChannelAlert, Clock, JobQuery, RunQuery
from foliot.wiring import FullStore

_MOST_CHANNELS = 1000
_PAUSE = timedelta(milliseconds=200)
_TEST = "this is a test, and nothing is wrong"
_NO_NODE = "no node that lives has the channel"


class Muted(NamedTuple):
    """A channel or a job that is muted; `name` is a channel's name, or a job's key."""

    name: str
    is_channel: bool
    until: datetime
    reason: str | None


class Trial(NamedTuple):
    """The result of a test. `state` is None if no running node has the channel."""

    channel: str
    state: AlertState | None
    answer: str | None = None


async def find_channel(store: FullStore, name: str) -> str:
    """A channel by its name; a channel of a repository also by its short name in the file.

    JobNotFoundError, or AmbiguousNameError if several repositories have it.
    """
    views = await store.jobs(JobQuery(source=SOURCE, limit=_MOST_CHANNELS))
    names = [view.key.partition("/")[2] for view in views]
    found = [known for known in names if known == name] or [k for k in names if k.endswith(f".{name}")]
    if len(found) > 1:
        raise AmbiguousNameError(name, found)
    if not found:
        hint = f"the channels are {', '.join(names[:10])}" if names else "no node has had a channel yet"
        raise JobNotFoundError(key_of(name), hint=hint)
    return found[0]


async def mute_channel(store: FullStore, channel: str, until: datetime | None, reason: str = "") -> None:
    """Hold back alerts of a channel until then, and send them after that; None ends it."""
    await store.update(key_of(channel), lambda record: plan_mute(record, until, reason))


async def muted(store: FullStore, jobs: Collection[str], now: datetime) -> list[Muted]:
    """Which channels are muted, and which of these jobs."""
    channels = await store.jobs(JobQuery(source=SOURCE, limit=_MOST_CHANNELS))
    asked = await store.jobs(JobQuery(keys=frozenset(jobs), limit=max(len(jobs), 1))) if jobs else ()
    found = []
    for view in (*channels, *asked):
        watch = view.record.state.watch if view.record is not None else None
        if watch is not None and watch.muted_until is not None and watch.is_muted(now):
            source, _, name = view.key.partition("/")
            is_channel = source == SOURCE
            shown = name if is_channel else view.key
            found.append(Muted(shown, is_channel, watch.muted_until, watch.muted_reason))
    return found


def make_test(kind: AlertKind, job: str, now: datetime, run: str | None = None) -> Alert:
    """An alert for a test."""
    return Alert(f"test-{uuid4().hex}", now, kind, job, run=run, since=now, why=_TEST, is_test=True)


async def send_test(
    store: FullStore, channels: Iterable[str], alert: Alert, clock: Clock, patience: timedelta
) -> list[Trial]:
    """Let a node send a test alert, and return the result. A test that is not sent in time is dropped."""
    nodes = [view.node for view in await store.nodes() if view.until > await store.now()]
    results, waiting = [], set[str]()
    for channel in channels:
        if any(serves(node.kinds, kind_of(channel)) for node in nodes):
            await store.update(key_of(channel), lambda record: _put(record, alert))
            waiting.add(channel)
        else:
            results.append(Trial(channel, None, _NO_NODE))
    until = clock.monotonic() + patience.total_seconds()
    while waiting and clock.monotonic() < until:
        await clock.wait(_PAUSE)
        for channel in sorted(waiting):
            if (one := await _look(store, channel, alert)).state is not AlertState.WAITING:
                results.append(Trial(channel, one.state, one.answer))
                waiting.discard(channel)
    return results + [await _give_up(store, channel, alert.id) for channel in sorted(waiting)]


def _put(record: Record, alert: Alert) -> Decision:
    state = record.state._replace(token=record.state.token + 1)
    return Decision(state, alerts=(ChannelAlert(record.job.name, alert),))


async def _look(store: FullStore, channel: str, alert: Alert) -> ChannelAlert:
    page = await store.alerts(AlertQuery(channel=channel, kind=alert.kind, since=alert.at, limit=1000))
    return next((one for one in page if one.alert.id == alert.id), ChannelAlert(channel, alert))


async def _give_up(store: FullStore, channel: str, id_: str) -> Trial:
    """Drop a test alert; the last run of the delivery says why it was not sent."""
    runs = await store.runs(RunQuery(job=key_of(channel), limit=2))
    errors = [run.error for run in runs if run.error]
    answer = errors[0] if errors else "no answer in time"
    await store.settle(channel, [id_], AlertState.EXPIRED, await store.now(), answer)
    return Trial(channel, AlertState.EXPIRED, answer)
