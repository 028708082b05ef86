"""The durability of a server: its version and settings, read at each connection, and logged once."""

from __future__ import annotations

import logging
from typing import NamedTuple

from redis.exceptions import ResponseError

from foliot.errors import StoreError, StoreUnavailableError
from foliot.stores.redis.address import CLUSTER, SENTINEL, Address
from foliot.stores.redis.wire import Wire

_log = logging.getLogger("foliot")
_OLDEST = {"redis": (7, 0), "valkey": (7, 2)}
_ASKED = ("appendonly", "appendfsync", "maxmemory", "maxmemory-policy", "min-replicas-to-write")
_WAITAOF = (7, 2)
_MASTER = {
    "": "name the master in the URL",
    SENTINEL: "a failover is under way, or the Sentinels are cut off",
    CLUSTER: "a failover is under way",
}
_HOW_TO = "docs/how-to/redis.md tells what each setting promises"


class Server(NamedTuple):
    """A server as it describes itself. A setting that it does not show is `unknown`."""

    name: str
    version: tuple[int, ...]
    role: str
    fsync: str  # always, everysec, no; off: it has no append-only file
    eviction: str
    run_id: str = ""  # of its process
    memory: int | None = None
    guards: int = 0  # min-replicas-to-write: with fewer replicas it takes no writes

    @property
    def version_text(self) -> str:
        """The version, as people write it."""
        return ".".join(map(str, self.version))


def look_at(wire: Wire) -> Server:
    """Read the server's version and settings. A managed server may not show its settings."""
    info = _info(wire)
    name = info.get("server_name", "redis")
    version = info.get("valkey_version") if name == "valkey" else info.get("redis_version")
    settings = _settings(wire)
    has_file = {"yes": True, "no": False}.get(settings.get("appendonly", ""))
    if has_file is None and "aof_enabled" in info:
        has_file = info["aof_enabled"] == "1"
    fsync = settings.get("appendfsync", "unknown") if has_file else "off" if has_file is False else "unknown"
    limit = settings.get("maxmemory") or info.get("maxmemory", "0")
    policy = settings.get("maxmemory-policy") or info.get("maxmemory_policy", "unknown")
    numbers = tuple(int(part) for part in (version or "0").split(".")[:3] if part.isdigit())
    eviction = "noeviction" if limit == "0" else policy
    used = info.get("used_memory", "")
    return Server(
        name,
        numbers,
        info.get("role", "unknown"),
        fsync,
        eviction,
        info.get("run_id", ""),
        int(used) if used.isdigit() else None,
        int(settings.get("min-replicas-to-write", "0")),
    )


def _info(wire: Wire) -> dict[str, str]:
    text: bytes = wire.ask("INFO")
    lines = text.decode(errors="replace").splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))


def _settings(wire: Wire) -> dict[str, str]:
    try:
        flat = wire.ask("CONFIG", "GET", *_ASKED)
    except ResponseError:
        return {}
    words = [word.decode(errors="replace") for word in flat]
    return dict(zip(words[::2], words[1::2], strict=True))


def refuse(server: Server, address: Address) -> None:
    """StoreError if a server cannot be used."""
    oldest = _OLDEST.get(server.name, (7, 0))
    if server.version < oldest:
        needed = ".".join(map(str, oldest))
        raise StoreError(
            f"the server is {server.name} {server.version_text}, which is too old",
            hint=f"{server.name} {needed} or newer",
        )
    if server.role not in ("master", "unknown"):
        reason = f"the server is a {server.role}, and takes no writes"
        raise StoreUnavailableError("connect", reason, hint=_MASTER[address.way])
    _refuse_durable(server, address)
    if server.eviction.startswith("allkeys-") and not address.allows_eviction:
        raise StoreError(
            f"the server throws away any key when its memory is full (maxmemory-policy {server.eviction})",
            details={"eviction": server.eviction},
            hint="CONFIG SET maxmemory-policy noeviction; or ?unsafe=eviction, if jobs may be forgotten",
        )


def _refuse_durable(server: Server, address: Address) -> None:
    if address.aof and server.version < _WAITAOF:
        raise StoreError(
            f"durable=aof needs WAITAOF, which {server.name} {server.version_text} does not know",
            hint="Redis 7.2, Valkey 7.2, or newer",
        )
    if address.aof and server.fsync == "off":
        raise StoreError(
            "durable=aof needs an append-only file, and the server has none", hint="CONFIG SET appendonly yes"
        )


def tell(server: Server, address: Address) -> None:
    """Log once, at the start, which writes a crash would lose."""
    facts = f"server={server.name} version={server.version_text} fsync={server.fsync}"
    if server.guards < address.replicas:
        _log.warning(
            "store_replicas_unguarded %s min_replicas=%d: a server that was cut off goes on writing; "
            "set min-replicas-to-write %d",
            facts,
            server.guards,
            address.replicas,
        )
    if address.aof:
        pass  # each write waits for the file (durable=aof), whatever the setting
    elif server.fsync == "everysec":
        _log.warning(
            "store_loses_seconds %s: if the host fails, the last 2 s are lost; set appendfsync always",
            facts,
        )
    elif server.fsync in ("off", "no"):
        _log.warning(
            "store_not_durable %s: a restart forgets jobs and runs; set appendonly yes. %s", facts, _HOW_TO
        )
    elif server.fsync == "unknown":
        _log.warning("store_durability_unknown %s: the server does not show its settings. %s", facts, _HOW_TO)
    if server.eviction.startswith("allkeys-"):
        _log.warning("store_evicts %s eviction=%s: jobs may be forgotten at any time", facts, server.eviction)
    elif server.eviction.startswith("volatile-"):
        _log.warning(
            "store_evicts %s eviction=%s: answers to claims may be forgotten early", facts, server.eviction
        )
