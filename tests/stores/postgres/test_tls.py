"""TLS: the server must prove who it is, if the URL says so."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from foliot.errors import StoreUnavailableError
from foliot.model.state import Node
from foliot.stores.postgres import PostgresStore
from foliot.testing.servers import PostgresServer, postgres_server

_ALTER = "ALTER SYSTEM SET {} = '{}'"


def openssl(folder: Path, *arguments: str) -> None:
    program = shutil.which("openssl") or pytest.skip("there is no openssl here to make certificates")
    subprocess.run([program, *arguments], cwd=folder, check=True, capture_output=True, timeout=30)  # noqa: S603 - the program that was found


def make_authority(folder: Path, name: str) -> None:
    openssl(
        folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.crt",
    )  # fmt: skip


def make_certificate(folder: Path, authority: str) -> None:
    openssl(
        folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr",
    )  # fmt: skip
    (folder / "names").write_text("subjectAltName = DNS:localhost\n")
    openssl(
        folder, "x509", "-req", "-in", "server.csr", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key",
        "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "server.crt",
    )  # fmt: skip


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_authority(folder, "ours")
    make_authority(folder, "theirs")
    make_certificate(folder, "ours")
    return folder


@pytest.fixture(scope="module")
def server(server_url: str, certificates: Path) -> Iterator[PostgresServer]:
    del server_url  # who has none, skips
    with postgres_server() as server:
        data = server._data
        for name in ("server.crt", "server.key"):
            place = data / name
            place.touch(0o600)
            place.write_bytes((certificates / name).read_bytes())
            shutil.chown(place, data.owner(), data.group())
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(_ALTER.format("ssl", "on").encode())
        server.restart()
        with psycopg.connect(server.url) as connection:
            if connection.execute("SHOW ssl").fetchone() != ("on",):
                pytest.skip("this PostgreSQL was built without TLS")
        yield server


def address(server: PostgresServer, host: str, mode: str, authority: Path) -> str:
    place = server.url.replace("127.0.0.1", host)
    return f"{place}?sslmode={mode}&sslrootcert={authority}&schema=tls"


def test_a_store_works_over_tls_with_a_server_that_proves_who_it_is(
    server: PostgresServer, certificates: Path
) -> None:
    async def act() -> None:
        async with PostgresStore(
            address(server, "localhost", "verify-full", certificates / "ours.crt")
        ) as store:
            await store.join(Node("a"))
            with psycopg.connect(server.url) as other:
                rows = other.execute(
                    "SELECT DISTINCT s.ssl FROM pg_stat_ssl AS s JOIN pg_stat_activity AS a USING (pid) "
                    "WHERE a.application_name LIKE 'foliot %'"
                ).fetchall()
            assert rows == [(True,)]
            assert (await store.overview()).nodes == ("a",)

    asyncio.run(act())


@pytest.mark.parametrize(
    ("host", "authority", "words"),
    [
        ("localhost", "theirs.crt", "certificate verify failed"),
        ("127.0.0.1", "ours.crt", "does not match host name"),
        ("localhost", "nobody.crt", "does not exist"),
    ],
    ids=["signed by somebody else", "under another name", "no certificate to check by"],
)
def test_a_server_that_cannot_prove_who_it_is_is_refused(
    server: PostgresServer, certificates: Path, host: str, authority: str, words: str
) -> None:
    url = address(server, host, "verify-full", certificates / authority)
    with pytest.raises(StoreUnavailableError, match=words) as caught:
        asyncio.run(PostgresStore(url).open())
    assert (server.url.partition("@")[0].rpartition(":")[2]) not in str(caught.value)
