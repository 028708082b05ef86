"""What a person should look at in a command, because it means something else under Foliot.

Cron does not look at exit codes. So `[ $(date +%u) = 1 ] && report` was never a failure on a Tuesday; here
exit code 1 is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from foliot.importers.draft import Note

_FLOCK = re.compile(r"\bflock +(-\S+ +)*-[a-z]*n")
_TEST = re.compile(r"(?:^|&&|[;({])\s*(?:\[\[?|test)\s(?P<tested>[^|;]*?)&&(?P<rest>.*)", re.DOTALL)
_SETTLED = re.compile(r"\|\||;\s*(?:true|:|exit 0)\s*[)}]?\s*$")
_WEEKDAY = re.compile(r"\bdate +\+['\"]?%(?P<form>[uwaA])\b.*?(?:==?|-eq) *[\"']?(?P<value>\w+)", re.DOTALL)
_EARLY = re.compile(r"\bdate +\+['\"]?%[-_]?[de]\b.*?(?P<sign>-l[et]) *[\"']?(?P<last>\d+)", re.DOTALL)
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES = ("Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays")
_WEEK, _FIELDS = 7, 5


def hints(command: str, rule: str) -> Iterator[Note]:
    """The notes about a command; `rule` is the one that it runs by."""
    if _FLOCK.search(command):
        text = "flock -n is left as it is; concurrency: skip does the same for this job"
        yield Note("flock", text)
    found = _TEST.search(command)
    if found is None or _SETTLED.search(found["rest"]):
        return
    text = "if its test says no, it ends with 1, and that counts as a failure now, not as nothing to do: say "
    text += "exit_codes: {skip: [1]}, or write if … then … fi"
    yield Note("exit-code", text, needs_person=True)
    if (day := _weekday(found["tested"], rule)) is not None:
        yield Note("only", _only_words(day, found["tested"], rule))


def _only_words(day: int, tested: str, rule: str) -> str:
    name, fields = _NAMES[day].lower(), rule.split()
    calendar = f'calendars: {{{name}: {{cron: "* * * * {_DAYS[day].upper()}"}}}}'
    change = ""
    if (early := _EARLY.search(tested)) and len(fields) == _FIELDS:
        last = int(early["last"]) - (early["sign"] == "-lt")
        change = f", and the rule {' '.join([*fields[:2], f'1-{last}', fields[3], '*'])}"
    instead = f"{calendar}, only: {name}{change}; without the test"
    return f"it asks for {_NAMES[day]}; the schedule itself can: {instead}"


def _weekday(tested: str, rule: str) -> int | None:
    """The day of the week that a test asks for, or that the rule has beside a test of the date; 0: Sunday."""
    fields = rule.split()
    if found := _WEEKDAY.search(tested):
        word = found["value"].lower()
    elif _EARLY.search(tested) and len(fields) == _FIELDS:
        word = fields[-1].lower()
    else:
        return None
    if word.isdigit():
        return int(word) % _WEEK if int(word) <= _WEEK else None
    return _DAYS.index(word[:3]) if word[:3] in _DAYS and word.isalpha() else None
