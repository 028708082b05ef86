"""The URL of a store on PostgreSQL: the driver's own, and one option of ours: `?schema=NAME`."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from psycopg import Error
from psycopg.conninfo import conninfo_to_dict

from foliot.errors import InvalidStoreError

DEFAULT_SCHEMA = "foliot"
_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,39}")
_SPECIAL = "cannot be read: percent-encode the special characters of the password (@ is %40, # is %23)"
_UNKNOWN = "cannot be read: is a special character in it not percent-encoded, or an option unknown?"
_HINT = "postgresql://user:password@host:5432/database?schema=foliot"


class Address(NamedTuple):
    """Where the server is, as the driver understands it, and the schema that the tables are in."""

    server: str
    schema: str


def read_address(url: str) -> Address:
    """The parts of a URL; InvalidStoreError if it has not the right ones."""
    parts = _parts(url)
    if parts is None or _is_torn(parts):
        raise InvalidStoreError(url, _SPECIAL, hint=_HINT)
    options = parse_qsl(parts.query, keep_blank_values=True)
    named = [value for name, value in options if name == "schema"]
    schema = named[-1] if named else DEFAULT_SCHEMA
    if not _NAME.fullmatch(schema):
        reason = "a schema is named by lower-case letters, digits and underscores"
        raise InvalidStoreError(url, reason, hint=_HINT)
    others = urlencode([(name, value) for name, value in options if name != "schema"], quote_via=quote)
    server = f"postgresql://{parts.netloc}{parts.path}" + (f"?{others}" if others else "")
    if not _is_known_to_the_driver(server):
        raise InvalidStoreError(url, _UNKNOWN, hint=_HINT)
    return Address(server, schema)


# Errors are raised outside of `except`: the parser's message may contain the password, and a traceback
# would show it as the cause.


def _parts(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None


def _is_torn(parts: SplitResult) -> bool:
    """Whether an unescaped special character of the password has broken the URL into wrong parts."""
    rest = parts.netloc.rpartition("@")[0] if "@" in parts.netloc else parts.path
    return "@" in rest or bool(parts.fragment)


def _is_known_to_the_driver(server: str) -> bool:
    try:
        conninfo_to_dict(server)
    except Error:
        return False
    return True
