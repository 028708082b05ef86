"""Foliot: a durable cron for Python people."""

from foliot.schedules import Cron, Every, Once

__all__ = ["Cron", "Every", "Once"]
