"""The zone of the door's own tests."""

from doors.declarative.conftest import zone

__all__ = ["zone"]
