"""JSON as Foliot stores it: canonical when it is written, bounded when it is read.

Canonical: sorted keys, no spaces, ASCII; equal values give equal texts. Bounded: what is read is at most
256 kB long and 32 levels deep, has no field twice, no number that 64 bits or a float cannot hold, and no
text that a database would refuse (NUL, half a surrogate pair). The same holds for what is written, so
nothing is stored that cannot be read again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain
from json import JSONDecodeError, JSONDecoder, JSONEncoder
from math import isfinite
from types import NoneType
from typing import Any, NoReturn, Self

from foliot.model.damage import Flaw

LONGEST_TEXT = 256 * 1024
DEEPEST = 32
LARGEST = 2**63 - 1
_SHORT = 500
_SIMPLE = frozenset((str, bool, NoneType))
_BAD_CHARACTER = re.compile("[\x00\ud800-\udfff]")


class MisfitError(Exception):
    """A value is not what it should be. Each level it passes puts its own name in front of the path.

    It never leaves the codec: readers make a DamagedRecordError of it, writers an InvalidJobError.
    """

    def __init__(
        self,
        value: object,
        reason: str,
        path: str = "",
        *,
        flaw: Flaw = Flaw.VALUE,
        expected: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.value = value
        self.reason = reason
        self.path = path
        self.flaw = flaw
        self.expected = expected

    @classmethod
    def of_type(cls, value: object, expected: str) -> Self:
        """Something of another type was expected."""
        return cls(value, f"must be {expected}", flaw=Flaw.TYPE, expected=expected)

    @classmethod
    def missing(cls, name: str) -> Self:
        """A field was expected."""
        return cls(None, "is missing", name, flaw=Flaw.MISSING)

    def within(self, name: str) -> Self:
        """The same, seen from one level further out."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        self.path = f"{name}{joint}{self.path}"
        return self


def read_object(text: object) -> dict[str, Any]:
    """Read a JSON object; MisfitError for anything else."""
    if not isinstance(text, str):
        raise MisfitError(text, "must be a text", flaw=Flaw.STRUCTURE)
    if len(text) > LONGEST_TEXT:
        raise MisfitError(text, f"is longer than {LONGEST_TEXT:,} characters", flaw=Flaw.STRUCTURE)
    flat = _read_flat(text) if len(text) <= _SHORT else None
    if flat is not None:
        return flat
    value = read_value(text)
    if not isinstance(value, dict):
        raise MisfitError(value, "must be an object", flaw=Flaw.STRUCTURE)
    return value


def read_value(text: str) -> Any:
    """Read JSON of any kind and length; MisfitError for what is out of the other bounds."""
    try:
        value, end = _DECODER.raw_decode(text) if text[:1] == "{" else (None, -1)
        if end != len(text):  # white space around it, or something else: look more closely
            value = _DECODER.decode(text)
    except JSONDecodeError as error:
        where = f"{error.msg} at character {error.pos + 1}"
        raise MisfitError(text, f"is not JSON: {where}", flaw=Flaw.STRUCTURE) from error
    except RecursionError as error:
        reason = f"is nested more than {DEEPEST} levels deep"
        raise MisfitError(text, reason, flaw=Flaw.STRUCTURE) from error
    if _is_suspect(text):
        check_json(value)
    return value


def _read_flat(text: str) -> dict[str, Any] | None:
    """A short object of texts and whole numbers, without asking about each; None if it is anything else.

    Most payloads are that, and every job of a herd has its own.
    """
    if not text.isascii() or "\\" in text:
        return None
    try:
        value, end = _PLAIN.raw_decode(text)
    except ValueError:
        return None
    if end != len(text) or type(value) is not dict or len(value) != text.count(":"):
        return None  # as many colons as names: so no name is there twice, and nothing is nested
    return value if all(map(_is_simple, value.values())) else None


def read_objects(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Read JSON objects, up to the first that cannot be read."""
    found = _read_flat_ones(texts)
    if found is None:
        found = []
        with suppress(MisfitError):
            found.extend(map(read_object, texts))
    return found


def _read_flat_ones(texts: Sequence[str]) -> list[dict[str, Any]] | None:
    """Short objects as in `_read_flat`, all by one call of the decoder; None if one is anything else.

    Each text begins with `{`, ends with `}`, and has no other of either: so it is an object by itself.
    """
    try:
        joined = ",".join(texts)
        if not joined.isascii() or "\\" in joined or not joined.count("{") == joined.count("}") == len(texts):
            return None
        if not all(text[0] == "{" and text[-1] == "}" and len(text) <= _SHORT for text in texts):
            return None
        values, _ = _PLAIN.raw_decode(f"[{joined}]")
    except (TypeError, ValueError, IndexError):
        return None
    if sum(map(len, values)) != joined.count(":"):
        return None
    return values if all(map(_is_simple, chain.from_iterable(map(dict.values, values)))) else None


def _is_simple(value: object) -> bool:
    """Whether a value is a text, a constant or a whole number that 64 bits hold."""
    return type(value) in _SIMPLE or (type(value) is int and abs(value) <= LARGEST)


def write_json(value: Any) -> str:
    """The canonical text of a value made of JSON's types; MisfitError if it is out of bounds."""
    text = _ENCODER.encode(value)
    if len(text) > LONGEST_TEXT:
        raise MisfitError(text, f"is longer than {LONGEST_TEXT:,} characters")
    if _is_suspect(text):
        check_json(value)
    return text


def write_flat(data: Mapping[str, Any]) -> str | None:
    """The canonical text of an object that is flat; None if it is not, or too long."""
    text = _ENCODER.encode(dict(data)) if is_flat(data) else None
    return None if text is None or len(text) > LONGEST_TEXT else text


def is_flat(data: Mapping[str, Any]) -> bool:
    """Whether nothing in an object is nested or unusual: a quick answer, and a yes is always true."""
    for name, inner in data.items():
        kind = type(inner)
        if type(name) is not str or not _is_usual(name):
            return False
        if kind is str:
            if not _is_usual(inner):
                return False
        elif kind is int:
            if not -LARGEST <= inner <= LARGEST:
                return False
        elif kind is float:
            if not isfinite(inner):
                return False
        elif inner is not None and kind is not bool:
            return False
    return True


def _is_usual(text: str) -> bool:
    return text.isascii() and "\0" not in text


def _is_suspect(text: str) -> bool:
    """Whether the text has one of the signs without which no bad character and no level too many is there."""
    return not text.isascii() or "\\u" in text or text.count("{") + text.count("[") > DEEPEST


def check_json(value: Any, depth: int = 1) -> None:
    """Refuse what does not come back from JSON as it was. A tuple would come back as a list."""
    kind = type(value)
    if kind is not dict and kind is not list:
        _check_scalar(value, kind)
        return
    if depth > DEEPEST:
        raise MisfitError(f"a {kind.__name__}", f"is nested more than {DEEPEST} levels deep")
    for name, inner in value.items() if kind is dict else enumerate(value):
        if kind is dict:
            _check_name(name)
        try:
            check_json(inner, depth + 1)
        except MisfitError as error:
            raise error.within(f"{name}" if kind is dict else f"[{name}]") from None


def _check_name(name: object) -> None:
    if type(name) is not str:
        raise MisfitError(name, "must be a text, to name a field")
    _check_text(name)


def _check_scalar(value: Any, kind: type) -> None:
    if kind is str:
        _check_text(value)
    elif kind is int:
        if abs(value) > LARGEST:
            raise MisfitError(value, "is too large")
    elif kind is float:
        if not isfinite(value):
            raise MisfitError(value, "is not a finite number")
    elif value is not None and kind is not bool:
        raise MisfitError(value, f"a {kind.__name__} does not come back from JSON as it was")


def _check_text(text: str) -> None:
    if _BAD_CHARACTER.search(text):
        raise MisfitError(text, "holds NUL or half a surrogate pair")


def clean_text(text: str) -> str:
    """The text without what no database takes: for messages of others, which must not be refused."""
    return _BAD_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise MisfitError(counts.most_common(1)[0][0], "names two fields of one object")
    return value


def _whole(digits: str) -> int:
    # The length first: reading very many digits takes time that grows with their square.
    if len(digits) > len(str(-LARGEST)) or abs(number := int(digits)) > LARGEST:
        raise MisfitError(digits, "is too large")
    return number


def _number(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise MisfitError(digits, "is too large")
    return number


def _no_constant(name: str) -> NoReturn:
    raise MisfitError(name, "is not a finite number")


_PLAIN = JSONDecoder()
_DECODER = JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole, parse_float=_number, parse_constant=_no_constant
)
_ENCODER = JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False)
