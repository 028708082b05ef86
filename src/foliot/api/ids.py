"""Keys in paths: `ops/backup` is `ops~2Fbackup`.

A server decodes `%2F` before it looks for a route, so a slash would lead elsewhere. An id has `~XX` where a
URL has `%XX`: one spelling for each key, which no proxy and no client changes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote, unquote

_ID = re.compile(r"(?:[A-Za-z0-9_.-]|~[0-9A-F]{2})+", re.ASCII)


@lru_cache(maxsize=4096)  # each link of an answer asks, and each has the same few keys
def id_of(key: str) -> str:
    """The id of a key."""
    if not key.strip("."):  # `..` in a path leads upwards
        return "~2E" * len(key)
    return quote(key, safe="").replace("~", "%7E").replace("%", "~")


def key_of(id_: str) -> str | None:
    """The key of an id; None if no key has that id."""
    if not _ID.fullmatch(id_):
        return None
    try:
        key = unquote(id_.replace("~", "%"), errors="strict")
    except UnicodeDecodeError:
        return None
    return key if id_of(key) == id_ else None
