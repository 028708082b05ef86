"""A program with a shell executor, to be killed: `python daemon.py FOLDER COMMAND…`; says when all run."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from executors.shell.stage import Stage, a_run, id_of


async def main(folder: str, *commands: str) -> None:
    stage = Stage(Path(folder))
    runs = [a_run(command) for command in commands]
    for run in runs:
        stage.start(run)
    await stage.see("true")
    sys.stdout.write(json.dumps({"ids": [id_of(run) for run in runs], "warden": stage.warden}) + "\n")
    sys.stdout.flush()
    for run in runs:
        sys.stdout.write(f"{await stage.result(run)}\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
