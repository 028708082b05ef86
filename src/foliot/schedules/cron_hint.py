"""What would have been right: a hint for each way in which a cron expression goes wrong.

A hint that says "write X" must hold: X is valid in the dialect, and means what the author meant. Where
that cannot be known, the hint says what is allowed instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from foliot.errors import InvalidDurationError
from foliot.schedules.duration import parse_duration
from foliot.schedules.field import Field

_LONGEST_LIST = 24
_LONGEST_WORD = 20
_CLOSE = 0.75
_CRON_CHARACTERS = frozenset("0123456789*,-/?")
_OTHER_DIALECT = "or choose dialect='standard'"
_FIVE_FIELDS = "the fields are minute, hour, day, month, weekday; write * for each that does not matter"


def hint_for_count(words: Sequence[str], plain_name: str, *, has_optional_seconds: bool) -> str:
    """For a wrong number of fields; `plain_name` names a dialect of five fields and nothing else."""
    first, last = words[0], words[-1]
    if "TZ=" in first.upper():
        zone_hint = "write CRON_TZ= once, in capitals, in front"
        plain_hint = f"{plain_name} has no zone in the expression: give it as timezone"
        return plain_hint if plain_name else zone_hint
    if len(words) == 6 and last.isascii() and last.isdigit() and len(last) == 4:  # noqa: PLR2004 - a year
        return "there is no year field"
    surplus = words[6 if has_optional_seconds else 5 :]
    if any(not _CRON_CHARACTERS.issuperset(word) for word in surplus):
        return "only the schedule belongs here, not a user or a command"
    if len(words) == 6 and not has_optional_seconds:  # noqa: PLR2004 - five fields and seconds
        return "a seconds field needs the dialect seconds: --dialect seconds, or dialect='seconds' in Python"
    return "there is no year field" if len(words) == 7 else _FIVE_FIELDS  # noqa: PLR2004 - and a year


def hint_for_macro(name: str, macros: Mapping[str, str], plain_name: str = "") -> str:
    """For a macro that is unknown, or known to other dialects only."""
    if name == "@reboot":
        return "@reboot is not supported in a schedule; use a systemd unit for what runs at start-up"
    if plain_name:
        if name in macros:
            return f"write {macros[name]}, {_OTHER_DIALECT}"
        return f"{plain_name} has no macros: write five fields, {_OTHER_DIALECT}"
    if name.lower() == "@minutely":
        return "write * * * * *"
    known = [*macros, "@every"]
    similar = get_close_matches(name.lower()[:_LONGEST_WORD], known, n=1, cutoff=_CLOSE)
    return f"did you mean {similar[0]}?" if similar else f"the macros are {', '.join(macros)}, @every 5m"


def hint_for_every(words: Sequence[str]) -> str:
    """For `@every` with no duration, or with more than one."""
    together = "".join(words)
    try:
        parse_duration(together)
    except InvalidDurationError:
        return "write @every 5m"
    return f"write @every {together}"


def hint_for_steps(field: Field, text: str) -> str:
    """For steps in a dialect without them: the list that they stand for."""
    body, _, step_text = text.partition("/")
    start_text, dash, end_text = body.partition("-")
    if body == "*":
        start_text, end_text = str(field.low), str(field.high)
    elif not dash:
        end_text = str(field.high)
    if not all(map(_is_small_number, (start_text, end_text, step_text))):
        return f"steps are not POSIX: list the values, {_OTHER_DIALECT}"
    start, end, step = int(start_text), int(end_text), int(step_text)
    if step == 0 or not field.low <= start <= end <= field.high:
        return "steps are not POSIX: list the values"
    if body == "*" and step == 1:
        return f"steps are not POSIX: write *, {_OTHER_DIALECT}"
    listed = [str(n) for n in range(start, end + 1, step)]
    if len(listed) > _LONGEST_LIST:
        return f"steps are not POSIX: list the values, {_OTHER_DIALECT}"
    return f"steps are not POSIX: write {','.join(listed)}, {_OTHER_DIALECT}"


def hint_for_value(field: Field, value: int, range_start: int | None) -> str:
    """For a number outside its field, alone or as the end of a range."""
    is_one_too_far = field.name in ("weekday", "hour") and value == field.high + 1
    if is_one_too_far and range_start is not None:
        return f"write {_range(range_start, field.high)}" + (",0" if range_start else "")
    if is_one_too_far:
        return "use 0 for Sunday" if field.name == "weekday" else "use 0 for midnight"
    if value == 0:
        return f"{field.name}s start at {field.low}"
    return f"{field.name}s are numbers from {field.low} to {field.high}"


def hint_for_backward_range(field: Field, start: int, end: int, step: int) -> str:
    """For a range such as 22-2: the list that it stands for."""
    if step == 1:
        return f"write {_range(start, field.high)},{_range(field.low, end)}"
    size = field.high - field.low + 1
    around = (n - size if n > field.high else n for n in range(start, end + size + 1, step))
    return f"write {','.join(map(str, around))}"


def hint_for_word(field: Field, word: str, item: str, *, is_posix: bool) -> str:
    """For a word where a number should stand; `item` is the whole range that it may be part of."""
    if not word.isascii():
        return "write ASCII letters and digits"
    parts = item.split("-")
    values = [_value_of_long_name(field, part) for part in parts]
    if None not in values and values == sorted(values, key=lambda value: value or 0):
        return f"write {'-'.join(map(str, values) if is_posix else (part[:3].lower() for part in parts))}"
    if field.words and not is_posix and word.isalpha():
        return f"the names are {', '.join(field.words)}"
    return f"{field.name}s are numbers from {field.low} to {field.high}"


def is_long_name(word: str) -> bool:
    """Whether a word is the name of a weekday or month, or the beginning of one of three letters or more."""
    long_names = {name[:3]: name for name in _LONG_NAMES}
    return long_names.get(word[:3].lower(), "").startswith(word.lower())


def _value_of_long_name(field: Field, word: str) -> int | None:
    """What "monday" means: a name, or the beginning of its long form."""
    return field.named(word[:3]) if is_long_name(word) else None


_LONG_NAMES = (
    "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip


def _range(start: int, end: int) -> str:
    return f"{start}-{end}" if start < end else f"{start}"


def _is_small_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4  # noqa: PLR2004 - no field has more digits
