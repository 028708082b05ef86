"""A store's URL becomes a store: by one table, and by what the package of a store offers."""

from __future__ import annotations

import asyncio
import tomllib
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest

from foliot import wiring
from foliot.clock import SystemClock
from foliot.errors import InvalidPolicyError, InvalidStoreError
from foliot.executors.place import ExecutorPlace
from foliot.stores import memory, mongodb, postgres, redis, sqlite

ROOT = Path(__file__).parent.parent
MODULES: dict[str, wiring.StoreModule] = {
    "memory": memory,
    "sqlite": sqlite,
    "postgres": postgres,
    "redis": redis,
    "mongodb": mongodb,
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_table_names_every_store() -> None:
    assert {name for name, _ in wiring._STORES.values()} == set(MODULES)
    packages = {folder.parent.name for folder in (ROOT / "src/foliot/stores").glob("*/__init__.py")}
    assert packages == {*MODULES, "sql", "optimistic"}


REDIS = ("redis://u:p@h:1/2", "rediss://h", "unix:///run/redis.sock", "valkey://h?namespace=shop")

MONGODB = (
    "mongodb://h",
    "mongodb://u:p@h1:1,h2:2/jobs?replicaSet=rs0&authSource=admin&prefix=shop.",
    "mongodb+srv://u:p@cluster.example/jobs",
    "mongodb://h/?w=majority&readPreference=primary&journal=true",
)


@pytest.mark.parametrize(
    "url", ["sqlite:///jobs.db", "postgresql://u:p@h/d", "postgres://u:p@h/d", "memory://", *REDIS, *MONGODB]
)
def test_a_right_url_is_not_refused(url: str) -> None:
    wiring.check_url(url)


WRONG = (
    "sqlite://jobs.db",
    "postgresql://h/d?schema=A",
    "mysql://h/d",
    "redis://h/d",
    "mongodb://h/?w=1",
    "jobs.db",
)


@pytest.mark.parametrize("url", WRONG)
def test_a_wrong_url_is_refused_before_anything_is_opened(url: str) -> None:
    for ask in (wiring.check_url, wiring.schema_of, wiring.flaws_of):
        with pytest.raises(InvalidStoreError):
            ask(url)


def test_an_unknown_scheme_is_told_every_known_one() -> None:
    with pytest.raises(InvalidStoreError) as refused:
        wiring.check_url("mysql://h/d")
    assert all(f"{scheme}:" in str(refused.value.hint) for scheme in wiring._STORES)


def test_no_other_process_can_look_into_a_store_in_memory() -> None:
    for ask in (wiring.schema_of, wiring.flaws_of):
        with pytest.raises(InvalidStoreError, match="one process"):
            ask("memory://")


def test_a_driver_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_driver(name: str) -> object:
        if name == "foliot.stores.postgres":
            raise ImportError(name="psycopg")
        return import_module(name)

    monkeypatch.setattr(wiring, "import_module", without_driver)
    for ask in (wiring.check_url, wiring.schema_of, wiring.flaws_of):
        with pytest.raises(InvalidStoreError, match="psycopg") as refused:
            ask("postgresql://u:secret@h/d")
        assert refused.value.hint == "pip install 'foliot[postgres]'"
        assert "secret" not in str(refused.value)
    assert "postgres" in PROJECT["optional-dependencies"]
    wiring.check_url("sqlite:///jobs.db")


def test_each_executor_of_the_table_is_made_by_its_module_and_its_prefix_is_taken() -> None:
    loop = asyncio.new_event_loop()
    place = ExecutorPlace(SystemClock(), timedelta(seconds=30), loop, {})
    for prefix, make in wiring.built_in_executors().items():
        assert wiring.is_executor(make(place))
        with pytest.raises(InvalidPolicyError, match="built in"):
            wiring.check_executors({prefix: make})
    loop.close()
