"""One decision for a whole herd: jobs that are alike, and whose occurrence has come at the same time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple


class Alike(NamedTuple):
    """What happens to every plain record of one definition whose next occurrence is `first`.

    A claim that looks at such a record no later than `until` starts a run of `first`, and the record goes on
    to `following`. `ends_in_peace`: if nothing else was decided about the job since that run started, its
    success changes only the attempt.
    """

    first: datetime
    following: datetime | None
    until: datetime
    timeout: timedelta | None
    ends_in_peace: bool
