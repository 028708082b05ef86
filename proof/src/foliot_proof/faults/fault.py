"""What was done to whom, from when to when; and what of it can be told afterwards."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What can be done to a node, to its way to the store, or to the store."""

    KILL = "kill"
    FAILPOINT = "failpoint"
    STOP = "stop"
    TERM = "term"
    CLOCK = "clock"
    CUT = "cut"
    BLACKHOLE = "blackhole"
    SLOW = "slow"
    HALFCLOSE = "halfclose"
    CUTCOMMIT = "cutcommit"
    RESTART = "restart"
    HANG = "hang"
    FULL = "full"
    SCRIPTFLUSH = "scriptflush"
    SERVERCLOCK = "serverclock"
    DISK = "disk"


ON_THE_WAY = (Kind.CUT, Kind.BLACKHOLE, Kind.SLOW, Kind.HALFCLOSE, Kind.CUTCOMMIT)  # they need a proxy
OF_THE_SERVER = (Kind.RESTART, Kind.HANG, Kind.FULL, Kind.SCRIPTFLUSH)
OUTAGES = (Kind.RESTART, Kind.HANG, Kind.FULL)  # nobody can write to the store meanwhile


class InjectedFault(NamedTuple):
    """One injury. `host` None: of the store. `bites`: how much it did; 0: it hurt nobody, and is none."""

    kind: Kind
    host: str | None
    begin: datetime
    end: datetime
    words: str = ""
    bites: int = 1
