"""What rollcron.yaml can say in this version: the one place that an import asks."""

from __future__ import annotations

from foliot.doors.rollcron import job_reader
from foliot.doors.rollcron.fields import FIELDS

HAS_USER = "user" in FIELDS
HAS_REBOOT = hasattr(job_reader, "REBOOT")
HAS_ONLY = "only" in FIELDS
