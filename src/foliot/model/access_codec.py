"""Tokens, entries of the audit and pipelines as JSON texts, for stores that keep texts."""

from __future__ import annotations

from typing import Any

from foliot.errors import DamagedRecordError, InvalidJobError
from foliot.model.access import Right, Scope, Token
from foliot.model.audit import AuditEntry, AuditOutcome
from foliot.model.codec import ACTION
from foliot.model.json_text import MisfitError, read_object, write_json
from foliot.model.pipeline import Pipeline, PipelineStatus
from foliot.model.shape import INSTANT, MESSAGE, TEXT, WHOLE, Shape, choice, listed, optional

_MESSAGE_OR_NONE = optional(MESSAGE)
TOKEN = Shape(
    Token,
    {
        "id": TEXT,
        "name": TEXT,
        "hash": TEXT,
        "scope": choice(Scope),
        "created_at": INSTANT,
        "sources": optional(listed(TEXT)),
        "rights": listed(choice(Right)),
        "expires_at": optional(INSTANT),
    },
    # A field that is lost must not widen what the token may do.
    required=("id", "name", "hash", "scope", "created_at", "sources", "expires_at"),
)
ENTRY = Shape(
    AuditEntry,
    {
        "id": TEXT,
        "at": INSTANT,
        "actor": MESSAGE,
        "verb": MESSAGE,
        "object": MESSAGE,
        "address": _MESSAGE_OR_NONE,
        "before": _MESSAGE_OR_NONE,
        "after": _MESSAGE_OR_NONE,
        "request_id": _MESSAGE_OR_NONE,
        "outcome": choice(AuditOutcome),
        "detail": _MESSAGE_OR_NONE,
    },
    required=("id", "at", "actor", "verb", "object", "outcome"),
)
PIPELINE = Shape(
    Pipeline,
    {
        "id": TEXT,
        "namespace": TEXT,
        "layer": TEXT,
        "name": TEXT,
        "action": ACTION,
        "created_at": INSTANT,
        "updated_at": INSTANT,
        "description": MESSAGE,
        "type": MESSAGE,
        "status": choice(PipelineStatus),
        "version": WHOLE,
    },
    required=("id", "namespace", "layer", "name", "action", "created_at", "updated_at"),
)


def to_text(shape: Shape, value: Any) -> str:
    """A value as a text; InvalidJobError if it holds what cannot be stored."""
    try:
        return write_json(shape.write(value))
    except MisfitError as error:
        raise InvalidJobError(error.path or "value", error.value, error.reason) from error


def from_text(shape: Shape, text: object) -> Any:
    """The value of such a text; DamagedRecordError if it is none. Fields of newer versions are ignored."""
    try:
        return shape.read(read_object(text))[0]
    except MisfitError as error:
        raise DamagedRecordError(
            error.path or "text", error.value, error.reason, flaw=error.flaw, expected=error.expected
        ) from error
