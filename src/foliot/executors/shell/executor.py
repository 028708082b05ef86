"""The executor of shell commands: from a run to an order for the warden, and from its word to a result."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from datetime import timedelta
from itertools import count
from typing import Any, Protocol

from foliot.errors import FoliotError
from foliot.executors.live_output import FollowLog
from foliot.executors.run_log import RunLog
from foliot.executors.shell.host import check_host
from foliot.executors.shell.link import WardenLink
from foliot.executors.shell.order import NOBODY_ELSE, Order, Place, inherited, make_order, run_id
from foliot.executors.shell.run_as import RunAs
from foliot.executors.shell.secrets import HostSecrets
from foliot.executors.shell.verdict import judge
from foliot.executors.shell.warden.process_tree import kill_runs
from foliot.model.attempt import Outcome
from foliot.protocols import AskToEnd, OnEnd, Result, Run

NO_SECRETS = HostSecrets()
_GONE = "its warden, the process that starts and ends commands, was killed; so the command was ended"


class Workplace(Protocol):
    """Where commands are run."""

    def enter(self, run: Run) -> Place:
        """The place of a run, which stays as it is until the run has left. FoliotError: there is none."""
        ...

    def leave(self, run: Run) -> None:
        """Nothing of a run that has entered is left there."""
        ...


class _Life:
    """An attempt that runs here, or is about to."""

    __slots__ = ("is_asked", "link", "log", "number", "on_end", "order", "run")

    def __init__(self, number: int, run: Run, on_end: OnEnd) -> None:
        self.number = number
        self.run = run
        self.on_end = on_end
        self.is_asked = False
        self.order: Order | None = None
        self.link: WardenLink | None = None
        self.log: RunLog | None = None  # what it was last known to have written


class ShellExecutor:
    """Carries out shell commands. `follow_log` gets the log of each that has written something while it runs.

    `grace` is how long a tree has between SIGTERM and SIGKILL, `linger` how long what a shell has left
    behind may go on. `leash`: if this process shows no life for that long (it is stopped, or its loop is
    blocked), all that runs is ended; choose it so that others cannot have buried the node before.
    """

    def __init__(  # noqa: PLR0913 - the durations have usual values, and names
        self,
        workplace: Workplace,
        *,
        follow_log: FollowLog | None = None,
        environment: Mapping[str, str] | None = None,
        secrets: HostSecrets = NO_SECRETS,
        run_as: RunAs = NOBODY_ELSE,
        grace: timedelta = timedelta(seconds=5),
        linger: timedelta = timedelta(seconds=1),
        leash: timedelta | None = None,
    ) -> None:
        check_host()
        self._workplace = workplace
        self._follow_log = follow_log
        self._secrets = secrets
        self.run_as = run_as
        self._settings = {
            "grace": grace.total_seconds(),
            "linger": linger.total_seconds(),
            "leash": None if leash is None else leash.total_seconds(),
            "tells": follow_log is not None,
            "environment": inherited(os.environ if environment is None else environment),
        }
        self._numbers = count(1)
        self._lives: dict[int, _Life] = {}
        self._link: WardenLink | None = None
        self._links: set[WardenLink] = set()  # those that are not gone
        self._gone = asyncio.Event()
        self._gone.set()

    @property
    def warden(self) -> int | None:
        """The pid of the warden that new runs go to, if there is one."""
        return None if self._link is None else self._link.pid

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        """Have the warden start it."""
        life = _Life(next(self._numbers), run, on_end)
        try:
            place = self._workplace.enter(run)
        except Exception as error:  # noqa: BLE001 - a workplace's fault fails the run, not the node
            return self._refuse(life, error, has_entered=False)
        try:
            life.order = make_order(run, place, self._secrets, self.run_as)
            self._give(life, life.order)
        except Exception as error:  # noqa: BLE001 - whatever it is, this attempt cannot begin
            return self._refuse(life, error, has_entered=True)
        self._lives[life.number] = life
        return lambda: self._ask_to_end(life)

    def _give(self, life: _Life, order: Order) -> None:
        life.link = self._warden()
        life.link.post({"start": life.number, **order._asdict()})

    def _refuse(self, life: _Life, error: Exception, *, has_entered: bool) -> AskToEnd:
        text = str(error) if isinstance(error, FoliotError) else f"{type(error).__name__}: {error}"
        result = Result(Outcome.FAILED, f"cannot be started: {text}")
        asyncio.get_running_loop().call_soon(self._end, life, result, has_entered)
        return lambda: None

    def _ask_to_end(self, life: _Life) -> None:
        life.is_asked = True
        if life.number in self._lives and life.link is not None:
            life.link.post({"end": life.number})

    async def close(self) -> None:
        """Have everything end that still runs; when this returns, nothing of it is left."""
        for link in self._links:
            link.hang_up()
        self._link = None
        await self._gone.wait()

    # -- wardens -----------------------------------------------------------------------------------

    def _warden(self) -> WardenLink:
        if self._link is None:
            self._link = WardenLink(self._settings, self._hear, self._mourn)
            self._links.add(self._link)
            self._gone.clear()
        return self._link

    def _hear(self, link: WardenLink, told: dict[str, Any]) -> None:
        if "ended" in told:
            life = self._lives[told["ended"]]
            exit_codes = life.run.job.action.data.get("exit_codes") or {}
            self._end(life, judge(told, exit_codes), has_entered=True)
        elif "closing" in told:
            self._let_go(link)
        elif "unstarted" in told:
            self._give_again(self._lives[told["unstarted"]])
        elif writing := self._lives.get(told["wrote"]):
            self._note(writing, told["parts"])

    def _note(self, life: _Life, parts: list[tuple[int, str]]) -> None:
        """It has written something while it runs."""
        is_new = life.log is None
        life.log = log = life.log or RunLog()
        for start, text in parts:
            log.skip(start)
            log.write(text)
        if is_new and self._follow_log is not None:
            self._follow_log(life.run, log)

    def _give_again(self, life: _Life) -> None:
        """Its warden was about to go, and has not started it: another may."""
        if life.is_asked:
            self._end(life, Result(Outcome.CANCELLED), has_entered=True)
        elif life.order is None or life.link is None or life.link.is_hung_up:
            self._end(life, Result(Outcome.INTERRUPTED, "never started"), has_entered=True)
        else:
            try:
                self._give(life, life.order)
            except OSError as error:
                self._end(life, Result(Outcome.FAILED, f"cannot be started: {error}"), has_entered=True)

    def _let_go(self, link: WardenLink) -> None:
        if self._link is link:
            self._link = None

    def _mourn(self, link: WardenLink) -> None:
        """A warden is gone. If it was killed with its guard, its trees may not be."""
        self._let_go(link)
        lives = [life for life in self._lives.values() if life.link is link]
        if lives:
            ids = {run_id(life.run) for life in lives}
            swept = asyncio.get_running_loop().run_in_executor(None, kill_runs, ids)
            swept.add_done_callback(lambda _: self._bury(link, lives))
        else:
            self._bury(link, lives)

    def _bury(self, link: WardenLink, lives: list[_Life]) -> None:
        for life in lives:
            log = life.log or RunLog()
            self._end(life, Result(Outcome.FAILED, _GONE, log.text, log.dropped), has_entered=True)
        self._links.discard(link)
        if not self._links:
            self._gone.set()

    def _end(self, life: _Life, result: Result, has_entered: bool) -> None:  # noqa: FBT001 - called by the loop
        self._lives.pop(life.number, None)
        if life.log is not None:
            life.log.is_closed = True
        try:
            if has_entered:
                self._workplace.leave(life.run)
        except Exception as error:  # noqa: BLE001 - the attempt has ended all the same, and its slot is free
            context = {"message": "a workplace did not let go of a run", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
        life.on_end(life.run, result)
