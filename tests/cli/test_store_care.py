"""`foliot store backup | prune | copy`: a store in safe keeping, smaller, or elsewhere."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import stat
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from cli.calls import call
from cli.shop import LEASE, Shop
from foliot import Foliot
from foliot.clock import SystemClock
from foliot.model.attempt import Attempt
from foliot.protocols import JobQuery, RunQuery
from foliot.stores.sqlite import SqliteStore

USE = "use foliot store backup"
LONG_AGO = timedelta(days=40)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# -- backup ----------------------------------------------------------------------------------------


def test_a_backup_is_a_store_that_only_its_owner_can_read(shop: Shop, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    made = shop.call("store", "backup", str(target))
    assert (made.code, made.err) == (0, "")
    assert made.out.startswith(f"ok: {target} has the whole store, ")
    assert mode_of(target) == 0o600
    for words in (("job", "list"), ("run", "list"), ("job", "show", "billing/report"), ("source", "list")):
        assert call(*words, "--store", f"sqlite:///{target}") == shop.call(*words)
    assert call("store", "check", "--store", f"sqlite:///{target}").code == 0
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_a_backup_never_replaces_a_file(shop: Shop, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    target.write_text("precious")
    refused = shop.call("store", "backup", str(target))
    assert (refused.code, refused.out) == (1, "")
    assert "is there already, and is left as it is" in refused.err
    assert target.read_text() == "precious"


@pytest.mark.parametrize(
    ("url", "words"),
    [("sqlite:////nowhere/jobs.db", "there is no file"), ("memory://", "cannot be reached from another")],
)
def test_what_is_no_file_is_not_backed_up(tmp_path: Path, url: str, words: str) -> None:
    refused = call("store", "backup", str(tmp_path / "x.db"), "--store", url)
    assert refused.code in (1, 3, 6)
    assert words in refused.err or "memory" in refused.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_told(shop: Shop, tmp_path: Path) -> None:
    refused = shop.call("store", "backup", str(tmp_path / "none" / "x.db"))
    assert (refused.code, "is no folder in which a file can be created" in refused.err) == (1, True)


def test_a_copy_made_with_cp_is_told_for_what_it_is(shop: Shop, tmp_path: Path) -> None:
    """All that a young store has is in its write-ahead log."""
    young, copy = tmp_path / "young.db", tmp_path / "copy.db"

    async def scene() -> None:
        async with SqliteStore(young, shop.clock, lease=LEASE):
            shutil.copy(young, copy)

    asyncio.run(scene())
    result = call("job", "list", "--store", f"sqlite:///{copy}")
    assert result.code == 1
    assert result.err.splitlines() == [
        "error: the store is empty: it has no tables",
        f"hint: is it a copy made with cp? Jobs may be in a file -wal beside the original: {USE}",
    ]


@pytest.mark.req("OWN-19")
def test_a_backup_made_while_nodes_work_is_one_moment_of_the_store(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    app = Foliot(url, name="busy")

    async def work() -> None: ...

    for number in range(20):
        app.job("@every 1s", name=f"job-{number}", overlap="parallel")(work)

    async def scene() -> list[Path]:
        async with app:
            made: list[Path] = []
            while len(made) < 4:
                for number in range(20):
                    await app.trigger(f"job-{number}")
                target = tmp_path / f"backup-{len(made)}.db"
                result = await asyncio.to_thread(call, "store", "backup", str(target), "--store", url)
                assert result.code == 0, result.err
                made.append(target)
            return made

    made = asyncio.run(scene())
    assert {call("store", "check", "--store", f"sqlite:///{path}").code for path in made} == {0}
    sizes = [asyncio.run(_count_runs(path)) for path in made]
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0] > 0


async def _count_runs(path: Path) -> int:
    """How many runs a backup has, after all that must agree in it does."""
    async with SqliteStore(path, SystemClock(), lease=LEASE) as store:
        attempts: dict[str, list[Attempt]] = {}
        for attempt in await store.runs(RunQuery(limit=100_000)):
            attempts.setdefault(attempt.job, []).append(attempt)
        for view in await store.jobs(JobQuery(limit=100)):
            assert view.record is not None
            runs = attempts.get(view.key, [])
            started = [attempt for attempt in runs if attempt.token]
            assert view.record.state.fired_count == len(started)
            assert set(view.record.attempts) == {attempt for attempt in runs if attempt.is_open}
            assert view.record.state.token >= max([attempt.token for attempt in started], default=0)
        return sum(map(len, attempts.values()))


# -- prune -----------------------------------------------------------------------------------------


def test_prune_tells_before_and_then_forgets(shop: Shop) -> None:
    before = shop.call("store", "prune", "--dry-run").out
    assert before.startswith("ok: no job has more history than it keeps\n")
    shop.wait(LONG_AGO)
    told = shop.call("store", "prune", "--dry-run").out
    assert told.splitlines()[:4] == [
        "JOB              ATTEMPTS  SKIPS",
        "billing/refresh  1         0",
        "billing/report   1         0",
        "note: 2 attempts and skips of 2 job(s) are more than their jobs keep",
    ]
    count = len(shop.call("run", "list", "-ojson").json()["attempts"])
    done = shop.call("store", "prune", "-ojson").json()
    assert done["forgotten"] == 2
    assert len(shop.call("run", "list", "-ojson").json()["attempts"]) == count - done["forgotten"]
    assert shop.call("store", "prune").out.startswith("ok: 0 attempts and skips are forgotten\nthe file has ")


def test_free_space_is_given_back_when_no_node_works(shop: Shop) -> None:
    with closing(sqlite3.connect(shop.path)) as connection:
        connection.execute("CREATE TABLE big (text)")
        connection.execute("INSERT INTO big VALUES (zeroblob(3000000))")
        connection.commit()
        connection.execute("DROP TABLE big")
        connection.commit()
    kept = shop.call("store", "prune")
    assert "note: a node works on the store, so that the file keeps its free space" in kept.out
    shop.wait(timedelta(minutes=5))
    before = shop.path.stat().st_size
    given = shop.call("store", "prune")
    assert "ok: 3.0 MB are given back to the disk" in given.out
    assert shop.path.stat().st_size < before - 2_900_000
    assert shop.call("store", "check").code in (0, 9)


# -- copy ------------------------------------------------------------------------------------------


def test_a_store_is_copied_and_compared(shop: Shop, tmp_path: Path) -> None:
    target = f"sqlite:///{tmp_path}/new.db"
    refused = call("store", "copy", shop.url, target)
    assert (refused.code, "a node works on the store: n1 (web-1, process 4711)" in refused.err) == (1, True)
    shop.wait(timedelta(minutes=5))
    made = call("store", "copy", shop.url, target)
    assert (made.code, made.err) == (0, "")
    assert made.out.startswith("ok: copied and compared: ")
    assert "5 jobs" in made.out
    assert call("job", "versions", "billing/report", "--store", target) == shop.call(
        "job", "versions", "billing/report"
    )
    again = call("store", "copy", shop.url, target, "-ojson")
    assert (again.code, "is not empty" in again.json()["error"]["message"]) == (1, True)
    same = call("store", "copy", shop.url, shop.url)
    assert (same.code, "both stores are the same" in same.err) == (1, True)
