"""The stores that are tried, one small file each: what starts one, breaks it, and tells what it is.

Loops and harness know a `StoreKind` only; what differs between SQLite, PostgreSQL, Redis and MongoDB is in
its file. A further store is a further file, and a line in `KINDS`.
"""

from foliot_proof.stores.kind import CannotTryError, StoreKind, TriedServer
from foliot_proof.stores.mongodb import MongoDB
from foliot_proof.stores.postgres import Postgres
from foliot_proof.stores.redis import Redis
from foliot_proof.stores.sqlite import Sqlite

__all__ = ["KINDS", "CannotTryError", "StoreKind", "TriedServer", "kind_of"]

KINDS: dict[str, StoreKind] = {
    kind.name: kind
    for kind in (
        Sqlite(),
        Postgres(),
        Redis("redis"),
        Redis("valkey"),
        Redis("redis", fsync="everysec"),
        MongoDB(),
        MongoDB(is_set=True),
    )
}


def kind_of(store: str) -> StoreKind:
    """The kind of a store, by its name in `KINDS` or by its URL; what is unknown counts as a file."""
    scheme = store.partition("://")[0]
    named = KINDS.get(store)
    return named or next((kind for kind in KINDS.values() if scheme in kind.schemes), KINDS["sqlite"])
