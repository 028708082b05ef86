"""The URL of a store on Redis: the driver's own, and two options of ours, `namespace` and `unsafe`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from redis.connection import parse_url

from foliot.errors import InvalidStoreError

DEFAULT_NAMESPACE = "foliot"
_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_OURS = frozenset(("namespace", "unsafe"))
_ALLOWED = frozenset(
    ("db", "username", "password", "ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")
)
_SPECIAL = "cannot be read: percent-encode the special characters of the password (@ is %40, # is %23)"
_HINT = "redis://user:password@host:6379/0?namespace=foliot"


_parse: Callable[[str], dict[str, Any]] = parse_url  # the driver does not say so


class Address(NamedTuple):
    """Where the server is, as the driver understands it, and the namespace that all keys are in."""

    server: dict[str, Any]
    namespace: str
    allows_eviction: bool = False

    @property
    def prefix(self) -> str:
        """What all keys begin with. The braces keep them in one slot of a cluster."""
        return f"{{{self.namespace}}}"


def read_address(url: str) -> Address:
    """The parts of a URL; InvalidStoreError if it has not the right ones."""
    parts = _parts(url)
    if parts is None or parts.fragment or "@" in parts.netloc.rpartition("@")[0]:
        raise InvalidStoreError(url, _SPECIAL, hint=_HINT)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    namespace, unsafe = options.get("namespace", DEFAULT_NAMESPACE), options.get("unsafe")
    if not _NAME.fullmatch(namespace):
        reason = "a namespace is named by letters, digits, and any of _ . : -"
        raise InvalidStoreError(url, reason, hint=_HINT)
    if unsafe not in (None, "eviction"):
        raise InvalidStoreError(url, "unsafe= knows nothing but eviction", hint=_HINT)
    unknown = options.keys() - _OURS - _ALLOWED
    if unknown:
        raise InvalidStoreError(url, f"has the unknown option {min(unknown)!r}", hint=_HINT)
    server = _server(parts, {name: value for name, value in options.items() if name not in _OURS})
    if server is None:
        raise InvalidStoreError(url, _SPECIAL, hint=_HINT)
    return Address(server, namespace, unsafe == "eviction")


# Errors are raised outside of `except`: what the parser or the driver says may hold the password, and a
# program that shows an error may also show what it came from.


def _parts(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None


def _server(parts: SplitResult, options: dict[str, str]) -> dict[str, Any] | None:
    query = urlencode(options, quote_via=quote)
    scheme = _SCHEMES.get(parts.scheme, parts.scheme)
    try:
        server: dict[str, Any] = _parse(f"{scheme}://{parts.netloc}{parts.path}" + (query and f"?{query}"))
    except (ValueError, TypeError):
        return None
    if scheme != "unix":
        if parts.path.strip("/") and "db" not in server:
            return None  # the driver takes what is no number for none
        server.setdefault("host", "localhost")
    elif not server.get("path"):
        return None
    return server
