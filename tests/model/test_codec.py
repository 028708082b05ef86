"""What is written of a job can be read, whole and the same, by this version and by others."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.model import presets
from foliot.model.attempt import Attempt
from foliot.model.codec import (
    ACTION,
    ATTEMPT,
    EVENT,
    JOB,
    STATE,
    decode_attempt,
    decode_job,
    decode_state,
    encode_attempt,
    encode_event,
    encode_job,
    encode_job_apart,
    encode_state,
)
from foliot.model.decision import Event, Happening
from foliot.model.job import Action, Job
from foliot.model.policy import Keep, Misfire, Overlap, Policy, Retry
from foliot.model.policy_codec import KEEP, MISFIRE, OVERLAP, POLICY, RETRY, decode_policy, encode_policy
from foliot.model.shape import Shape
from foliot.model.state import State
from model.codec_values import BACKUP, attempts, jobs, policies, states, unknown_to

# -- there and back ----------------------------------------------------------------------------------


@given(jobs)
def test_a_job_comes_back_as_it_was(job: Job) -> None:
    assert decode_job(encode_job(job)) == job
    assert decode_job(*encode_job_apart(job)) == job


@given(jobs)
def test_a_text_that_is_read_and_written_stays_the_same(job: Job) -> None:
    text = encode_job(job)

    assert encode_job(decode_job(text)) == text
    assert text.isascii()
    assert text == json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))


@given(jobs, st.randoms(use_true_random=False))
def test_the_order_and_the_spacing_of_a_text_do_not_matter(job: Job, random: Random) -> None:
    text = json.dumps(_shuffled(json.loads(encode_job(job)), random), indent=1, ensure_ascii=False)

    assert encode_job(decode_job(text)) == encode_job(job)


def _shuffled(value: Any, random: Random) -> Any:
    if not isinstance(value, dict):
        return value
    items = [(name, _shuffled(inner, random)) for name, inner in value.items()]
    random.shuffle(items)
    return dict(items)


@given(policies)
def test_a_policy_comes_back_as_it_was_and_is_one_object_for_one_text(policy: Policy) -> None:
    text = encode_policy(policy)

    assert decode_policy(text) == policy
    assert decode_policy(text) is decode_policy("".join(text))
    assert encode_policy(decode_policy(text)) == text


def test_jobs_share_their_policy_and_their_rule() -> None:
    other = replace(BACKUP, name="other")
    definition, policy = encode_job_apart(other)

    first, second, third = (
        decode_job(encode_job(BACKUP)),
        decode_job(encode_job(other)),
        decode_job(definition, policy),
    )

    assert first.policy is second.policy is third.policy
    assert first.schedule is second.schedule is third.schedule


@given(states)
def test_a_state_comes_back_as_it_was(state: State) -> None:
    data = encode_state(state)

    assert decode_state(data) == state
    assert decode_state(json.loads(json.dumps(data))) == state


@given(attempts)
def test_an_attempt_comes_back_as_it_was(attempt: Attempt) -> None:
    data = encode_attempt(attempt)

    assert decode_attempt(data) == attempt
    assert decode_attempt(json.loads(json.dumps(data))) == attempt


def test_instants_are_in_utc_and_come_back_in_utc() -> None:
    berlin = timezone(timedelta(hours=1))
    state = State(1, datetime(2026, 11, 15, 8, tzinfo=berlin), datetime(2026, 11, 15, 8, 0, 0, 5, berlin))

    data = encode_state(state)

    assert (data["created_at"], data["wake_at"]) == ("2026-11-15T07:00:00Z", "2026-11-15T07:00:00.000005Z")
    assert decode_state(data).created_at.tzinfo is UTC


def test_an_event_is_a_plain_object() -> None:
    event = Event(
        Happening.STARTED, "code/backup", datetime(2026, 1, 1, tzinfo=UTC), "due", "code/backup!x", 1
    )

    assert encode_event(event) == {
        "what": "started",
        "job": "code/backup",
        "at": "2026-01-01T00:00:00Z",
        "reason": "due",
        "run_key": "code/backup!x",
        "number": 1,
    }


def test_the_text_of_a_job_is_documented_by_example() -> None:
    assert encode_job(
        replace(BACKUP, policy=presets.DECLARATIVE, repeat_until=datetime(2027, 1, 1, tzinfo=UTC))
    ) == (
        '{"action":{"data":{"command":"backup --all"},"kind":"shell"},"auto_remove":false,"enabled":true,'
        '"name":"backup","policy":{"before_first_run":false,"first_seen":"if_matching",'
        '"keep":{"days":30,"last":100,"problems_only":false},"misfire":{"grace":"1m","limit":1,"mode":"once"},'
        '"on_change":"last","on_lost":"restart","overlap":{"limit":null,"mode":"wait"},"remembers":false,'
        '"retry":{"backoff":1.0,"delay":"10s","is_preempted":true,"jitter":0.0,"longest":"1h","max":null},'
        '"timeout":null},"queue":"default","repeat_until":"2027-01-01T00:00:00Z","revision":"",'
        '"schedule":{"cron":"0 3 * * *","dialect":"standard","timezone":"Europe/Berlin"},"source":"code"}'
    )


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        (JOB, [field.name for field in fields(Job) if field.name != "extra"]),
        (ACTION, [field.name for field in fields(Action)]),
        (POLICY, [field.name for field in fields(Policy)]),
        (MISFIRE, [field.name for field in fields(Misfire)]),
        (OVERLAP, [field.name for field in fields(Overlap)]),
        (RETRY, [field.name for field in fields(Retry)]),
        (KEEP, [field.name for field in fields(Keep)]),
        (STATE, State._fields),
        (ATTEMPT, Attempt._fields),
        (EVENT, Event._fields),
    ],
    ids=["Job", "Action", "Policy", "Misfire", "Overlap", "Retry", "Keep", "State", "Attempt", "Event"],
)
def test_no_field_of_the_model_is_forgotten(shape: Shape, names: list[str]) -> None:
    assert sorted(shape.fields) == sorted(names)


# -- what a newer version wrote ----------------------------------------------------------------------


@given(jobs, unknown_to(JOB))
def test_an_older_node_loses_nothing_when_it_rewrites_a_definition(job: Job, unknown: dict[str, Any]) -> None:
    text = encode_job(replace(job, extra=unknown))

    rewritten = encode_job(replace(decode_job(text), queue="other"))

    assert json.loads(rewritten) == json.loads(text) | {"queue": "other"}


def test_unknown_fields_are_kept_where_they_were_found() -> None:
    data = json.loads(encode_job(BACKUP))
    data["colour"] = ["red"]
    data["policy"]["retry"]["budget"] = {"per": "1h"}
    data["action"]["sandbox"] = True

    extra = decode_job(json.dumps(data)).extra

    assert extra == {
        "colour": ["red"],
        "policy": {"retry": {"budget": {"per": "1h"}}},
        "action": {"sandbox": True},
    }


def test_unknown_fields_of_a_policy_go_with_the_policy_if_it_is_kept_apart() -> None:
    job = replace(BACKUP, extra={"colour": "red", "policy": {"weight": 3}})

    definition, policy = encode_job_apart(job)

    assert ("colour" in json.loads(definition), json.loads(policy)["weight"]) == (True, 3)
    assert "policy" not in json.loads(definition)
    assert decode_job(definition, policy) == job


def test_fields_that_an_older_version_did_not_write_have_their_defaults() -> None:
    data = json.loads(encode_job(BACKUP))
    for name in ("queue", "enabled", "repeat_until", "auto_remove", "revision"):
        del data[name]
    data["policy"] = {"retry": {"max": 3}}

    assert decode_job(json.dumps(data)) == replace(BACKUP, policy=Policy(retry=Retry(max=3)))


def test_a_job_without_a_group_has_the_text_that_older_versions_write() -> None:
    assert "group" not in json.loads(encode_job(BACKUP))
    assert "group" not in json.loads(encode_job_apart(BACKUP)[0])
    grouped = replace(BACKUP, group="db")
    assert json.loads(encode_job(grouped))["group"] == "db"
    assert decode_job(*encode_job_apart(grouped)) == grouped
    assert not grouped.says_the_same(BACKUP)
