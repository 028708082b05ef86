"""A text that cannot be read gives a DamagedRecordError that says where and why, and never anything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foliot.errors import DamagedRecordError, InvalidJobError, InvalidPolicyError
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.codec import (
    ATTEMPT,
    JOB,
    decode_attempt,
    decode_job,
    decode_state,
    encode_attempt,
    encode_job,
    encode_job_apart,
    encode_state,
)
from foliot.model.job import Action, Job
from foliot.model.json_text import DEEPEST, LONGEST_TEXT
from foliot.model.policy import Policy, Retry
from foliot.model.policy_codec import decode_policy, encode_policy
from foliot.model.state import State
from foliot.schedules import Schedule
from model.codec_values import BACKUP, attempts, jobs, values, words

# -- tables of damage --------------------------------------------------------------------------------

GOOD = encode_job(BACKUP)
BAD_TEXTS = [
    ("nothing", "", "is not JSON"),
    ("cut off", GOOD[:-1], "is not JSON"),
    ("two texts in a row", GOOD * 2, "Extra data"),
    ("no object", "[]", "must be an object"),
    ("a field twice", GOOD[:-1] + ',"name":"other"}', "names two fields"),
    (
        "a field twice, inside",
        GOOD.replace('"mode":"once"', '"mode":"once","mode":"skip"'),
        "names two fields",
    ),
    ("NaN", GOOD.replace('"jitter":0.0', '"jitter":NaN'), "is not a finite number"),
    ("infinity", GOOD.replace('"jitter":0.0', '"jitter":-Infinity'), "is not a finite number"),
    ("a float too large", GOOD.replace('"jitter":0.0', '"jitter":1e999'), "is too large"),
    ("an integer too large", GOOD.replace('"last":100', f'"last":{2**63}'), "is too large"),
    ("very many digits", GOOD.replace('"last":100', f'"last":{"9" * 200_000}'), "is too large"),
    ("a control character", GOOD.replace("backup", "back\x01up"), "Invalid control character"),
    ("bottomless", "[" * 200_000, "levels deep"),
    ("too long", GOOD + " " * LONGEST_TEXT, "is longer than"),
]
TOO_DEEP: list[Any] = []
for _ in range(DEEPEST):
    TOO_DEEP = [TOO_DEEP]
MISSING = object()
BAD_FIELDS = [
    ("action.data.a[0]", {"a": ["\0"]}, "NUL"),
    ("action.data.a" + "[0]" * 29, {"a": TOO_DEEP}, "levels deep"),
    ("action.data", [], "must be an object"),
    ("action.kind", "", "must not be empty"),
    ("action.kind", MISSING, "is missing"),
    ("enabled", 1, "must be true or false"),
    ("enabled", None, "must be true or false"),
    ("name", "", "must be a printable text"),
    ("name", "a\nb", "must be a printable text"),
    ("name", 5, "must be a text"),
    ("name", MISSING, "is missing"),
    ("policy", "{}", "must be an object"),
    ("policy", MISSING, "is missing"),
    ("policy.first_seen", [], "must be wait or if_matching or now"),
    ("policy.keep.last", True, "must be a whole number"),
    ("policy.misfire.grace", "60", "cannot be read"),
    ("policy.misfire.grace", 60, "must be a text"),
    ("policy.overlap.mode", "queue", "must be skip or wait or"),
    ("policy.retry.backoff", "2", "must be a finite number"),
    ("policy.retry.jitter", 2, "between 0 and 1"),
    ("policy.retry.max", 1.0, "must be a whole number"),
    ("policy.timeout", "0s", "must be positive"),
    ("repeat_until", "2026-01-01T00:00:00", "in UTC"),
    ("repeat_until", "2026-01-01T00:00:00+01:00", "in UTC"),
    ("repeat_until", "2026-01-01T00:00:00Z\n", "in UTC"),
    ("repeat_until", "2026-02-30T00:00:00Z", "day"),
    ("repeat_until", 1767225600, "in UTC"),
    ("revision", "\ud83d", "surrogate"),
    ("schedule", "* * * * *", "must be an object"),
    ("schedule", {"sunrise": "Berlin"}, "must have one of the fields cron, every, once"),
    ("schedule.cron", "0 0 30 2 *", "no day 30"),
    ("schedule.cron", "0 25 * * *", "hour field"),
    ("schedule.cron", "TZ=local 0 0 * * *", "of a host"),
    ("schedule.cron", 5, "must be a text"),
    ("schedule.every", "5m", "does not know"),
    ("schedule.jitter", "5m", "does not know"),
    ("schedule.once", {"once": "2026-01-01"}, "in UTC"),
    ("schedule.every", {"every": "0s", "timezone": "UTC"}, "at least one"),
    ("schedule.every", {"every": "day", "timezone": "UTC"}, "cannot be read"),
    ("schedule.timezone", {"every": "5m", "timezone": "local"}, "is not the time zone"),
    ("schedule.timezone", "Asia/Tokyo", "is not the time zone of the rule, Europe/Berlin"),
    ("schedule.timezone", MISSING, "is missing"),
    ("source", "a/b", "slash"),
]


@pytest.mark.parametrize(
    ("text", "reason"), [row[1:] for row in BAD_TEXTS], ids=[row[0] for row in BAD_TEXTS]
)
def test_a_text_that_is_no_good_json_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(DamagedRecordError) as caught:
        decode_job(text)

    assert caught.value.details["field"] == "job"
    assert reason in caught.value.details["reason"]


@pytest.mark.parametrize(("field", "value", "reason"), BAD_FIELDS)
def test_damage_is_named_by_its_field_and_reason(field: str, value: object, reason: str) -> None:
    with pytest.raises(DamagedRecordError) as caught:
        decode_job(changed(field, value))

    assert caught.value.details["field"] == field
    assert reason in caught.value.details["reason"]


def changed(path: str, value: object) -> str:
    """The text of a good job with one field changed or left out; an object goes to the field above."""
    data = json.loads(GOOD)
    data["schedule"]["cron"] = "TZ=Europe/Berlin 0 3 * * *"
    *outer, name = path.partition("[")[0].split(".")
    if isinstance(value, dict) and outer:
        *outer, name = outer
    holder = data
    for step in outer:
        holder = holder[step]
    holder[name] = value
    if value is MISSING:
        del holder[name]
    return json.dumps(data)


@pytest.mark.parametrize(
    ("zone", "dialect", "reason", "field"),
    [
        ("Europe/Atlantis", "standard", "no such IANA", "schedule.timezone"),
        ("../../etc/passwd", "standard", "no such IANA", "schedule.timezone"),
        ("UTC", "quartz", "dialect", "schedule.dialect"),
    ],
)
def test_a_schedule_that_cannot_be_built_is_damage(zone: str, dialect: str, reason: str, field: str) -> None:
    schedule = {"cron": "0 3 * * *", "timezone": zone, "dialect": dialect}
    with pytest.raises(DamagedRecordError, match=reason) as caught:
        decode_job(changed("schedule", schedule))

    assert caught.value.details["field"] == field


def test_the_value_that_is_wrong_is_told_and_shortened() -> None:
    with pytest.raises(DamagedRecordError) as caught:
        decode_job(changed("name", "x" * 5000))

    assert str(caught.value.details["value"]).startswith("xxx")
    assert len(caught.value.message) < 500


@pytest.mark.parametrize("text", [None, 5, b"{}", {}], ids=repr)
def test_what_is_no_text_is_damage_too(text: Any) -> None:
    with pytest.raises(DamagedRecordError, match="must be a text"):
        decode_job(text)
    with pytest.raises(DamagedRecordError, match="must be"):
        decode_policy(text)


def test_half_a_surrogate_pair_is_found_as_it_stands_and_escaped() -> None:
    for half in ("\ud800", "\\ud800"):
        with pytest.raises(DamagedRecordError, match="surrogate") as caught:
            decode_job(GOOD.replace("--all", half))
        assert caught.value.details["field"] == "action.data.command"


def test_a_policy_may_not_be_in_the_job_and_apart() -> None:
    with pytest.raises(DamagedRecordError, match="apart as well"):
        decode_job(GOOD, encode_policy(Policy()))


def test_damage_of_a_policy_apart_is_told_of_the_policy() -> None:
    definition, policy = encode_job_apart(BACKUP)

    with pytest.raises(DamagedRecordError) as caught:
        decode_job(definition, policy.replace('"once"', '"twice"'))

    assert caught.value.details["field"] == "policy.misfire.mode"


def test_a_text_as_deep_and_as_long_as_allowed_is_read() -> None:
    deepest: Any = "bottom"
    for _ in range(DEEPEST - 3):  # the job, the action and its data are levels, too
        deepest = [deepest]
    deep = replace(BACKUP, action=Action(kind="shell", data={"a": deepest}))
    long = replace(BACKUP, revision="x" * (LONGEST_TEXT - len(GOOD)))

    assert decode_job(encode_job(deep)) == deep
    assert len(encode_job(long)) == LONGEST_TEXT
    assert decode_job(encode_job(long)) == long
    with pytest.raises(InvalidJobError, match="levels deep"):
        encode_job(replace(BACKUP, action=Action(kind="shell", data={"a": [deepest]})))
    with pytest.raises(InvalidJobError, match="is longer than"):
        encode_job(replace(long, revision=long.revision + "x"))


# -- nothing is written that could not be read -------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "field", "reason"),
    [
        (replace(BACKUP, action=Action(kind="k", data={"a": {1: 2}})), "action.data.a", "must be a text"),
        (
            replace(BACKUP, action=Action(kind="k", data={"a": [0.5, float("inf")]})),
            "action.data.a[1]",
            "finite",
        ),
        (replace(BACKUP, action=Action(kind="k", data={"a": 2**63})), "action.data.a", "too large"),
        (replace(BACKUP, action=Action(kind="k", data={"a": "\0"})), "action.data.a", "NUL"),
        (
            replace(BACKUP, action=Action(kind="k", data={"a": object()})),
            "action.data.a",
            "does not come back",
        ),
        (replace(BACKUP, revision="\ud800"), "revision", "surrogate"),
        (replace(BACKUP, schedule=cast("Schedule", "@daily")), "schedule", "must be a Cron"),
        (replace(BACKUP, extra={"name": 1}), "name", "this version knows it"),
        (
            replace(BACKUP, extra={"policy": {"misfire": {"limit": 2}}}),
            "policy.misfire.limit",
            "this version knows it",
        ),
        (replace(BACKUP, extra={"policy": {}}), "policy", "this version knows it"),
        (replace(BACKUP, extra={"colour": {1, 2}}), "colour", "does not come back"),
    ],
)
def test_a_job_that_could_not_be_read_is_not_written(job: Job, field: str, reason: str) -> None:
    for encode in (encode_job, encode_job_apart):
        with pytest.raises(InvalidJobError, match=reason) as caught:
            encode(job)
        assert caught.value.details["field"] == field


def test_a_policy_that_could_not_be_read_is_not_written() -> None:
    with pytest.raises(InvalidPolicyError, match="finite"):
        encode_policy(Policy(retry=Retry(backoff=float("inf"))))


def test_a_time_without_a_zone_is_not_written() -> None:
    with pytest.raises(InvalidJobError, match="with a time zone") as caught:
        encode_state(State(1, datetime(2026, 1, 1)))

    assert caught.value.details["field"] == "created_at"


def test_a_message_of_a_job_never_stops_its_ending_from_being_written() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    attempt = Attempt("code/backup", 1, Trigger.SCHEDULE, AttemptState.ENDED, now, error="a\0b\ud800c")

    data = encode_attempt(attempt._replace(outcome=Outcome.FAILED))

    assert data["error"] == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"
    assert json.dumps(data, ensure_ascii=False).encode()


# -- whatever the text -------------------------------------------------------------------------------


def reads_or_refuses(text: str) -> None:
    """A job that can be written again and is then the same, or a DamagedRecordError that tells of it."""
    job, damage = attempt_to(decode_job, text)
    if damage:
        assert damage["field"]
        assert damage["reason"]
    else:
        again = encode_job(job)
        assert decode_job(again) == job
        assert encode_job(decode_job(again)) == again


def attempt_to(decode: Callable[[Any], Any], data: object) -> tuple[Any, dict[str, Any]]:
    """What it gives, or the details of the damage that it finds."""
    try:
        return decode(data), {}
    except DamagedRecordError as error:
        assert len(error.message) < 1000  # noqa: PT017 - it may as well be raised as not
        return None, error.details


@given(st.text())
@example("")
@example("null")
@example("\x00")
@example("\ud800")
@example("\ufeff{}")
def test_any_text_gives_a_job_or_is_refused(text: str) -> None:
    reads_or_refuses(text)


@given(st.dictionaries(st.sampled_from(sorted(JOB.fields)) | words, values))
def test_any_object_gives_a_job_or_is_refused(data: dict[str, Any]) -> None:
    reads_or_refuses(json.dumps(data))


@given(jobs, st.data())
def test_a_text_with_a_few_characters_changed_gives_a_job_or_is_refused(
    job: Job, data: st.DataObject
) -> None:
    text = encode_job(job)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 5)))
        piece = data.draw(
            st.sampled_from(['"', "{", "}", "[", ",", ":", "\\", "\\u0000", "1e999", "NaN", "-", "0"])
            | st.text(max_size=2)
        )
        text = text[:start] + piece + text[end:]

    reads_or_refuses(text)


@given(jobs, st.data())
def test_a_job_with_one_value_changed_gives_a_job_or_is_refused(job: Job, data: st.DataObject) -> None:
    document = json.loads(encode_job(job))
    holder, name = data.draw(st.sampled_from(list(_places(document))))
    change = data.draw(st.sampled_from(["replace", "remove", "rename", "scalar"]))
    old = holder.pop(name)
    if change == "replace":
        holder[name] = data.draw(values)
    elif change == "rename":
        holder[data.draw(words)] = old
    elif change == "scalar":
        odd: st.SearchStrategy[Any] = st.sampled_from(
            [0, -1, 2**63, 1.5, "", "local", "0s", "-1s", "1e9d", "now", "UTC", True, None, [], {}]
        )
        holder[name] = data.draw(odd)

    reads_or_refuses(json.dumps(document))


def _places(data: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    found = [(data, name) for name in data]
    for inner in data.values():
        if isinstance(inner, dict):
            found += _places(inner)
    return found


@given(st.dictionaries(st.sampled_from(sorted(ATTEMPT.fields)), values))
def test_any_object_gives_an_attempt_and_a_state_or_is_refused(data: dict[str, Any]) -> None:
    for decode in (decode_attempt, decode_state):
        value, damage = attempt_to(decode, data)
        assert (value is None) is bool(damage.get("field"))


@given(attempts, st.sampled_from(sorted(ATTEMPT.fields)), values)
def test_an_attempt_with_one_value_changed_is_read_or_refused(
    attempt: Attempt, name: str, value: Any
) -> None:
    again, damage = attempt_to(decode_attempt, encode_attempt(attempt) | {name: value})
    if damage:
        assert str(damage["field"]).startswith(name)
    else:
        assert decode_attempt(encode_attempt(again)) == again
