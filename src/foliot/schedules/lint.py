"""What a person should know about a schedule before relying on it.

Nothing here is an error: every rule that can be built is allowed. A *warning* is about runs that will
surprise most people, a *note* about what is as it should be but easily overlooked.

    never-again    warning   it has no occurrence any more
    past           warning   its only instant is over
    dst-gap        warning   times that the zone's clocks leave out: it does not run then
    dst-overlap    warning   times that come twice: it runs twice
    either-day     warning   both day fields are restricted, and either may match
    short-month    note      some of its months lack its days
    rare           note      more than a year lies between two runs
    uneven-step    note      a step such as */7 that does not come round evenly

A gap or an overlap is a note only if the rule keeps its rhythm in elapsed time: every 5 minutes stays
every 5 minutes, whatever the clocks show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, datetime, timedelta
from typing import Literal

from foliot.errors import InvalidScheduleError
from foliot.schedules.cron import Cron
from foliot.schedules.cron_syntax import CronFields
from foliot.schedules.explain_day import MONTH_LENGTHS, days_of, say_days
from foliot.schedules.field import DAY, HOUR, MINUTE, SECOND, WEEKDAY, Field, values
from foliot.schedules.lint_clock import Finding, clock_changes
from foliot.schedules.once import Once
from foliot.schedules.phrase import FEW, MONTHS, counted, listed, ordinal, say_date, say_time, say_zone
from foliot.schedules.schedule import Schedule, check_aware
