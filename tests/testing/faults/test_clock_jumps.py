"""R7: the machine's clock is set by an hour, back and forth, under a program that runs (libfaketime)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from testing.faults.stage import staged

HOUR = 3600
CHECK = "import time; a = time.monotonic(); time.sleep(0.01); assert time.time() > 0 and time.monotonic() > a"


def _library() -> str | None:
    """Debian 12's own build makes `time.sleep` fail; that of the package on PyPI works."""
    spec = find_spec("libfaketime")
    folders = spec.submodule_search_locations or [] if spec else []
    found = [str(path) for folder in folders for path in Path(folder).rglob("libfaketime.so.1")]
    found += [os.environ["FOLIOT_LIBFAKETIME"]] if "FOLIOT_LIBFAKETIME" in os.environ else []
    return next((path for path in found if _works(path)), None)


def _environment(library: str, file: Path) -> dict[str, str]:
    return {
        "LD_PRELOAD": library,
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def _works(library: str) -> bool:
    environment = _environment(library, Path("/nonexistent"))
    return subprocess.run([sys.executable, "-c", CHECK], env=environment, check=False).returncode == 0  # noqa: S603 - our own line


@pytest.fixture
def library() -> str:
    found = _library()
    if found is None:
        pytest.skip("no libfaketime that works: pip install libfaketime, or set FOLIOT_LIBFAKETIME")
    return found


def test_an_hour_back_and_forth(library: str, tmp_path: Path) -> None:
    file = tmp_path / "time"
    file.write_text("+0")

    async def act() -> None:
        async with staged(tmp_path / "store.db", tmp_path, _environment(library, file)) as stage:

            def starts() -> Counter[str]:
                return Counter(note.facts["job"] for note in stage.notes("start"))

            await stage.start()
            await stage.until(lambda: starts()["app/tick"] > 2, 10)
            file.write_text(f"-{HOUR}")
            await stage.wait(2.5)
            before = starts()
            await stage.wait(2)
            assert starts()["app/tick"] == before["app/tick"], "an hour back: all of it was served already"
            file.write_text("+0")
            await stage.until(lambda: starts()["app/tick"] > before["app/tick"] + 1, 5)
            before = starts()
            file.write_text(f"+{HOUR}")
            await stage.until(lambda: starts()["app/tick"] > before["app/tick"] + 2, 8)
            await stage.wait(3)
            caught_up = starts()["app/tick"] - before["app/tick"]
            assert caught_up < 10, "an hour forth: 3600 were missed, and one run stands for them"
            await stage.stop()
            _, history = await stage.judge()
            seen = Counter((line.run_key, line.number, line.what) for line in history.witness)
            assert max(seen.values()) == 1, seen.most_common(3)
            runs = Counter((a.job, a.scheduled_for, a.request, a.number) for a in history.attempts)
            assert max(runs.values()) == 1
            assert [a for a in history.attempts if a.covers_from and a.job == "app/tick"], (
                "one stands for many"
            )

    asyncio.run(act())
