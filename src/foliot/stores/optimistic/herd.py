"""Herds in a store that keeps a job as one text: a plain body becomes that of a job that runs, and has run.

A *plain* body has nothing to it but its next occurrence (see `Page.start_alike`). One pattern tells, and
gives the parts that stay as they are; nothing is decoded. The bodies here are those that `rows.write_body`
makes of what the planner decides at length. All other jobs are read, decided about and written one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from json.encoder import encode_basestring
from typing import Any

from foliot.model.alike import ON_TIME
from foliot.model.attempt import AttemptState, Ending, Outcome, Trigger
from foliot.stores.herd import Herd, HerdRun, HerdStart
from foliot.stores.optimistic.rows import FORMAT
from foliot.stores.retention import first_look
from foliot.stores.sql.codes import (
    DAY,
    OUTCOME_CODES,
    STATE_CODES,
    TRIGGER_CODES,
    micros,
    whole,
)

# Shorter than the numbers that count as damage, and within the calendar: what is longer is read with care.
_COUNT, _AT = r"(\d{1,15})", r"(-?\d{1,16})"
_MAYBE_AT = r"(null|-?\d{1,16})"
_STATE = (
    rf"\[{_COUNT},{_AT},{_AT},{_MAYBE_AT},\3,null,null,{_COUNT},{_COUNT},(?:null|-?\d{{1,16}}),{_MAYBE_AT},"
    rf'(?:null|"[^"\\]*"),{_COUNT},{_MAYBE_AT},null,(null|"[a-z_]*"),null\]'
)
_TALLY = rf"\[{_COUNT},{_COUNT},(null|\d{{1,19}}),{_MAYBE_AT},{_MAYBE_AT},{_MAYBE_AT}\]"
_PLAIN = re.compile(rf"\[{FORMAT},{_STATE},\[\],{_TALLY}\]")
_NOTHING = "null"
_SUCCEEDED = OUTCOME_CODES[Outcome.SUCCEEDED]
_RUNNING, _ENDED = STATE_CODES[AttemptState.RUNNING], STATE_CODES[AttemptState.ENDED]

Parts = Sequence[str]
_NEXT_AT = 2  # where the parts have the next occurrence


def plain_parts(body: str) -> Parts | None:
    """The parts of a plain body that is due for its next occurrence; None: it must be looked at."""
    found = _PLAIN.fullmatch(body)
    if found is None:
        return None
    parts = found.groups()
    served, newest, entries, trim_at = parts[3], parts[14], parts[11], parts[12]
    at = int(parts[_NEXT_AT])
    if (served != _NOTHING and int(served) >= at) or (newest != _NOTHING and int(newest) >= at):
        return None
    if parts[7] == "0" or (trim_at != _NOTHING and int(entries) + 1 == int(trim_at)):
        return None  # a version that cannot be, or the history is worth a look from now on
    return parts


def next_at(parts: Parts) -> int:
    """The next occurrence."""
    return int(parts[_NEXT_AT])


class TextHerdStart(HerdStart):
    """A herd within one claim, with the texts that its bodies share."""

    __slots__ = ("begun", "first_trim", "following", "keeps_for", "now", "opened", "rest")

    def __init__(self, herd: Herd, node: str, at: datetime) -> None:
        super().__init__(herd, node, at)
        keep = herd.mould.template.policy.keep
        deadline = _NOTHING if self.deadline is None else self.deadline
        self.now = whole(at)
        self.following = _NOTHING if herd.following is None else str(herd.following)
        self.first_trim = str(first_look(keep))
        self.keeps_for = None if keep.days is None else keep.days * DAY
        self.opened = f"{herd.at},null,null,null,{encode_basestring(node)}"
        self.begun = f"{self.now},{deadline}"
        self.rest = f"{encode_basestring(ON_TIME)},0,0"


_BEGIN = f"1,{TRIGGER_CODES[Trigger.SCHEDULE]}"


class TextHerdRun(HerdRun):
    """A run of a herd. `body` is that of its job while it runs; `mark` is the job's since it was written.

    `is_quiet`: its success changes nothing but its attempt and the counts of the history.
    """

    __slots__ = ("_head", "_is_full", "_look_at", "_order", "_succeeded_at", "_tally", "body",
                 "is_quiet", "mark")  # fmt: skip

    def __init__(self, start: TextHerdStart, key: str, parts: Parts, data: dict[str, Any]) -> None:
        (
            token, created, _, _, fired, failures, failure, version, defined, problem,
            opened, entries, trim_at, look_at, _, succeeded_at,
        ) = parts  # fmt: skip
        token_, herd, following = int(token) + 1, start.herd, start.following
        super().__init__(start, key, token_, int(version), data)
        order = self._order = int(opened) + 1
        self._head = (
            f"[{FORMAT},[{token_},{created},{following},{herd.at},{following},null,null,{int(fired) + 1},"
            f"{failures},{start.now},{failure},{encode_basestring(self._key[0])},{version},{defined},null,"
            f"{problem},null]"
        )
        trim_at, count = start.first_trim if trim_at == _NOTHING else trim_at, int(entries) + 1
        self._tally = f"{order},{count},{trim_at}"
        self._is_full = count >= int(trim_at)
        self._look_at, self._succeeded_at = look_at, succeeded_at
        self.body = (
            f"{self._head},[[{order},{_BEGIN},{_RUNNING},{start.opened},{token_},{start.begun},"
            f"null,null,null,null,{start.rest},null,{version},null]],"
            f"[{self._tally},{look_at},{herd.at},{succeeded_at}]]"
        )
        self.is_quiet = herd.alike.ends_in_peace and failures == "0" and problem == _NOTHING
        self.mark = ""

    def ended(self, ending: Ending) -> tuple[str, str, int | None]:
        """When it has succeeded: the body, the attempt, and when to look at the history, if that is new."""
        start: Any = self.start
        end, ripe_at = whole(ending.finished_at), None
        look_at = self._look_at
        if start.keeps_for is not None:
            too_old = end + start.keeps_for
            if look_at == _NOTHING or int(look_at) > too_old:
                look_at, ripe_at = str(too_old), None if self._is_full else too_old
        begun = micros(ending.started_at)
        known = self._succeeded_at
        succeeded_at = end if known == _NOTHING else max(end, int(known))
        body = f"{self._head},[],[{self._tally},{look_at},{self.at},{succeeded_at}]]"
        code = _NOTHING if ending.exit_code is None else ending.exit_code
        row = (
            f"[{self._order},{_BEGIN},{_ENDED},{start.opened},{self._token},{start.begun},"
            f"{_NOTHING if begun is None else begun},{end},{_SUCCEEDED},null,{start.rest},{code},"
            f"{self._version}]"
        )
        return body, row, ripe_at


def quiet_run(ending: Ending) -> TextHerdRun | None:
    """The run of an ending, if its success changes nothing but its attempt and the counts of its history."""
    run = ending.run
    is_success = ending.outcome is Outcome.SUCCEEDED and ending.error is None
    return run if is_success and isinstance(run, TextHerdRun) and run.is_quiet and run.mark else None
