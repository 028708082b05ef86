"""Foliot, as its users use it."""

from __future__ import annotations

import asyncio
from importlib.metadata import version

from benchmarks.fire.contenders.race import Race, do_nothing_async, until_over
from foliot import Foliot, Once
from foliot.model.decision import Event, Happening


def main() -> None:
    """Schedule, run, tell."""
    race = Race()
    app = Foliot(f"sqlite:///{race.path}", name="bench")
    app.action(do_nothing_async, name="do_nothing")

    @app.listen
    def count(event: Event) -> None:
        if event.what is Happening.ENDED:
            race.note_end()

    asyncio.run(_run(race, app))
    race.tell(version("foliot"))


async def _run(race: Race, app: Foliot) -> None:
    at = Once(race.due)
    await app.schedule_many(
        (f"user-{number}", at, "do_nothing", {"user": number}) for number in range(race.jobs)
    )
    race.check_in()
    async with app:
        await until_over(race)
    app.close()


if __name__ == "__main__":
    main()
