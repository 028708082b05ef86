"""Herds in a store that keeps a job as one text: the new text when the job starts, and when it succeeds.

A *plain* body has only a next occurrence (see `Page.start_alike`). One regular expression recognises it, and
returns the parts that do not change; nothing is decoded. The new bodies are equal to those that
`rows.write_body` makes of the planner's decision. All other jobs are read, decided about and written one by
one.
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

# Numbers of this length are valid: within the calendar, and no damage. A longer one is read in full.
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
_NEXT_AT = 2  # the position of the next occurrence in the parts


def plain_parts(body: str) -> Parts | None:
    """The parts of a plain body that is due for its next occurrence; None if the body is not plain."""
    found = _PLAIN.fullmatch(body)
    if found is None:
        return None
    parts = found.groups()
    served, newest, entries, trim_at = parts[3], parts[14], parts[11], parts[12]
    at = int(parts[_NEXT_AT])
    if (served != _NOTHING and int(served) >= at) or (newest != _NOTHING and int(newest) >= at):
        return None
    if parts[7] == "0" or (trim_at != _NOTHING and int(entries) + 1 == int(trim_at)):
        return None  # an invalid version, or the history is worth a look now
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
    """A run of a herd. `body`: the body of its job while it runs. `mark`: the job's mark since its start.

    `is_quiet`: its success changes only its attempt and the counters of the history.
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
        """After a success: the body, the attempt, and when to look at the history, if that has changed."""
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
    """The run of an ending, if its success changes only its attempt and the counters of its history."""
    run = ending.run
    is_success = ending.outcome is Outcome.SUCCEEDED and ending.error is None
    return run if is_success and isinstance(run, TextHerdRun) and run.is_quiet and run.mark else None
