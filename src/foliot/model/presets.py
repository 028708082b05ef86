"""Each door's preset: the policies that its jobs have unless they say otherwise."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from foliot.model.policy import (
    FirstSeen,
    Misfire,
    MisfireMode,
    OnChange,
    OnLost,
    Overlap,
    OverlapMode,
    Policy,
    Retry,
    parallel,
)

CODE = Policy()

ROLLCRON = Policy(
    misfire=Misfire(mode=MisfireMode.SKIP),
    before_first_run=False,
    on_lost=OnLost.GIVE_UP,
    timeout=timedelta(seconds=10),
)

DECLARATIVE = Policy(
    first_seen=FirstSeen.IF_MATCHING,
    before_first_run=False,
    on_change=OnChange.LAST,
    overlap=Overlap(mode=OverlapMode.WAIT),
    retry=Retry(max=None, is_preempted=True),
    remembers=False,
)

BEAT = Policy(
    first_seen=FirstSeen.NOW,
    overlap=parallel(),
    retry=Retry(max=None, delay=timedelta(seconds=1), is_preempted=True),
)

# Of entries of celery beat: a new entry waits for its next occurrence.
CELERY = replace(BEAT, first_seen=FirstSeen.WAIT)

API = Policy(overlap=parallel())
