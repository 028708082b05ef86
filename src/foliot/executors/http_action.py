"""The data of an action of the kind `http`: which request a job sends, and which answers count as success.

    {"url": "https://shop.example/index", "method": "POST", "body": {"full": true}, "secret": "env:SHOP"}

It is checked where a job is written, and once more when it runs: another program may have written it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from foliot.errors import InvalidChannelError, InvalidDurationError, InvalidJobError
from foliot.model.frozen import thaw
from foliot.model.job import Action
from foliot.model.version import API_SOURCE
from foliot.network.errors import InvalidUrlError
from foliot.network.secrets import OF_THE_API, Secret
from foliot.network.url import Url
from foliot.schedules.duration import parse_duration

KIND = "http"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
LONGEST_OUTPUT = 64 * 1024  # bytes
LONGEST_BODY = 256 * 1024
_LONGEST_TIMEOUT = timedelta(days=1)
_MOST_HEADERS, _LONGEST_HEADER = 50, 4096
_USUAL_TIMEOUT = timedelta(seconds=30)
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)
_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?|", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,9})([kK]?)", re.ASCII)
_CLASS = re.compile(r"[1-5]xx", re.ASCII)
_LOWEST, _HIGHEST = 100, 599  # statuses
# What the connection itself says, and what every request of Foliot says of its run.
_TAKEN = re.compile(
    r"host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|proxy-.*"
    r"|idempotency-key|foliot-.*|webhook-.*",
    re.IGNORECASE,
)
_SUCCESS = ((200, 299),)


class HttpCall(NamedTuple):
    """A request, and what is made of its answer.

    `method`: None stands for POST if there is a body, and for GET if there is none. `expect`: ranges of
    statuses that count as success. `timeout`: for all of it, redirects included. `max_output`: bytes of the
    answer's body that are kept.
    """

    url: Url
    method: str | None = None
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    body_type: str = ""
    secret: Secret | None = None
    expect: tuple[tuple[int, int], ...] = _SUCCESS
    timeout: timedelta = _USUAL_TIMEOUT
    follow: bool = False
    max_output: int = LONGEST_OUTPUT

    def expects(self, status: int) -> bool:
        """Whether an answer with that status is a success."""
        return any(first <= status <= last for first, last in self.expect)


def check_action(action: Action, source: str | None) -> None:
    """Refuse what could never be sent for a job of a source; None: of this program. InvalidJobError."""
    read_call(action.kind, action.data, source)


def read_call(kind: str, data: Mapping[str, Any], source: str | None = None) -> HttpCall:
    """Read the action of a job of a source. InvalidJobError if it cannot be right."""
    if kind != KIND:
        raise InvalidJobError(
            "action", kind, "is no kind of action", hint=f"write {KIND}, and the method apart"
        )
    for name in data:
        if name not in _READERS:
            raise InvalidJobError(f"action.data.{name}", data[name], "is not known", hint=f"one of: {_KNOWN}")
    if data.get("url") is None:
        raise InvalidJobError("action.data.url", None, "is missing", hint="such as https://example.org/hook")
    read = {name: _READERS[name](value) for name, value in data.items() if value is not None}
    body, body_type = read.pop("body", (None, ""))
    secret = read.get("secret")
    if source == API_SOURCE and secret is not None and not secret.is_of_the_api:
        hint = f"the operator names what they may use: env:{OF_THE_API}SHOP or credential:{OF_THE_API}SHOP"
        raise _refuse("secret", secret.reference, "is not for jobs of the API", hint)
    return HttpCall(**read, body=body, body_type=body_type)


def _refuse(name: str, value: object, reason: str, hint: str | None = None) -> InvalidJobError:
    return InvalidJobError(f"action.data.{name}", value, reason, hint=hint)


def _url(text: object) -> Url:
    try:
        return Url.read(_text("url", text), allow_http=True)
    except InvalidUrlError as error:
        raise _refuse("url", error.details["url"], error.reason, error.hint) from None


def _method(text: object) -> str:
    method = _text("method", text).upper()
    if method not in METHODS:
        raise _refuse("method", text, "is not known", f"one of: {', '.join(METHODS)}")
    return method


def _headers(given: object) -> Mapping[str, str]:
    if not isinstance(given, Mapping) or len(given) > _MOST_HEADERS:
        raise _refuse("headers", given, f"must be at most {_MOST_HEADERS} texts by name")
    for name, value in given.items():
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise _refuse("headers", name, "is no name of a header")
        if _TAKEN.fullmatch(name):
            raise _refuse(f"headers.{name}", "***", "is set by Foliot itself", "leave it out")
        is_text = isinstance(value, str) and len(value) <= _LONGEST_HEADER
        if not is_text or not _VALUE.fullmatch(value):  # its text may be a secret
            raise _refuse(f"headers.{name}", "***", "must be a short text of printable ASCII characters")
    return dict(given)


def _body(given: object) -> tuple[bytes, str]:
    """A text is sent as it is, all else as JSON."""
    if isinstance(given, str):
        body, body_type = given.encode(), "text/plain; charset=utf-8"
    else:
        text = json.dumps(thaw(given), ensure_ascii=False, separators=(",", ":"))
        body, body_type = text.encode(), "application/json"
    if len(body) > LONGEST_BODY:
        raise _refuse("body", f"{len(body):,} bytes", f"is longer than {LONGEST_BODY:,} bytes")
    return body, body_type


def _secret(text: object) -> Secret:
    try:
        return Secret.read(text, "secret")
    except InvalidChannelError as error:
        raise _refuse("secret", error.details["value"], error.details["reason"], error.hint) from None


def _expect(given: object) -> tuple[tuple[int, int], ...]:
    hint = 'such as 200, "2xx", or several: [200, "3xx"]'
    several = given if isinstance(given, list | tuple) else [given]
    if not several:
        raise _refuse("expect", given, "names no status", hint)
    ranges = []
    for one in several:
        if isinstance(one, str) and _CLASS.fullmatch(one):
            first = int(one[0]) * 100
            ranges.append((first, first + 99))
        elif type(one) is int and _LOWEST <= one <= _HIGHEST:
            ranges.append((one, one))
        else:
            raise _refuse("expect", one, "is no status", hint)
    return tuple(ranges)


def _timeout(text: object) -> timedelta:
    try:
        duration = parse_duration(_text("timeout", text))
    except InvalidDurationError as error:
        raise _refuse("timeout", text, error.details["reason"], error.hint) from None
    if not timedelta(0) < duration <= _LONGEST_TIMEOUT:
        raise _refuse("timeout", text, "must lie between nothing and a day", 'such as "30s"')
    return duration


def _follow(given: object) -> bool:
    if not isinstance(given, bool):
        raise _refuse("follow", given, "must be true or false")
    return given


def _max_output(given: object) -> int:
    found = _SIZE.fullmatch(given) if isinstance(given, str) else None
    size = given if type(given) is int else -1
    if found:
        size = int(found[1]) * (1024 if found[2] else 1)
    if not 0 <= size <= LONGEST_OUTPUT:
        raise _refuse(
            "max_output", given, f"must be a number of bytes, at most {LONGEST_OUTPUT}", 'such as "16k"'
        )
    return size


def _text(name: str, given: object) -> str:
    if not isinstance(given, str):
        raise _refuse(name, given, "must be a text")
    return given


_READERS: dict[str, Callable[[object], Any]] = {
    "url": _url,
    "method": _method,
    "headers": _headers,
    "body": _body,
    "secret": _secret,
    "expect": _expect,
    "timeout": _timeout,
    "follow": _follow,
    "max_output": _max_output,
}
_KNOWN = ", ".join(_READERS)
