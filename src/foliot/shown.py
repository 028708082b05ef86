"""Values as people read them: on one line, of bounded length, without a secret; and times in words."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import pairwise
from reprlib import Repr

_SHOWN = 200
_KEPT = 1100
_SECOND = timedelta(seconds=1)
_NOTHING = timedelta(0)
_THOUSAND = 1000
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_BRIEF = Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = _SHOWN


def without_password(url: str) -> str:
    """The URL without secrets: without user and password, and without options.

    A password may have a slash or an at sign that is not escaped, and a URL may lack its scheme. Only the
    path of a file is shown as it is.
    """
    scheme, found, rest = url.partition("://") if "://" in url else ("", "", url)
    if scheme == "sqlite" and rest.startswith("/"):
        return url
    before, _, after = rest.rpartition("@")
    shown = "…" if "?" in before else after.partition("?")[0]  # the @ may be a part of the query
    return f"{scheme}{found}{shown}"


def host_only(url: str) -> str:
    """Where a web address leads, and no more: its path and its query are often a secret."""
    scheme, found, rest = url.partition("://") if "://" in url else ("", "", url)
    before, *more = re.split(r"[/?#\\]", rest, maxsplit=1)
    return f"{scheme}{found}{before.rpartition('@')[2]}{'/…' if more else ''}"


def shorten(value: object) -> str:
    """The value on one line of bounded length: an error must not carry megabytes or control codes."""
    text = _text_of(value)
    if len(text) > _SHOWN:
        text = text[:_SHOWN] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _text_of(value: object) -> str:
    if isinstance(value, str):
        return value[: _SHOWN + 1]
    if isinstance(value, bytes | bytearray):
        return repr(value[:_SHOWN])
    try:
        return _BRIEF.repr(value)
    except Exception:  # noqa: BLE001 - a value that cannot even be shown must not hide the error
        return f"<{type(value).__name__}>"


def keep_short(value: object) -> object:
    """The value as an error's details hold it: a text is cut."""
    return value[:_KEPT] if isinstance(value, str) else value


def in_words(wait: timedelta) -> str:
    """A wait as a person tells it: `in 2 h 5 min`. A second that has begun counts in full."""
    seconds = -(-wait // _SECOND)
    for (unit, size), (smaller_unit, smaller_size) in pairwise(_UNITS):
        if seconds >= size:
            count, rest = divmod(seconds, size)
            smaller = rest // smaller_size
            return f"in {count} {unit}" + (f" {smaller} {smaller_unit}" if smaller else "")
    return f"in {seconds} s"


def relative(instant: datetime | None, now: datetime) -> str:
    """`in 5 min`, `3 h 2 min ago`, `now`; nothing for no instant."""
    if instant is None:
        return ""
    if instant > now:
        return in_words(instant - now)
    passed = (now - instant) // _SECOND * _SECOND
    return f"{in_words(passed).removeprefix('in ')} ago" if passed else "now"


def span(duration: timedelta | None) -> str:
    """How long something took, or how late it was: `12 ms`, `3.4 s`, `2 min 5 s`."""
    if duration is None:
        return ""
    if duration < _SECOND:
        return f"{max(duration, _NOTHING) / _SECOND * _THOUSAND:.0f} ms"
    if duration < 10 * _SECOND:
        return f"{duration / _SECOND:.1f} s"
    return in_words(duration // _SECOND * _SECOND).removeprefix("in ")
