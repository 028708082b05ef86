"""An executor of one's own: jobs that check whether a port answers.

python examples/own_executor.py

What a job does is data (`Action`): a million checks need no function each. `PortExecutor` carries them out.
"""

from __future__ import annotations

import asyncio

from foliot import Foliot, Outcome
from foliot.executors.task import TaskExecutor
from foliot.model.job import Action
from foliot.protocols import Result, Run


class PortExecutor(TaskExecutor):
    """Connects to a host and a port; what is raised fails the run, and a timeout cancels it."""

    async def execute(self, run: Run) -> Result:
        """Carry out one check."""
        _, writer = await asyncio.open_connection(run.data["host"], run.data["port"])
        writer.close()
        return Result(Outcome.SUCCEEDED, output=f"{run.data['port']} answers")


app = Foliot("sqlite:///own_executor.db", executors={"port": PortExecutor()})


async def main() -> None:
    """Check a port that answers, and after that the same one when it no longer does."""
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    check = Action(kind="port", data={"host": "127.0.0.1", "port": port})
    async with app:
        await app.schedule("check", "*/5 * * * *", check, timeout="10s")
        for is_up in (True, False):
            if not is_up:
                server.close()
            attempt = await app.finished(await app.trigger("check"))
            print(f"{attempt.outcome}: {attempt.error or await app.log(attempt)}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
