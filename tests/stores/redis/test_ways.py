"""Ways to a server: Sentinels, a cluster, TLS, a socket. A server that is not the master is not used."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from socket import SHUT_WR, socketpair

import pytest
from redis import exceptions

from cli.calls import call
from foliot.clock import SystemClock
from foliot.errors import InvalidStoreError, StoreError, StoreUnavailableError
from foliot.model.attempt import Outcome
from foliot.model.state import Node
from foliot.protocols import RunQuery
from foliot.stores.redis import RedisStore
from foliot.stores.redis.address import read_address
from foliot.stores.redis.wire import translated
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import end
from foliot.testing.servers import RedisCluster, RedisServer, redis_cluster, redis_sentinel, redis_server
from foliot.testing.servers.process import MissingServerError, free_port
from foliot.testing.servers.redis import log_in
from stores.redis.playing import again, declare, play, start

pytestmark = pytest.mark.usefixtures("url")  # who has no Redis skips


async def work(store: RedisStore, clock: ManualClock) -> None:
    """Declare, claim, finish, and read what became of it."""
    await store.join(Node("a"))
    await declare(store, clock)
    runs = await start(store, clock)
    endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in runs]
    assert (await store.finish("a", endings, clock.now(), end)).refused == ()
    assert len(await store.runs(RunQuery(is_open=False))) == len(runs) == 5


# -- several servers -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with redis_cluster(3, replicas=1) as found:
        yield found


@pytest.mark.prove
def test_a_cluster_is_asked_which_node_has_the_namespace(cluster: RedisCluster) -> None:
    owners = set()
    for namespace in ("a", "b", "c", "d"):
        play(f"{cluster.url}?namespace={namespace}", work)
        owners.add(cluster.owner(f"{{{namespace}}}").port)
    assert len(owners) > 1, "different nodes have them"


@pytest.mark.prove
def test_a_node_that_does_not_have_the_namespace_says_so(cluster: RedisCluster) -> None:
    wrong = next(one for one in cluster.servers[:3] if one is not cluster.owner("{foliot}"))
    with pytest.raises(StoreUnavailableError) as refused:
        play(wrong.url, work)
    assert "redis+cluster://" in str(refused.value.hint)
    assert wrong.password not in f"{refused.value}{refused.value.details}"


@pytest.mark.prove
def test_a_store_follows_its_slot_to_a_replica_that_takes_over(cluster: RedisCluster) -> None:
    first, replica = cluster.servers[0], cluster.servers[3]
    namespace = next(f"n{n}" for n in range(1000) if cluster.owner(f"{{n{n}}}") is first)

    async def act(store: RedisStore, clock: ManualClock) -> None:
        await store.join(Node("a"))
        await declare(store, clock)
        runs = await start(store, clock)
        asked = asyncio.create_task(fail_over(replica))
        await until(lambda: cluster.owner(f"{{{namespace}}}") is not first)
        asked.cancel()
        assert {run.attempt for run in runs} == set(await again(lambda: store.held("a")))
        assert (await store.health()).regressions == 0

    play(f"{cluster.url}?namespace={namespace}", act)


async def fail_over(replica: RedisServer) -> None:
    """Ask a replica to take over, again and again: a busy server gives it up after five seconds."""
    while True:
        assert await asyncio.to_thread(replica.ask, "CLUSTER", "FAILOVER") == b"+OK\r\n"
        await SystemClock().wait(timedelta(seconds=6))


def by_sentinel(master: RedisServer, sentinel: RedisServer, service: str = "mymaster") -> str:
    """A URL that names a Sentinel which is not there, and one that is."""
    hosts = f"127.0.0.1:1,127.0.0.1:{sentinel.port}"
    return f"redis+sentinel://:{master.password}@{hosts}/{service}?sentinel_password={sentinel.password}"


@pytest.mark.prove
def test_a_store_follows_a_failover_and_what_the_replica_lacked_is_written_again() -> None:
    with redis_server() as master, master.replica() as replica, redis_sentinel(master) as sentinel:

        async def act(store: RedisStore, clock: ManualClock) -> None:
            await store.join(Node("a"))
            await declare(store, clock)
            await until(lambda: b"num-slaves\r\n$1\r\n1" in sentinel.ask("SENTINEL", "MASTERS"))
            replica.ask("CONFIG", "SET", "masterauth", "another")
            master.ask("CLIENT", "KILL", "TYPE", "replica")  # from here on the replica is behind
            runs = await start(store, clock)
            master.stop(immediate=True)
            await until(lambda: b"role:master" in replica.ask("INFO", "replication"))
            assert len(await again(lambda: store.held("a"))) == len(runs) == 5
            assert {run.attempt for run in runs} == set(await store.held("a"))
            assert (await store.health()).regressions == 1

        play(by_sentinel(master, sentinel), act)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for a server, which cuts connections when it becomes a master."""

    def is_so_now() -> bool:
        with suppress(OSError):
            return is_so()
        return False

    async with asyncio.timeout(90):
        while not await asyncio.to_thread(is_so_now):
            pass


@pytest.mark.parametrize(
    ("answers", "error"),
    [([], ConnectionResetError), ([b"-WRONG", b"PASS\r\n"], MissingServerError), ([b"+O", b"K\r\n"], None)],
    ids=["cut", "refused", "in two parts"],
)
def test_a_connection_that_is_cut_is_no_refusal(answers: list[bytes], error: type[Exception] | None) -> None:
    ours, theirs = socketpair()
    with ours, theirs:
        for answer in answers:
            theirs.sendall(answer)
        theirs.shutdown(SHUT_WR)
        with pytest.raises(error) if error else nullcontext():
            log_in(ours, "secret")


def test_what_sentinels_do_not_know_is_told() -> None:
    with redis_server() as master, redis_sentinel(master) as sentinel:
        play(by_sentinel(master, sentinel), work)
        with pytest.raises(StoreUnavailableError, match="know no service 'other'"):
            play(by_sentinel(master, sentinel, "other"), work)
        url = by_sentinel(master, sentinel).partition("?")[0]
        with pytest.raises(StoreUnavailableError, match="Authentication required"):
            play(url, work)


# -- who refuses -----------------------------------------------------------------------------------


def test_a_replica_is_refused_at_the_start_and_when_it_becomes_one() -> None:
    with redis_server() as master, master.replica() as replica:
        listed = call("job", "list", "--store", replica.url)
        assert (listed.code, "takes no writes" in listed.err) == (6, True), listed

        async def act(store: RedisStore, clock: ManualClock) -> None:
            await work(store, clock)
            master.ask("CONFIG", "SET", "replica-serve-stale-data", "yes")
            replica.promote()
            master.follow(replica)
            with pytest.raises(StoreUnavailableError, match=r"takes no writes|Redis says"):
                await declare(store, clock, 9, "r2")
            with pytest.raises(StoreUnavailableError, match="takes no writes"):
                await declare(store, clock, 9, "r2")

        play(master.url, act)


def test_a_server_that_is_kept_busy_is_told_as_such(server: RedisServer) -> None:
    server.ask("CONFIG", "SET", "busy-reply-threshold", "1")
    script = "local n = redis.call('TIME')[1] + 3; while redis.call('TIME')[1] + 0 < n do end"

    async def act(store: RedisStore, clock: ManualClock) -> None:
        await work(store, clock)
        busy = asyncio.ensure_future(asyncio.to_thread(server.ask, "EVAL", script, "0"))
        hint = None
        async with asyncio.timeout(60):
            while hint is None:
                try:
                    await store.renew("a")
                except StoreUnavailableError as error:
                    hint = error.hint
        assert "busy" in hint
        await busy
        await again(lambda: store.renew("a"))

    play(server.url, act)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (exceptions.ReadOnlyError("You can't write against a read only replica."), "replica"),
        (exceptions.MovedError("3999 127.0.0.1:6381"), "redis+cluster"),
        (exceptions.AskError("3999 127.0.0.1:6381"), "moves"),
        (exceptions.BusyLoadingError("Redis is loading the dataset in memory"), "reads its data"),
        (exceptions.ResponseError("BUSY Redis is busy running a script."), "busy"),
        (exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), "maxmemory"),
        (exceptions.ClusterDownError("CLUSTERDOWN The cluster is down"), "not complete"),
        (exceptions.AuthenticationError("Authentication required."), "password"),
        (exceptions.ResponseError("NOREPLICAS Not enough good replicas to write."), "replicas"),
    ],
)
def test_troubles_that_pass_are_told_with_what_helps(error: Exception, words: str) -> None:
    told = translated("claim", error)
    assert isinstance(told, StoreUnavailableError)
    assert words in str(told.hint)


# -- other wires -----------------------------------------------------------------------------------


def test_a_socket_is_a_way(server: RedisServer) -> None:
    play(f"unix://:{server.password}@{server.folder}/socket", work)


def test_tls_needs_a_certificate_that_is_trusted(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "ours.crt"
    facts = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = subprocess.run(  # noqa: S603 - to make a certificate of our own
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key,  # noqa: S607
         "-out", certificate, *facts],
        capture_output=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    key.chmod(0o644)  # the server runs as another user
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o755)
    port = free_port()
    more = {"tls-port": str(port), "tls-cert-file": str(certificate), "tls-key-file": str(key)}
    with redis_server(more={**more, "tls-auth-clients": "no"}) as server:
        url = f"rediss://:{server.password}@127.0.0.1:{port}/0"
        play(f"{url}?ssl_ca_certs={certificate}", work)
        with pytest.raises(StoreUnavailableError, match="certificate verify failed"):
            play(url, work)
        with pytest.raises(StoreError) as refused:  # without TLS, to a port that speaks it
            play(f"redis://:{server.password}@127.0.0.1:{port}/0", work)
        assert server.password not in str(refused.value)


# -- URLs ------------------------------------------------------------------------------------------


def test_hosts_and_services_are_read() -> None:
    found = read_address("rediss+sentinel://u:p%40@one,two:7/my%20service/3?sentinel_password=s")
    assert found.hosts == (("one", 26379), ("two", 7))
    assert (found.way, found.service, found.sentinel) == ("sentinel", "my service", {"password": "s"})
    assert (found.server["username"], found.server["password"], found.server["db"]) == ("u", "p@", 3)
    assert found.server["connection_class"].__name__ == "SSLConnection"
    cluster = read_address("valkey+cluster://one:7000,[::1]:7001?namespace=shop")
    assert cluster.hosts == (("one", 7000), ("::1", 7001))
    assert (cluster.way, cluster.prefix) == ("cluster", "{shop}")


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://:hush@one",
        "redis+sentinel://:hush@one/service/db",
        "redis+sentinel://:hush@/service",
        "redis+sentinel://:hush@one:port/service",
        "redis+cluster://:hush@one/3",
        "redis+cluster://:hush@one?db=3",
        "redis+cluster://:hush@one?sentinel_password=hush",
        "redis+ring://:hush@one",
        "unix+cluster://:hush@one",
        "redis://:hush@one?sentinel_password=hush",
    ],
)
def test_ways_that_cannot_be_are_refused_and_keep_their_secret(url: str) -> None:
    with pytest.raises(InvalidStoreError) as refused:
        read_address(url)
    assert "hush" not in f"{refused.value}{refused.value.details}{refused.value.hint}"
