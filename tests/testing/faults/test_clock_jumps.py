"""R7: the machine's clock is set by an hour, back and forth, under a program that runs (libfaketime)."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from faketime import environment, library
from testing.faults.stage import staged

HOUR = 3600


def test_an_hour_back_and_forth(tmp_path: Path) -> None:
    faketime, file = library(), tmp_path / "time"
    file.write_text("+0")

    async def act() -> None:
        async with staged(tmp_path / "store.db", tmp_path, environment(faketime, file)) as stage:

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
