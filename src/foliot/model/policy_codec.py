"""Policies as JSON text. Jobs share few policies, so a store keeps each text once.

Reading the same text again gives the same `Policy` object, without reading. All fields are written,
defaults too: a later version's default does not change what a stored job does. Only what came later, and is
None, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from foliot.errors import DamagedRecordError, InvalidPolicyError
from foliot.model.alert import AlertKind
from foliot.model.chain import Link, On
from foliot.model.json_text import MisfitError, read_object, write_json
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
from foliot.model.shape import (
    DURATION,
    FLAG,
    NOTHING,
    NUMBER,
    TEXT,
    WHOLE,
    Shape,
    choice,
    listed,
    optional,
    part,
)

MISFIRE = Shape(Misfire, {"mode": choice(MisfireMode), "limit": WHOLE, "grace": DURATION})
OVERLAP = Shape(Overlap, {"mode": choice(OverlapMode), "limit": optional(WHOLE)})
RETRY = Shape(
    Retry,
    {
        "max": optional(WHOLE),
        "delay": DURATION,
        "backoff": NUMBER,
        "longest": DURATION,
        "jitter": NUMBER,
        "is_preempted": FLAG,
    },
)
KEEP = Shape(Keep, {"last": optional(WHOLE), "days": optional(WHOLE), "problems_only": FLAG})
_SPAN = optional(DURATION)
NOTIFY = Shape(
    Notify,
    {"to": listed(TEXT), "on": listed(choice(AlertKind)), "after": WHOLE, "remind": _SPAN},
    required=("to",),
)
EXPECT = Shape(Expect, {"start_within": _SPAN, "finish_within": _SPAN, "success_every": _SPAN})
LINK = Shape(Link, {"job": TEXT, "on": choice(On)}, required=("job",))
POLICY = Shape(
    Policy,
    {
        "first_seen": choice(FirstSeen),
        "misfire": MISFIRE,
        "before_first_run": FLAG,
        "on_change": choice(OnChange),
        "overlap": OVERLAP,
        "retry": RETRY,
        "on_lost": choice(OnLost),
        "timeout": optional(DURATION),
        "keep": KEEP,
        "remembers": FLAG,
        "splay": optional(DURATION),
        "notify": optional(part(NOTIFY)),
        "expect": optional(part(EXPECT)),
        "ping": optional(TEXT),
        "after": optional(part(LINK)),
        "then": optional(listed(part(LINK))),
    },
    # They came later. Without them, a policy's text is the one that older versions write.
    omitted=("splay", "notify", "expect", "ping", "after", "then"),
)
_LONGEST_KEPT = 4096  # a text of usual length is a tenth of it; longer ones must not fill the memory


def encode_policy(policy: Policy, unknown: Mapping[str, Any] = NOTHING) -> str:
    """The canonical text, with the fields that this version does not know put back in."""
    try:
        return policy_text(policy, unknown)
    except MisfitError as error:
        raise InvalidPolicyError(error.path, error.value, error.reason) from error


def decode_policy(text: str) -> Policy:
    """The policy of a text; the same object for the same text."""
    try:
        return read_policy(text)[0]
    except MisfitError as error:
        raise DamagedRecordError(error.path, error.value, error.reason) from error


def policy_text(policy: Policy, unknown: Mapping[str, Any] = NOTHING) -> str:
    """The canonical text; MisfitError if there is none."""
    try:
        return write_json(POLICY.write(policy, unknown)) if unknown else _write(policy)
    except MisfitError as error:
        raise error.within("policy") from error.__cause__


@lru_cache(maxsize=1024)
def _write(policy: Policy) -> str:
    return write_json(POLICY.write(policy))


def read_policy(text: object) -> tuple[Policy, Mapping[str, Any]]:
    """The policy of a text, and a tree of its unknown fields; MisfitError if it cannot be read."""
    try:
        if isinstance(text, str) and len(text) <= _LONGEST_KEPT:
            return _read_kept(text)
        return _read(text)
    except MisfitError as error:
        raise error.within("policy") from error.__cause__


def _read(text: object) -> tuple[Policy, Mapping[str, Any]]:
    policy, unknown = POLICY.read(read_object(text))
    return policy, MappingProxyType(unknown)


_read_kept = lru_cache(maxsize=1024)(_read)
