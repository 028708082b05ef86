"""`Never`: no occurrence. The job runs when it is asked for, after another job, or at boot."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from foliot.schedules.schedule import Schedule, check_aware

NEVER, REBOOT = "never", "@reboot"


@dataclass(frozen=True, slots=True)
class Never(Schedule):
    """No time at all. `at_boot`: the door that declares the job asks for one run after each boot."""

    at_boot: bool = field(default=False, kw_only=True)

    def __str__(self) -> str:
        return REBOOT if self.at_boot else NEVER

    def next_after(self, instant: datetime) -> datetime | None:
        check_aware(instant)
        return None

    def previous(self, instant: datetime) -> datetime | None:
        check_aware(instant)
        return None

    def count(self, first: datetime, last: datetime) -> int:
        check_aware(first)
        check_aware(last)
        return 0

    def matches(self, instant: datetime) -> bool:
        check_aware(instant)
        return False
