"""The JSON Schema of `rollcron.yaml`, for editors: made of the table that files are read by."""

from __future__ import annotations

from typing import Any

from foliot.doors.rollcron.alert_fields import CHANNELS
from foliot.doors.rollcron.calendars import calendars_kind
from foliot.doors.rollcron.fields import DEFAULTS, FIELDS, GROUPS
from foliot.doors.rollcron.include import INCLUDE
from foliot.doors.rollcron.job_reader import ID, LONGEST_ID


def schema() -> dict[str, Any]:
    """Draft 7, which editors know. It says nothing about cron expressions, time zones and paths."""
    kinds = {name: field.kind.schema for name, field in FIELDS.items()}
    optional = {
        name: {"anyOf": [{"const": "none"}, kind]} if name in DEFAULTS else kind
        for name, kind in kinds.items()
    }
    job = {
        **_mapping(optional),
        "required": ["run"],
        "anyOf": [{"required": ["schedule"]}, {"required": ["after"]}],
        "not": {"required": ["shell", "run"], "properties": {"run": {"type": "array"}}},
    }
    jobs = {
        "type": "object",
        "propertyNames": {"pattern": f"^{ID}$", "maxLength": LONGEST_ID},
        "additionalProperties": job,
    }
    defaults = _mapping({name: kinds[name] for name in DEFAULTS})
    top = {
        "channels": CHANNELS.schema,
        "calendars": calendars_kind().schema,
        "groups": GROUPS.schema,
        "include": INCLUDE.schema,
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "rollcron.yaml",
        **_mapping(top | {"defaults": defaults, "jobs": jobs}),
        "anyOf": [{"required": ["jobs"]}, {"required": ["include"]}],
    }


def _mapping(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}
