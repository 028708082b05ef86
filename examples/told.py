"""Be told: a job that fails twice and recovers, and a channel that is a command of the shell.

python examples/told.py

Three runs give two messages: one when the trouble begins, one when it is over. In production the channel is a
webhook or a mail, and its secret stays outside of the code: `Webhook("env:OPS_WEBHOOK", format="slack")`.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from foliot import Every, Foliot
from foliot.alerts import Command
from foliot.clock import SystemClock

TOLD = Path("told.txt").absolute()
ops = Command(f'echo "$FOLIOT_ALERT_HEADLINE: $FOLIOT_ALERT_WHY" >> {TOLD}')
app = Foliot("sqlite:///told.db", name="told", channels={"ops": ops}, notify="ops")
disk = {"is_full": True}


@app.job(Every("1d"))
async def backup() -> None:
    """Fails while the disk is full."""
    if disk["is_full"]:
        raise OSError("the disk is full")


async def told(count: int) -> None:
    """Wait for so many messages."""
    while not TOLD.exists() or len(TOLD.read_text().splitlines()) < count:
        await SystemClock().wait(timedelta(milliseconds=50))


async def main() -> None:
    """Fail twice, recover, and show what was told."""
    TOLD.unlink(missing_ok=True)
    async with app:
        for _ in range(2):
            await app.finished(await app.trigger("backup"))
        await told(1)
        disk["is_full"] = False
        await app.finished(await app.trigger("backup"))
        await told(2)
    print(TOLD.read_text(), end="", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
