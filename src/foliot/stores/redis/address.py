"""The URL of a store on Redis: the driver's own, with options of ours, and two ways to name several servers.

redis://user:password@host:6379/0?namespace=shop     one server; also rediss, valkey, valkeys, unix
redis+sentinel://:password@one:26379,two/service/0   Sentinels, which know the master of a service
redis+cluster://:password@one:7000,two:7001          some nodes of a cluster, which name the others
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from redis.connection import parse_url

from foliot.errors import InvalidStoreError

DEFAULT_NAMESPACE = "foliot"
SENTINEL, CLUSTER = "sentinel", "cluster"
_SCHEMES = {"redis": "redis", "rediss": "rediss", "unix": "unix", "valkey": "redis", "valkeys": "rediss"}
_PORTS = {SENTINEL: 26379, CLUSTER: 6379}
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_DURABLE = re.compile(r"(aof)|replicas:([1-9][0-9]?)")
_HISTORY = re.compile(r"[1-9][0-9]{0,11}")
_DEFAULT_HISTORY = 2_000_000
_SENTINEL_OPTIONS = frozenset(("sentinel_username", "sentinel_password"))
_OURS = frozenset(("namespace", "unsafe", "durable", "history")) | _SENTINEL_OPTIONS
_ALLOWED = frozenset(
    ("db", "username", "password", "ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")
)
_SPECIAL = "cannot be read: percent-encode the special characters of the password (@ is %40, # is %23)"
_HINT = "redis://user:password@host:6379/0?namespace=foliot"


_parse: Callable[[str], dict[str, Any]] = parse_url  # the driver does not say so


class Address(NamedTuple):
    """Where the server is, as the driver understands it, and the namespace that all keys are in.

    `way`: how the server is found; empty if `server` names it. Otherwise `hosts` are asked, and `sentinel`
    has the login of the Sentinels. `durable`: where a write must be before it counts: in the server's
    append-only file (`aof`), or on `replicas`. `history`: how many ended attempts the store keeps.
    """

    server: dict[str, Any]
    namespace: str
    allows_eviction: bool = False
    way: str = ""
    hosts: tuple[tuple[str, int], ...] = ()
    service: str = ""
    sentinel: dict[str, Any] = {}  # noqa: RUF012 - it is never changed
    aof: bool = False
    replicas: int = 0
    history: int = _DEFAULT_HISTORY

    @property
    def prefix(self) -> str:
        """What all keys begin with. The braces keep them in one slot of a cluster."""
        return f"{{{self.namespace}}}"

    def at(self, host: str, port: int) -> Address:
        """The address of one server that was found."""
        return self._replace(server={**self.server, "host": host, "port": port})


def read_address(url: str) -> Address:
    """The parts of a URL; InvalidStoreError if the URL is invalid."""
    parts = _parts(url)
    if parts is None or parts.fragment or "@" in parts.netloc.rpartition("@")[0]:
        raise InvalidStoreError(url, _SPECIAL, hint=_HINT)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    _check(url, parts, options)
    _, _, way = parts.scheme.partition("+")
    given = {name: value for name, value in options.items() if name not in _OURS}
    found = _of_several(parts, way, given) if way else _of_one(parts, given)
    if found is None:
        raise InvalidStoreError(url, _SPECIAL, hint=_HINT)
    sentinel = {name.removeprefix("sentinel_"): options[name] for name in _SENTINEL_OPTIONS & options.keys()}
    aof, replicas = _durable(options.get("durable"))
    return found._replace(
        namespace=options.get("namespace", DEFAULT_NAMESPACE),
        allows_eviction="unsafe" in options,
        sentinel=sentinel,
        aof=aof,
        replicas=replicas,
        history=int(options.get("history", _DEFAULT_HISTORY)),
    )


def _check(url: str, parts: SplitResult, options: dict[str, str]) -> None:
    """Refuse unknown options, and invalid values."""
    reason = None
    _, _, way = parts.scheme.partition("+")
    known = _ALLOWED | (_OURS if way == SENTINEL else _OURS - _SENTINEL_OPTIONS)
    if unknown := options.keys() - known:
        reason = f"has the unknown option {min(unknown)!r}"
    elif not _NAME.fullmatch(options.get("namespace", DEFAULT_NAMESPACE)):
        reason = "a namespace is named by letters, digits, and any of _ . : -"
    elif options.get("unsafe", "eviction") != "eviction":
        reason = "the only value of unsafe= is eviction"
    elif not _DURABLE.fullmatch(options.get("durable", "aof")):
        reason = "durable= is aof, or replicas:1, or more replicas"
    elif not _HISTORY.fullmatch(options.get("history", "1")):
        reason = "history= is a number of attempts, such as 2000000"
    if reason is not None:
        raise InvalidStoreError(url, reason, hint=_HINT)


def _durable(text: str | None) -> tuple[bool, int]:
    found = _DURABLE.fullmatch(text) if text else None
    return (bool(found[1]), int(found[2] or 0)) if found else (False, 0)


# Errors are raised outside of `except`: the parser's or the driver's error may have the password, and a
# program that shows an error may also show its cause.


def _parts(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None


def _of_one(parts: SplitResult, options: dict[str, str]) -> Address | None:
    server = _server(_SCHEMES.get(parts.scheme, parts.scheme), parts.netloc, parts.path, options)
    return None if server is None else Address(server, DEFAULT_NAMESPACE)


def _of_several(parts: SplitResult, way: str, options: dict[str, str]) -> Address | None:
    """Several hosts: Sentinels of a service, or nodes of a cluster, which has one database only."""
    scheme = _SCHEMES.get(parts.scheme.partition("+")[0])
    login, at, names = parts.netloc.rpartition("@")
    hosts = [_host(name, way) for name in names.split(",")]
    words = [unquote(word) for word in parts.path.strip("/").split("/") if word]
    service = words.pop(0) if way == SENTINEL and words else ""
    if scheme is None or way not in _PORTS or (way == SENTINEL) != bool(service):
        return None
    if None in hosts or (way == CLUSTER and (words or options.get("db", "0") != "0")):
        return None
    server = _server(scheme, f"{login}{at}localhost", "/".join(["", *words]), options)
    if server is None:
        return None
    found = tuple(host for host in hosts if host is not None)
    return Address(server, DEFAULT_NAMESPACE, way=way, hosts=found, service=service)


def _host(name: str, way: str) -> tuple[str, int] | None:
    try:
        parts = urlsplit(f"//{name}")
        return (parts.hostname, parts.port or _PORTS.get(way, 0)) if parts.hostname else None
    except ValueError:
        return None


def _server(scheme: str, netloc: str, path: str, options: dict[str, str]) -> dict[str, Any] | None:
    query = urlencode(options, quote_via=quote)
    try:
        server: dict[str, Any] = _parse(f"{scheme}://{netloc}{path}" + (query and f"?{query}"))
    except (ValueError, TypeError):
        return None
    if scheme != "unix":
        if path.strip("/") and "db" not in server:
            return None  # the driver reads an invalid number as no database
        server.setdefault("host", "localhost")
    elif not server.get("path"):
        return None
    return server
