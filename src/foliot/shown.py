"""Values as messages show them: on one line, of bounded length, and without a secret."""

from __future__ import annotations

import re
from reprlib import Repr

_SHOWN = 200
_KEPT = 1100
_BRIEF = Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = _SHOWN


def without_password(url: str) -> str:
    """No message carries a secret: who stands before the host, and all options, are left out.

    A password may hold a slash or an at sign that nobody has escaped, and a URL may lack its scheme. Only
    the path of a file is shown as it is.
    """
    scheme, found, rest = url.partition("://") if "://" in url else ("", "", url)
    if scheme == "sqlite" and rest.startswith("/"):
        return url
    before, _, after = rest.rpartition("@")
    shown = "…" if "?" in before else after.partition("?")[0]  # nobody knows whose the at sign is
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
