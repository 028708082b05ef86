"""Several servers of Redis or Valkey that belong together: a cluster, or a master with Sentinels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from foliot.testing.servers.process import free_port
from foliot.testing.servers.redis import RedisServer, redis_server, wait_until

_SLOTS = 16384


class RedisCluster:
    """Servers that share the slots. `url` names all of them, and no database: a cluster has only one."""

    def __init__(self, servers: Sequence[RedisServer]) -> None:
        self.servers = servers
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
        self.url = f"redis+cluster://:{servers[0].password}@{hosts}"

    def owner(self, key: str) -> RedisServer:
        """The server that has a key now."""
        slot = int(self.servers[0].ask("CLUSTER", "KEYSLOT", key)[1:])
        for server in self.servers:
            for line in server.ask("CLUSTER", "NODES").decode().splitlines():
                words = line.split()
                if "myself,master" in line and any(_has(word, slot) for word in words[8:]):
                    return server
        raise LookupError(f"no server has {key}")


def _has(span: str, slot: int) -> bool:
    first, _, last = span.partition("-")
    return first.isdigit() and int(first) <= slot <= int(last or first)


@contextmanager
def redis_cluster(masters: int = 3, kind: str = "redis", *, replicas: int = 0) -> Iterator[RedisCluster]:
    """A cluster of so many masters; the first of them has so many replicas, which can take its place."""
    with ExitStack() as stack:
        first = stack.enter_context(redis_server(kind, more=_cluster_settings()))
        others = [
            stack.enter_context(redis_server(kind, password=first.password, more=_cluster_settings()))
            for _ in range(masters + replicas - 1)
        ]
        servers = [first, *others]
        bounds = [_SLOTS * number // masters for number in range(masters + 1)]
        for server, start, end in zip(servers, bounds, bounds[1:], strict=False):
            server.ask("CLUSTER", "ADDSLOTSRANGE", str(start), str(end - 1))
        for number, server in enumerate(servers, start=1):
            server.ask("CLUSTER", "SET-CONFIG-EPOCH", str(number))
        for server in others:
            first.ask("CLUSTER", "MEET", "127.0.0.1", str(server.port), server.setting("cluster-port"))
        known = f"cluster_known_nodes:{len(servers)}\r".encode()
        wait_until(lambda: all(known in server.ask("CLUSTER", "INFO") for server in servers), "to meet")
        name = first.ask("CLUSTER", "MYID").split(b"\r\n")[1].decode()
        for server in servers[masters:]:
            wait_until(lambda: server.ask("CLUSTER", "REPLICATE", name) == b"+OK\r\n", "to follow")  # noqa: B023 - it is called at once
            wait_until(lambda: b"master_link_status:up" in server.ask("INFO", "replication"), "to follow")  # noqa: B023
        is_ok = b"cluster_state:ok"
        wait_until(lambda: all(is_ok in server.ask("CLUSTER", "INFO") for server in servers), "to agree")
        yield RedisCluster(servers)


def _cluster_settings() -> dict[str, str]:
    # The bus has a port of its own: by default it is 10,000 above the first, where there may be none.
    return {"cluster-enabled": "yes", "cluster-port": str(free_port()), "cluster-node-timeout": "2000"}


@contextmanager
def redis_sentinel(master: RedisServer, service: str = "mymaster") -> Iterator[RedisServer]:
    """One Sentinel that watches over a master and its replicas, and replaces a master that is gone for 1 s.

    `redis+sentinel://:PASSWORD@127.0.0.1:PORT/SERVICE?sentinel_password=…` is the URL of a store there.
    """
    lines = [
        f"sentinel monitor {service} 127.0.0.1 {master.port} 1",
        f"sentinel auth-pass {service} {master.password}",
        f"sentinel down-after-milliseconds {service} 1000",
        f"sentinel failover-timeout {service} 6000",
    ]
    with redis_server(master.kind, fsync="off", sentinel=lines) as sentinel:
        yield sentinel
