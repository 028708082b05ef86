"""When things happen: schedules as stateless values, and the cron language.

A schedule is a rule from an instant to the next occurrence: `Cron`, `Every`, `Once`, `Never`, and
`OnDays` around one of the first two. It holds no state and reads no clock, so equal rules always give equal
answers, on every node.

    text ── cron_syntax ──▶ fields (bit masks) ── dial ──▶ tables ── search ──▶ occurrences
                                    │
                                    └── cron_format, explain, lint   (for people)

Read in this order: `schedule` (what a schedule is), `field` and `cron_syntax` (from text to masks), `dial`
(tables that answer "what comes next" by lookup), `search` (the walk through them), `zone` (when clocks are
moved), `twin` (why few years tell about all), `cron_count` (how many lie in a range), `cron` (all of it as a
value). The rest can wait: `nth_day` (`L` and `#`), `cron_hint` (what would have been right), `duration`,
`every`, `once`, `never`, `herd` (many jobs, few rules), `day_filter` and `on_days` (calendars), and for
people `explain` with `explain_clock`, `explain_day` and `phrase`, and `lint` with `shift`.
The invariants:

- next_after(t) > t, previous(t) <= t, and nothing lies between; by the calendar, not by a count of years.
- A wall minute that does not exist never fires; one that exists twice fires twice.
- A rule that can never match cannot be built, and neither can one that is not understood in full. Only
  `Cron.stored` reads one whose times the clocks have come to leave out.

Instants are aware datetimes. Results are in the rule's own zone, with the right fold; to compare them
with times of other zones, convert both to UTC, since Python calls a wall time that comes twice unequal
to every time of another zone (PEP 495).
"""

from foliot.schedules.cron import Cron
from foliot.schedules.day_filter import Calendar
from foliot.schedules.every import Every
from foliot.schedules.never import Never
from foliot.schedules.on_days import OnDays
from foliot.schedules.once import Once
from foliot.schedules.schedule import Schedule

__all__ = ["Calendar", "Cron", "Every", "Never", "OnDays", "Once", "Schedule"]
