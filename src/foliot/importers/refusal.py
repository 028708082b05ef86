"""Whether rollcron.yaml can hold a job: the reader of the file is asked, before the job is promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foliot.doors.rollcron.config import read_config
from foliot.errors import ConfigInvalidError
from foliot.importers.draft import Draft, When
from foliot.importers.yaml_text import write_yaml


def refusal_of(when: When, fields: Mapping[str, Any], channels: Mapping[str, Any]) -> str:
    """What the reader has against a job; empty: nothing."""
    draft = Draft(id="job", source="import", place="", written="", when=when, fields=dict(fields))
    try:
        read_config(write_yaml([draft], {}, channels), source="import")
    except ConfigInvalidError as error:
        problem = error.problems[0]
        return f"{problem.field or 'the job'}: {problem.message}"
    return ""
