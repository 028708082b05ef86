"""Real servers for tests, brought up without containers and without rights of their own.

    from foliot.testing.servers import postgres_server

    with postgres_server() as server:
        store = server.url                 # postgresql://…, for as long as the block lasts

The binaries are those of the system, or else those of a wheel that is installed beside. A server runs in
a temporary directory, as a user without privileges, on a free port of the loopback and with a password of
its own. It waits for the disk as a real one does. It is gone when nobody uses it any more, also if the
tests were killed: a small process watches over it (`guardian`).

`redis_server` is the same for Redis, and for Valkey; `redis_cluster` and `redis_sentinel` are several that
belong together. `mongodb_server` is the same for MongoDB, and `mongodb_set` for a replica set.
`shared_postgres`, `shared_redis` and `shared_mongodb` are one server for all processes of a test session, and
wait for no disk where that can be; a test that stops or pauses its server brings its own. A server that
cannot be had raises MissingServerError, for tests to skip.
"""

from foliot.testing.servers.mongodb import MongoServer, MongoSet, mongodb_server, mongodb_set
from foliot.testing.servers.postgres import PostgresServer, postgres_server
from foliot.testing.servers.process import MissingServerError
from foliot.testing.servers.redis import RedisServer, redis_server
from foliot.testing.servers.redis_group import RedisCluster, redis_cluster, redis_sentinel
from foliot.testing.servers.shared import shared_mongodb, shared_postgres, shared_redis

__all__ = [
    "MissingServerError",
    "MongoServer",
    "MongoSet",
    "PostgresServer",
    "RedisCluster",
    "RedisServer",
    "mongodb_server",
    "mongodb_set",
    "postgres_server",
    "redis_cluster",
    "redis_sentinel",
    "redis_server",
    "shared_mongodb",
    "shared_postgres",
    "shared_redis",
]
