"""What the nodes run: a handful of jobs that are quick, slow, flaky and broken, under different policies.

Each writes its own start and end into the witness log. The same tables give the nodes their jobs, and the
checker its definitions. Most jobs are Python's; `FAMILIES` are shell commands (`shell_work`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from foliot.app.options import JobOptions, Template, make_schedule
from foliot.clock import SystemClock
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.policy import Keep, Misfire, MisfireMode, Retry, parallel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foliot.app import Foliot
    from foliot.executors.python import JobRun
    from foliot_proof.faults.witness_log import WitnessLog

NAME = "app"
SHELL = "shell"  # the source of the shell jobs
SHELL_KIND = f"shell:{SHELL}"
SOURCES = (NAME, SHELL)
PRUNED = "brief"  # the job whose history is kept short
KEPT = 5  # attempts of it
ASKED_FOR = "asked"  # the job that people ask for
RELEASES = 3
BATCH = 50  # jobs that are scheduled together, all or none
BATCHES = 4  # for each host: changed in turn, so that the store does not grow

_CLOCK = SystemClock()
_ALL = Keep(last=None, days=None)
_NEVER = "0 0 29 2 *"
_FAILED = Outcome.FAILED.value


class Work(NamedTuple):
    """A job: how long it takes, and in how many of its tries it fails."""

    name: str
    rule: str | tuple[str, ...]  # by release; "" means that this release has no such job
    seconds: float = 0.0
    failures: int = 0
    in_thread: bool = False
    command: str = ""  # of a shell job
    options: JobOptions = JobOptions()

    def rule_of(self, release: int) -> str:
        """Its rule in a release of the program."""
        return self.rule if isinstance(self.rule, str) else self.rule[release % len(self.rule)]

    def job(self, release: int) -> Job:
        """Its definition, as the store should have it."""
        schedule = make_schedule(self.rule_of(release), None)
        options: JobOptions = {"keep": _ALL, **self.options}
        action = Action(kind=f"python:{self.name}")
        if self.command:
            action = Action(kind=SHELL_KIND, data={"run": self.command, "name": self.name})
        return Template(SHELL if self.command else NAME, options).declared(self.name, schedule, action)

    @property
    def key(self) -> str:
        """Its key in the store."""
        return f"{SHELL if self.command else NAME}/{self.name}"


WORK = (
    Work("tick", "@every 1s"),
    Work(PRUNED, "@every 1s", options={"keep": Keep(last=KEPT)}),
    Work("flaky", "@every 2s", failures=2, options={"retry": Retry(max=3, delay="1s")}),
    Work("broken", "@every 3s", failures=99),
    Work("thread", "@every 2s", seconds=0.4, in_thread=True),
    Work("queue", "@every 2s", seconds=2.5, options={"overlap": "wait"}),
    Work("beside", "@every 2s", seconds=2.5, options={"overlap": parallel(3)}),
    Work("newest", "@every 3s", seconds=4.0, options={"overlap": "replace"}),
    Work("once", "@every 2s", seconds=0.7, options={"on_lost": "give_up"}),
    Work(
        "punctual", "@every 1s",
        options={"misfire": Misfire(mode=MisfireMode.SKIP, grace=timedelta(milliseconds=1500))},
    ),
    Work("hurried", "@every 4s", seconds=9.0, options={"timeout": "1s"}),
    Work(ASKED_FOR, "@every 5s", seconds=0.2),
    Work("guest", ("@every 2s", "", "@every 2s"), seconds=0.1),
    Work("moody", ("@every 2s", "@every 2s", "@every 3s")),
)  # fmt: skip

FAMILIES = (
    Work("family", "@every 3s", command="sh witness.sh stays 5"),
    Work("brood", "@every 4s", command="sh witness.sh stays 45", options={"timeout": "1s"}),
    Work("heirs", "@every 3s", command="sh witness.sh stays 20", options={"overlap": "replace"}),
    Work("ghost", "@every 5s", command="sh witness.sh leaves 45"),
)
ALL = (*WORK, *FAMILIES)


class Failure(Exception):  # noqa: N818 - what a job raises on purpose is no error of ours
    """A job was told to fail."""


def declare(app: Foliot, witness_log: WitnessLog, release: int) -> None:
    """Declare the jobs of a release. Every release can carry out every action."""
    for work in WORK:
        function = _function(work, witness_log)
        if rule := work.rule_of(release):
            options: JobOptions = {"keep": _ALL, **work.options}
            app.job(rule, name=work.name, **options)(function)
        else:
            app.action(function, name=work.name)
    app.action(_never, name="never")


def future(batch: str, version: str) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Jobs to be scheduled together, all or none, in a version that can be told from others."""
    return [(f"{batch}.{number}", _NEVER, "never", {"version": version}) for number in range(BATCH)]


def _never(version: str) -> None:
    raise AssertionError(version)


def _function(work: Work, witness_log: WitnessLog) -> Callable[..., Any]:
    def act(run: JobRun) -> None:
        with _witnessed(run, witness_log):
            _CLOCK.sleep(work.seconds)
            _end(run, work)

    async def act_async(run: JobRun) -> None:
        with _witnessed(run, witness_log):
            if work.seconds:
                await _CLOCK.wait(timedelta(seconds=work.seconds))
            _end(run, work)

    return act if work.in_thread else act_async


@contextmanager
def _witnessed(run: JobRun, witness_log: WitnessLog) -> Iterator[None]:
    attempt = run._run.attempt  # noqa: SLF001 - users need not know which node they are on; the checker must
    facts = {
        "job": attempt.job, "run": run.key, "number": run.attempt, "token": run.token, "node": attempt.node,
    }  # fmt: skip
    witness_log.note("start", **facts)
    try:
        yield
    finally:
        witness_log.note("end", **facts)


def _end(run: JobRun, work: Work) -> None:
    run.log("attempt", run.attempt)
    if run.attempt <= work.failures and (work.failures > RELEASES or run.scheduled_for.second % 4 == 0):
        raise Failure(_FAILED)
