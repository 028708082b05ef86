"""The rule of a crontab line: the schedule that means the same here, and the model of what it meant there."""

from __future__ import annotations

import re
import zlib
from functools import partial
from typing import NamedTuple

from foliot.errors import CronCalculationError, FoliotError
from foliot.importers.crontab_line import MACROS
from foliot.importers.draft import Note, Original, When
from foliot.importers.model import vixie
from foliot.importers.model.numbers import SLOTS, UnreadableError, number_of
from foliot.importers.refused import RefusedError
from foliot.schedules import Cron

_RANDOM = re.compile(r"(\d*)~(\d*)")
_BACKWARD = "write the range in two parts, such as 22-23,0-2, if that was meant"
_MOST_DELAY = 1440


class Rule(NamedTuple):
    """A rule on both sides. `splay` in minutes."""

    when: When
    original: Original
    splay: int = 0
    notes: tuple[Note, ...] = ()


def translate_rule(text: str, flavour: vixie.Flavour, zone: str, delay: int = 0) -> Rule:
    """The rule of five fields or a macro. `delay`: cronie's RANDOM_DELAY, in minutes."""
    fields, splay, notes = MACROS.get(text, text), 0, []
    if "~" in text and flavour == "cronie":
        fields, splay = _without_random(fields)
        notes.append(Note("random-window", _random_words(text, fields, splay)))
        text = fields
    if text.startswith("@") and text not in MACROS:
        raise RefusedError("unknown-macro", f"cron has no {text[:20]}", "write five fields")
    try:
        rule = vixie.read_rule(fields, flavour)
    except UnreadableError as error:
        raise _unreadable(error, flavour) from error
    _refuse_backward(fields, flavour)
    when = _when(text, fields, rule, zone)
    if delay:
        splay += min(delay, _MOST_DELAY)
        text = f"RANDOM_DELAY={delay} becomes splay: {splay}m, the same delay each day"
        notes.append(Note("random-window", text))
    original = Original(zone, partial(vixie.fires, rule, zone), partial(vixie.count, rule, zone), splay * 60)
    return Rule(when, original, splay, tuple(notes))


def _when(text: str, fields: str, rule: vixie.VixieRule, zone: str) -> When:
    if rule.flavour == "busybox":
        # BusyBox asks whether a field allows all, not how it is written.
        sets = (rule.minutes, rule.hours, rule.days, rule.months, rule.weekdays)
        sizes = [slot.high - slot.low + (slot.name != "weekday") for slot in SLOTS]
        words = [
            "*" if len(numbers) == size else word
            for word, numbers, size in zip(fields.split(), sets, sizes, strict=True)
        ]
        when = When(" ".join(words), zone)
    else:
        when = When(text, zone, "vixie", "cron")
    try:
        Cron(when.cron, timezone=zone, dialect=when.dialect, dst=when.dst)
    except CronCalculationError as error:
        to_do = "remove the line, or name a date that some year has"
        raise RefusedError("never-fires", "cron takes this line and never runs it", to_do) from error
    except FoliotError as error:
        raise RefusedError("rule", error.message, error.hint or "write the rule anew") from error
    return when


def _unreadable(error: UnreadableError, flavour: vixie.Flavour) -> RefusedError:
    whole = "; Debian's cron runs no line of a table with such a line" if flavour == "debian" else ""
    return RefusedError(
        "unreadable", f"cron does not read it: {error}{whole}", "correct the line, or remove it"
    )


def _refuse_backward(fields: str, flavour: vixie.Flavour) -> None:
    """Debian's cron takes a range that runs backward, and never runs at it."""
    for slot, word in zip(SLOTS, fields.split(), strict=True):
        for item in word.split(","):
            body = item.partition("/")[0]
            start, dash, end = body.partition("-")
            if dash and flavour == "debian" and number_of(slot, start) > number_of(slot, end):
                reason = f"the range {body} runs backward: Debian's cron takes it and never runs at it"
                raise RefusedError("never-fires", reason, _BACKWARD)


def _without_random(fields: str) -> tuple[str, int]:
    """A value for each `a~b`, which cronie draws when it reads the file; and the width of the window."""
    words = fields.split()
    splay = 0
    for place, (slot, word) in enumerate(zip(SLOTS, words, strict=False)):
        found = _RANDOM.fullmatch(word)
        if found is None:
            continue
        low, high = int(found[1] or slot.low), int(found[2] or slot.high)
        if not slot.low <= low <= high <= slot.high:
            break
        if slot.name == "minute" and "~" not in "".join(words[1:]):
            words[place], splay = str(low), high - low
        else:
            words[place] = str(low + zlib.crc32(fields.encode()) % (high - low + 1))
    return " ".join(words), splay


def _random_words(text: str, fields: str, splay: int) -> str:
    if splay:
        return f"{text} drew a minute at each start of cron; now it is {fields} with splay: {splay}m"
    return f"{text} drew its values at each start of cron; now they are fixed: {fields}"
