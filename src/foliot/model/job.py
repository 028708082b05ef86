"""Jobs: named definitions, as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from foliot.errors import InvalidJobError
from foliot.model.policy import Policy
from foliot.schedules import Schedule

_EMPTY: Mapping[str, Any] = MappingProxyType({})
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What to do, as data: the kind selects an executor, `data` is for it alone."""

    kind: str
    data: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        if not self.kind:
            raise InvalidJobError("action.kind", self.kind, "must not be empty")
        object.__setattr__(self, "data", MappingProxyType(dict(self.data)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A definition: when, what, and how it behaves. Declared, never computed.

    `source` is the namespace that declares it. `repeat_until`: no occurrence after it is served.
    `auto_remove`: the job is removed when it has no occurrence and no open run left. `extra` keeps
    fields that a newer version wrote and this one does not know.
    """

    source: str
    name: str
    schedule: Schedule
    action: Action
    queue: str = "default"
    policy: Policy = field(default_factory=Policy)
    enabled: bool = True
    repeat_until: datetime | None = None
    auto_remove: bool = False
    revision: str = field(default="", compare=False)  # where it was read is not what it says
    extra: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)

    def __post_init__(self) -> None:
        for label, text in (("source", self.source), ("name", self.name), ("queue", self.queue)):
            if not text or len(text) > LONGEST_NAME or not text.isprintable():
                raise InvalidJobError(
                    label, text, f"must be a printable text of 1 to {LONGEST_NAME} characters"
                )
        if "/" in self.source:
            raise InvalidJobError("source", self.source, "must not contain a slash")
        object.__setattr__(self, "extra", MappingProxyType(dict(self.extra)))

    @property
    def key(self) -> str:
        """What names the job in the whole store."""
        return f"{self.source}/{self.name}"
