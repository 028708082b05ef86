"""The memory of a channel's delivery job: its mute, and the sources that are in trouble.

    pull fails ─▶ 10 minutes ─▶ trouble: `source` ─▶ a day ─▶ `source`, reminder 1 ─▶ it answers: `recovery`

A source has no job of its own. So its episode is stored in the watch of the channel's job, which all nodes
share. Its alert is written in the same transaction that begins, repeats or ends the episode.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.engine.watching import alert_id
from foliot.model.alert import Alert, AlertKind
from foliot.model.attempt import format_instant
from foliot.model.decision import Decision
from foliot.model.outbox import ChannelAlert
from foliot.model.state import Record
from foliot.model.watch import Episode, Watch

_REMIND = timedelta(days=1)
_WELL = "the source is well again"


class Trouble(NamedTuple):
    """What is wrong with a source, since when, and which revision is in effect."""

    source: str
    why: str
    since: datetime
    revision: str | None = None


def plan_mute(record: Record, until: datetime | None, reason: str) -> Decision:
    """Hold back alerts of the channel until then; None ends it."""
    watch = _watch_of(record)._replace(muted_until=until, muted_reason=reason or None)
    return _changed(record, watch)


def plan_trouble(record: Record, trouble: Trouble, now: datetime) -> Decision:
    """A source is in trouble: send an alert at the beginning, and one each day."""
    known = _episode_of(record, trouble.source)
    if known is None:
        name = f"{trouble.source}\n{format_instant(trouble.since)}"
        told = Episode(AlertKind.SOURCE, name, trouble.since, now)
    elif known.told_at is not None and known.told_at + _REMIND <= now:
        told = known._replace(told_at=now, reminders=known.reminders + 1)
    else:
        return Decision(record.state)
    return _changed(record, _with(record, trouble.source, told), _alert(trouble, told, AlertKind.SOURCE, now))


def plan_well(record: Record, source: str, revision: str | None, now: datetime) -> Decision:
    """A source is well again. Send a recovery if the channel got an alert before."""
    known = _episode_of(record, source)
    if known is None:
        return Decision(record.state)
    alert = _alert(Trouble(source, _WELL, known.since, revision), known, AlertKind.RECOVERY, now)
    return _changed(record, _with(record, source, None), alert)


def plan_notice(record: Record, notice: Trouble, now: datetime) -> Decision:
    """An event of one revision of a source: send one alert."""
    name = f"{notice.source}\n{notice.revision}"
    alert = _alert(notice, Episode(AlertKind.SOURCE, name, notice.since), AlertKind.SOURCE, now)
    return _changed(record, record.state.watch, alert)


def _alert(trouble: Trouble, episode: Episode, kind: AlertKind, now: datetime) -> Alert:
    return Alert(
        alert_id(trouble.source, kind, episode.name, episode.reminders), now, kind, trouble.source,
        since=episode.since, revision=trouble.revision, why=trouble.why, episode=episode.name,
        reminder=episode.reminders if kind is AlertKind.SOURCE else 0,
    )  # fmt: skip


def _watch_of(record: Record) -> Watch:
    """The watch of the job; a new one has the present time to wake."""
    state = record.state
    return Watch(wake_at=state.wake_at) if state.watch is None else state.watch


def _episode_of(record: Record, source: str) -> Episode | None:
    episodes = _watch_of(record).episodes
    return next((one for one in episodes if one.name.partition("\n")[0] == source), None)


def _with(record: Record, source: str, episode: Episode | None) -> Watch:
    watch = _watch_of(record)
    others = tuple(one for one in watch.episodes if one.name.partition("\n")[0] != source)
    return watch._replace(episodes=others if episode is None else (*others, episode))


def _changed(record: Record, watch: Watch | None, *alerts: Alert) -> Decision:
    state = record.state
    if state.removed_at is not None:
        return Decision(state)
    if watch is not None and not watch.episodes and watch.muted_until is None:
        watch = None
    state = state._replace(token=state.token + 1, watch=watch)
    return Decision(state, alerts=tuple(ChannelAlert(record.job.name, alert) for alert in alerts))
