"""Strategies for everything that is stored of a job, used by the tests of the codec."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from foliot.model.alert import AlertKind
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.codec import JOB
from foliot.model.job import Action, Job
from foliot.model.policy import (
    Expect,
    FirstSeen,
    Keep,
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
from foliot.model.shape import Shape
from foliot.model.state import State
from foliot.model.watch import MOST_OUTCOMES, Episode, Watch
from foliot.schedules import Cron, Every, Once

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
names = st.text(st.just(" ") | st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3)
)
objects = st.dictionaries(words, values, max_size=3)
instants = st.datetimes(timezones=st.just(UTC))
anywhere = st.datetimes(
    datetime(2, 1, 1),
    datetime(9998, 1, 1),
    timezones=st.just(UTC) | st.builds(timezone, st.timedeltas(timedelta(hours=-23), timedelta(hours=23))),
)
durations = st.timedeltas(timedelta(0), timedelta.max)
A_CENTURY = timedelta(days=36_525)
spans = st.timedeltas(timedelta(0), A_CENTURY)
counts = st.integers(1, 2**63 - 1)
zones = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"])
schedules = st.one_of(
    st.builds(
        Cron,
        st.sampled_from(
            ["*/5 * * * *", "0 9 * * MON-FRI", "@daily", "@every 90s", "TZ=Asia/Tokyo 0 0 1 1 ?"]
        ),
        timezone=zones,
        dialect=st.sampled_from(["standard", "seconds"]),
    ),
    st.builds(
        Cron, st.sampled_from(["0 9 * * *", "5,10 0-4 1 1 0"]), timezone=zones, dialect=st.just("posix")
    ),
    st.builds(Every, st.integers(1, 10**12).map(lambda n: timedelta(seconds=n)), timezone=zones),
    st.builds(Once, anywhere),
)
some_time = st.timedeltas(timedelta(microseconds=1), A_CENTURY)
policies = st.builds(
    Policy,
    first_seen=st.sampled_from(FirstSeen),
    misfire=st.builds(
        Misfire, mode=st.sampled_from(MisfireMode), limit=st.integers(1, 1000), grace=durations
    ),
    before_first_run=st.booleans(),
    on_change=st.sampled_from(OnChange),
    overlap=st.builds(Overlap, mode=st.sampled_from(OverlapMode), limit=st.none() | counts),
    retry=st.builds(
        Retry,
        max=st.none() | st.integers(0, 2**63 - 1),
        delay=spans,
        backoff=st.floats(1, allow_infinity=False),
        longest=spans,
        jitter=st.floats(0, 1),
        is_preempted=st.booleans(),
    ),
    on_lost=st.sampled_from(OnLost),
    timeout=st.none() | st.timedeltas(timedelta(microseconds=1), A_CENTURY),
    keep=st.builds(
        Keep,
        last=st.none() | counts,
        days=st.none() | st.integers(1, A_CENTURY.days),
        problems_only=st.booleans(),
    ),
    remembers=st.booleans(),
    notify=st.none()
    | st.builds(
        Notify,
        st.lists(st.from_regex(r"[a-z0-9_][A-Za-z0-9_.-]{0,63}", fullmatch=True)),
        on=st.sets(st.sampled_from(AlertKind)),
        after=counts,
        remind=st.none() | some_time,
    ),
    expect=st.none()
    | st.builds(
        Expect,
        start_within=st.none() | some_time,
        finish_within=st.none() | some_time,
        success_every=st.none() | some_time,
    ),
)


def unknown_to(shape: Shape, fewest: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    """Trees of fields that this version does not know, as a newer one may have written them."""
    unknown = words.filter(lambda name: name not in shape.fields)
    here = st.dictionaries(unknown, values, min_size=fewest, max_size=2)
    inner = {name: unknown_to(kind, 1) for name, kind in shape.fields.items() if isinstance(kind, Shape)}
    if not inner:
        return here
    below = [st.fixed_dictionaries({name: tree}) for name, tree in inner.items()]
    both = st.builds(lambda one, other: {**one, **other}, here, st.fixed_dictionaries({}, optional=inner))
    return st.one_of(both, *below)


jobs = st.builds(
    Job,
    source=names.map(lambda text: text.replace("/", "-")),
    name=names,
    schedule=schedules,
    action=st.builds(Action, kind=names, data=objects),
    queue=names,
    policy=policies,
    enabled=st.booleans(),
    repeat_until=st.none() | anywhere,
    auto_remove=st.booleans(),
    group=st.none() | names,
    revision=words,
    extra=unknown_to(JOB),
)
watches = st.builds(
    Watch,
    wake_at=st.none() | instants,
    alert_at=st.none() | instants,
    quiet_since=st.none() | instants,
    failed_runs=st.integers(0, 2**63 - 1),
    failing_since=st.none() | instants,
    outcomes=st.text("+-", max_size=MOST_OUTCOMES),
    episodes=st.lists(
        st.builds(
            Episode,
            kind=st.sampled_from(AlertKind),
            name=words,
            since=instants,
            told_at=st.none() | instants,
            reminders=st.integers(0, 2**63 - 1),
            is_over=st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
    muted_until=st.none() | instants,
    muted_reason=st.none() | words,
)
states = st.builds(
    State,
    token=st.integers(0, 2**63 - 1),
    created_at=instants,
    wake_at=st.none() | instants,
    served_until=st.none() | instants,
    next_at=st.none() | instants,
    paused_at=st.none() | instants,
    removed_at=st.none() | instants,
    fired_count=st.integers(0, 2**63 - 1),
    failures_in_row=st.integers(0, 2**63 - 1),
    last_attempt_at=st.none() | instants,
    last_failure_at=st.none() | instants,
    last_run=st.none() | words,
    version=st.integers(0, 2**63 - 1),
    defined_at=st.none() | instants,
    paused_reason=st.none() | words,
    watch=st.none() | watches,
    paused_until=st.none() | instants,
)
attempts = st.builds(
    Attempt,
    job=words,
    number=counts,
    trigger=st.sampled_from(Trigger),
    state=st.sampled_from(AttemptState),
    scheduled_for=instants,
    request=st.none() | words,
    covers_from=st.none() | instants,
    wake_at=st.none() | instants,
    node=st.none() | words,
    token=st.integers(0, 2**63 - 1),
    claimed_at=st.none() | instants,
    deadline_at=st.none() | instants,
    started_at=st.none() | instants,
    finished_at=st.none() | instants,
    outcome=st.none() | st.sampled_from(Outcome),
    error=st.none() | words,
    reason=words,
    retries=st.integers(0, 2**63 - 1),
    losses=st.integers(0, 2**63 - 1),
    exit_code=st.none() | st.integers(-(2**31), 2**32),
    version=st.integers(0, 2**63 - 1),
    payload=st.none() | words,
)
BACKUP = Job(
    source="code",
    name="backup",
    schedule=Cron("0 3 * * *", timezone="Europe/Berlin"),
    action=Action(kind="shell", data={"command": "backup --all"}),
)
