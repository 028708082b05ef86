"""How much memory a store takes, by purpose. The server estimates it; large keys are sampled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from foliot.stores.redis.asking import text_of
from foliot.stores.redis.session import RedisSession

_PART = 1000
_FAMILIES = {
    "jobs": ("s", "d", "frames", "keys", "gone", "paused", "failing", "busy", "damaged"),
    "due": ("lanes", "w", "hold", "c"),
    "history": ("h", "e", "k", "kx", "ripe"),
    "outputs": ("out", "parts"),
    "versions": ("v", "rev", "rev_at", "status", "revs", "frozen", "applying", "stage"),
    "nodes": ("meta", "seq", "nodes", "until", "dead", "o", "x", "holders", "g", "outages"),
    "alerts": ("alerts", "ax", "aw", "channels"),
}
_FAMILY = {name: family for family, names in _FAMILIES.items() for name in names}
_OTHER = "access"  # tokens, sessions, codes, the audit, pipelines


def sizes(session: RedisSession) -> Mapping[str, int]:
    """Bytes by family, the largest first."""
    found: Counter[str] = Counter()
    prefix = f"{session.shared.prefix}:"
    for keys in _walk(session):
        names = [text_of(key).removeprefix(prefix) for key in keys]
        asked = [("MEMORY", "USAGE", key) for key in keys]
        for name, size in zip(names, session.wire.ask_all(asked), strict=True):
            if isinstance(size, int):  # otherwise the key is gone, or the server does not answer this command
                found[_FAMILY.get(name.partition(":")[0], _OTHER)] += size
    return dict(found.most_common())


def _walk(session: RedisSession) -> Iterator[list[bytes]]:
    """The keys of the namespace. A key that is added meanwhile may be missed, or come twice."""
    cursor = b"0"
    pattern = "".join(f"[{letter}]" if letter in "[]?*^" else letter for letter in session.shared.prefix)
    while True:
        cursor, keys = session.wire.ask("SCAN", cursor, "MATCH", f"{pattern}:*", "COUNT", _PART)
        if keys:
            yield keys
        if cursor == b"0":
            return
