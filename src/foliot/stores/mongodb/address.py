"""The URL of a store on MongoDB: the driver's own, and one option of ours, `prefix`."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri

from foliot.errors import InvalidStoreError

DEFAULT_DATABASE = "foliot"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
_PREFIX = re.compile(r"[A-Za-z0-9_.-]{0,32}")
_SPECIAL = "cannot be read: percent-encode the special characters of the password (@ is %40, : is %3A)"
_HINT = "mongodb://user:password@host:27017/foliot?authSource=admin"
# Options with which the store could answer before a write is safe, or read old data.
_FIXED = {"w": "majority", "readpreference": "primary", "readconcernlevel": None, "wtimeoutms": None}
_FIXED |= {"journal": "true", "retrywrites": "true", "timeoutms": None}


class Address(NamedTuple):
    """Where the server is, as the driver understands it; the database, and how its collections begin."""

    url: str
    database: str
    prefix: str


def read_address(url: str) -> Address:
    """The parts of a URL; InvalidStoreError if the URL is invalid. This asks no server."""
    parts = _parts(url)
    if parts is None or parts.fragment or not parts.netloc or "@" in parts.netloc.rpartition("@")[0]:
        raise InvalidStoreError(url, _SPECIAL, hint=_HINT)
    options = parse_qsl(parts.query, keep_blank_values=True)
    prefix = next((value for name, value in options if name == "prefix"), "")
    database = parts.path.strip("/") or DEFAULT_DATABASE
    if not _NAME.fullmatch(database):
        reason = "a database is named by letters, digits, and any of _ -"
        raise InvalidStoreError(url, reason, hint=_HINT)
    if not _PREFIX.fullmatch(prefix):
        reason = "a prefix is made of letters, digits, and any of _ . -"
        raise InvalidStoreError(url, reason, hint=_HINT)
    kept = [(name, value) for name, value in options if name != "prefix"]
    _refuse_weaker(url, kept)
    query = urlencode(kept, quote_via=quote)
    server = f"{parts.scheme}://{parts.netloc}/{database}" + (query and f"?{query}")
    # The driver looks for the user in the URL's database. The default database of the store has no users.
    if not parts.path.strip("/"):
        server = f"{parts.scheme}://{parts.netloc}/" + (query and f"?{query}")
    if not _is_readable(server):
        raise InvalidStoreError(url, _SPECIAL, hint=_HINT)
    return Address(server, database, prefix)


def _refuse_weaker(url: str, options: list[tuple[str, str]]) -> None:
    for name, value in options:
        fixed = _FIXED.get(name.lower(), value)
        if fixed is None or value.lower() != fixed.lower():
            rule = f"must be {fixed}" if fixed else "is set by the store itself"
            raise InvalidStoreError(url, f"{name} {rule}: leave it out", hint=_HINT)


# Errors are raised outside of `except`: the parser's or the driver's error may have the password, and a
# program that shows an error may also show its cause.


def _parts(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None


def _is_readable(server: str) -> bool:
    if server.startswith("mongodb+srv://"):
        return True  # the driver would ask a name server
    try:
        parse_uri(server, validate=True, warn=False)
    except (PyMongoError, ValueError, TypeError):
        return False
    return True
