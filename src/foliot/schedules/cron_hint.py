"""What would have been right: a hint for each way in which a cron expression goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from foliot.schedules.field import Field

_LONGEST_LIST = 24
_LONGEST_WORD = 20


def hint_for_count(count: int, *, has_optional_seconds: bool) -> str:
    """For a wrong number of fields."""
    if count == 6 and not has_optional_seconds:  # noqa: PLR2004 - five fields and seconds
        return "a seconds field needs dialect='seconds'"
    if count > 6:  # noqa: PLR2004
        return "there is no year field"
    return "the fields are minute, hour, day, month, weekday; write * for each that does not matter"


def hint_for_macro(name: str, macros: Mapping[str, str]) -> str:
    """For a macro that is unknown, or known to other dialects only."""
    if name in macros:
        return f"write {macros[name]}, or choose dialect='standard'"
    if name == "@reboot":
        return "a schedule knows only time; start such work with the program itself"
    similar = get_close_matches(name.lower()[:_LONGEST_WORD], macros, n=1)
    return f"did you mean {similar[0]}?" if similar else "the macros are " + ", ".join(macros) + ", @every 5m"


def hint_for_steps(field: Field, text: str) -> str:
    """For steps in a dialect without them: the list that they stand for."""
    advice = "or choose dialect='standard'"
    body, _, step_text = text.partition("/")
    start_text, dash, end_text = body.partition("-")
    numbers = [start_text, step_text, *([end_text] if dash else [])]
    if body == "*":
        numbers, start_text = [step_text], str(field.low)
    if not all(_is_small_number(number) for number in numbers):
        return f"steps are not POSIX: list the values, {advice}"
    end = int(end_text) if dash else field.high
    listed = [str(n) for n in range(int(start_text), end + 1, int(step_text) or 1)]
    if int(step_text) <= 1 and body == "*":
        return f"steps are not POSIX: write *, {advice}"
    if not 0 < len(listed) <= _LONGEST_LIST or end > field.high:
        return f"steps are not POSIX: list the values, {advice}"
    return f"steps are not POSIX: write {','.join(listed)}, {advice}"


def hint_for_value(field: Field, value: int) -> str:
    """For a number outside its field."""
    if field.name == "weekday" and value == 7:  # noqa: PLR2004 - the other Sunday
        return "use 0 for Sunday"
    if field.name == "hour" and value == 24:  # noqa: PLR2004
        return "use 0 for midnight"
    if value == 0:
        return f"{field.name}s start at {field.low}"
    return f"{field.name}s are numbers from {field.low} to {field.high}"


def hint_for_backward_range(field: Field, start: int, end: int) -> str:
    """For a range such as 22-2: the list that it stands for."""
    before, after = _range(start, field.high), _range(field.low, end)
    return f"write {before},{after}"


def hint_for_word(field: Field, word: str, *, is_posix: bool) -> str:
    """For a word where a number should stand."""
    value = field.named(word[:3])
    if value is not None and word[:_LONGEST_WORD].isalpha():
        return f"write {value if is_posix else word[:3].lower()}"
    if field.words and not is_posix:
        return f"the names are {', '.join(field.words)}"
    return f"{field.name}s are numbers from {field.low} to {field.high}"


def _range(start: int, end: int) -> str:
    return f"{start}-{end}" if start < end else f"{start}"


def _is_small_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4  # noqa: PLR2004
