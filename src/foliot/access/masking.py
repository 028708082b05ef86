"""Values and texts without secrets: before they are shown in an answer, or written into the audit.

What a name calls a secret is masked whole. In other texts, what looks like one is: tokens of Foliot,
passwords in URLs, credentials of HTTP, and `NAME=value` or `--name value` with a name that says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"
# A long word may be anywhere in a name: `PGPASSWORD`, `accessToken`. A short one is a word of the name:
# `db_pass`, and not `compass`.
_SECRET_NAME = re.compile(
    r"password|passwd|passphrase|passcode|secret|credential|token|authorization"
    r"|(?:api|private|access|signing|encryption|master)[-_.]?key"
    r"|(?:^|[-_.])(?:pass|pwd|auth|creds?|cookies?|signature|dsn|webhook(?:[-_.]?url)?)(?:$|[-_.])",
    re.IGNORECASE,
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FOLIOT_TOKEN = re.compile(r"(flt_[a-z0-9]{10}_)[A-Za-z0-9_-]{43}", re.ASCII)
_IN_URL = re.compile(r"([a-z][a-z0-9+.-]{0,30}://)[^\s/@'\"]*@", re.IGNORECASE)
_HTTP = re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_ONE = r"(\"[^\"]*\"|'[^']*'|[^\s,;&|\"']+)"
_AFTER_NAME = re.compile(rf"[\"']?\s*[=:]\s*{_ONE}")
_AFTER_OPTION = re.compile(rf"(?:=|\s+){_ONE}")


def is_secret_name(name: str) -> bool:
    """Whether a name says that its value is a secret."""
    return bool(_SECRET_NAME.search(_HUMP.sub("_", name)))


def mask_value(value: Any) -> Any:
    """A value of JSON without secrets, at any depth."""
    if isinstance(value, str):
        return mask_text(value)
    if isinstance(value, Mapping):
        return {
            name: MASK if is_secret_name(str(name)) and inner not in (None, "") else mask_value(inner)
            for name, inner in value.items()
        }
    return [mask_value(inner) for inner in value] if isinstance(value, list | tuple) else value


def mask_text(text: str) -> str:
    """A text without what looks like a secret."""
    text = _FOLIOT_TOKEN.sub(rf"\1{MASK}", text)
    text = _IN_URL.sub(rf"\1{MASK}@", text)
    text = _HTTP.sub(rf"\1 {MASK}", text)
    return _without_given(text)


def _without_given(text: str) -> str:
    """The text without the values of names that say so."""
    shown: list[str] = []
    done = 0
    for name in _NAME.finditer(text):
        if name.start() < done or not is_secret_name(name[0]):
            continue
        after = _AFTER_OPTION if name[0].startswith("-") else _AFTER_NAME
        if value := after.match(text, name.end()):
            shown += text[done : value.start(1)], MASK
            done = value.end(1)
    return "".join(shown) + text[done:]
