"""Where a client of the program's is connected to: only that is taken from it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from foliot.doors.beat.errors import BeatError
from foliot.stores.redis.address import Address, read_address

_PREFIX = re.compile(r"[A-Za-z0-9_.:-]{1,64}|\{[A-Za-z0-9_.:-]{1,64}\}")
_CERTIFICATES = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile")
_HINT = "give it a URL, such as redis://user:password@host:6379/0"


def namespace_of(prefix: object) -> str:
    """The store's namespace for a prefix of keys. On a Redis Cluster the prefix is in braces: `{bananas}`."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        raise BeatError(
            f"prefix {prefix!r} must be letters, digits, and any of _ . : -", hint="such as bananas"
        )
    return prefix.strip("{}")


def url_of(client: object, namespace: str) -> str:
    """The URL of the store at the server that a client or a URL names."""
    url = client if isinstance(client, str) else _client_url(client)
    if "namespace=" in urlsplit(url).query:
        raise BeatError("the URL names a namespace", hint="leave it out, and say prefix=")
    return f"{url}{'&' if '?' in url else '?'}namespace={namespace}"


def address_of(client: object) -> Address:
    """The server that a client or a URL names."""
    return read_address(client if isinstance(client, str) else _client_url(client))


def _client_url(client: object) -> str:
    pool = getattr(client, "connection_pool", None)
    facts: Any = getattr(pool, "connection_kwargs", None)
    kind = getattr(getattr(pool, "connection_class", None), "__name__", "")
    if not isinstance(facts, dict) or not ({"host", "path"} & facts.keys()):
        raise BeatError(f"{type(client).__name__} is no Redis client whose address is known", hint=_HINT)
    if facts.get("credential_provider") is not None:
        raise BeatError("the client gets its password from a provider", hint=_HINT)
    options = {name: facts[name] for name in _CERTIFICATES if facts.get(name)}
    user, password = (quote(str(facts.get(name) or ""), safe="") for name in ("username", "password"))
    login = f"{user}:{password}@" if user or password else ""
    if "path" in facts:
        options["db"] = facts.get("db") or 0
        return f"unix://{login}{quote(str(facts['path']))}?{urlencode(options)}"
    host = f"[{facts['host']}]" if ":" in str(facts["host"]) else facts["host"]
    scheme = "rediss" if "SSL" in kind else "redis"
    query = f"?{urlencode(options)}" if options else ""
    return f"{scheme}://{login}{host}:{facts.get('port') or 6379}/{facts.get('db') or 0}{query}"
