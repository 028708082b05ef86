"""A daemon whose host may have been suspended: `python suspended.py FOLDER LEASH`; says how its command ends.

Its warden gets the library that shifts the clock, too (see `suspend`): a host sleeps with all its processes.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from executors.shell.stage import Stage, a_run
from foliot.executors.shell import link
from suspend import VARIABLE


async def main(folder: str, leash: str) -> None:
    link._NEEDED = (*link._NEEDED, "LD_PRELOAD", VARIABLE)  # type: ignore[assignment] # it has one more word or two
    stage = Stage(Path(folder), leash=timedelta(seconds=float(leash)))
    run = a_run("sleep 1000")
    stage.start(run)
    await stage.see("true")
    sys.stdout.write("running\n")
    sys.stdout.flush()
    ended = await stage.result(run)
    sys.stdout.write(f"{ended.outcome}: {ended.error}\n")
    sys.stdout.write(f"{(await stage.see('echo fine')).output}")
    await stage.executor.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
