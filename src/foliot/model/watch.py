"""What a job's state remembers for the sake of alerts: which spells of trouble go on, and what was told.

    runs       ok  fail  fail  fail  ok
    episode        └── failure ──┘
    told           failure      recovery

An *episode* is one spell of trouble of one kind. It is told when it begins, again after the time that
`remind` says, and ends without a word or, at the first success, with one recovery. A job that tells no
channel has no watch.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from foliot.errors import DamagedRecordError
from foliot.model.alert import AlertKind
from foliot.model.json_text import MisfitError, read_object, write_json
from foliot.model.shape import FLAG, INSTANT, TEXT, WHOLE, Kind, Shape, choice, listed, optional, part

MOST_OUTCOMES = 16
MOST_ASKED = 64


class Episode(NamedTuple):
    """One spell of trouble. `name` is part of the ids of its alerts: no two of a kind have the same.

    `told_at`: when it was last told; None: it is held back. `is_over`: what was wrong has passed, but no run
    has succeeded since.
    """

    kind: AlertKind
    name: str
    since: datetime
    told_at: datetime | None = None
    reminders: int = 0
    is_over: bool = False


class Watch(NamedTuple):
    """What is remembered.

    `wake_at`: when a node must look for the sake of runs; `State.wake_at` may be earlier, for an alert.
    `alert_at`: when there may be something to tell, if nothing happens before.
    `quiet_since`: from here the time without success counts; None: the job is switched off.
    `failed_runs`: in a row, so far; `failing_since`: when the first of them ended.
    `outcomes`: of the last runs, the newest at the end: + for a success, - for a failure.
    `muted_until`: nothing is told before; what still goes on then is told.
    `asked`: the last requests that count once even if history has forgotten them; None: there were none.
    """

    wake_at: datetime | None = None
    alert_at: datetime | None = None
    quiet_since: datetime | None = None
    failed_runs: int = 0
    failing_since: datetime | None = None
    outcomes: str = ""
    episodes: tuple[Episode, ...] = ()
    muted_until: datetime | None = None
    muted_reason: str | None = None
    asked: tuple[str, ...] | None = None

    def is_muted(self, now: datetime) -> bool:
        """Whether nothing is to be told now."""
        return self.muted_until is not None and now < self.muted_until

    def left(self, now: datetime) -> Watch | None:
        """What is left of it for a job that tells no channel, such as the one that delivers for a channel.

        The channel may be muted, and it remembers the troubles of sources that it was told of. The requests
        that count once have nothing to do with channels.
        """
        troubles = tuple(episode for episode in self.episodes if episode.kind is AlertKind.SOURCE)
        if not troubles and not self.is_muted(now) and self.asked is None:
            return None
        muted = self.muted_until, self.muted_reason
        return Watch(episodes=troubles, muted_until=muted[0], muted_reason=muted[1], asked=self.asked)

    def with_asked(self, request: str) -> Watch:
        """The same, with one more request; of one host's boots only the last is remembered."""
        host = request.rpartition("-")[0] if request.startswith("boot-") else None
        known = [one for one in self.asked or () if one.rpartition("-")[0] != host]
        return self._replace(asked=(*known, request)[-MOST_ASKED:])

    def to_json(self) -> str:
        """As a text, for a store. What is not there is left out."""
        return write_json(WATCH.write(self))

    @classmethod
    def from_json(cls, text: str) -> Watch:
        """Read such a text; fields of newer versions are left aside. DamagedRecordError if it is none."""
        try:
            watch: Watch = WATCH.read(read_object(text))[0]
        except MisfitError as error:
            field = f"watch.{error.path}" if error.path else "watch"
            raise DamagedRecordError(field, error.value, error.reason) from error
        return watch


def _read_outcomes(value: Any) -> str:
    text: str = TEXT.read(value)
    return "".join(mark for mark in text if mark in "+-")[-MOST_OUTCOMES:]


_INSTANT = optional(INSTANT)
EPISODE = Shape(
    Episode,
    {
        "kind": choice(AlertKind),
        "name": TEXT,
        "since": INSTANT,
        "told_at": _INSTANT,
        "reminders": WHOLE,
        "is_over": FLAG,
    },
    required=("kind", "name", "since"),
    omitted=("told_at",),
)
WATCH = Shape(
    Watch,
    {
        "wake_at": _INSTANT,
        "alert_at": _INSTANT,
        "quiet_since": _INSTANT,
        "failed_runs": WHOLE,
        "failing_since": _INSTANT,
        "outcomes": Kind(_read_outcomes, TEXT.write),
        "episodes": listed(part(EPISODE)),
        "muted_until": _INSTANT,
        "muted_reason": optional(TEXT),
        "asked": optional(listed(TEXT)),
    },
    omitted=("wake_at", "alert_at", "quiet_since", "failing_since", "muted_until", "muted_reason", "asked"),
)
