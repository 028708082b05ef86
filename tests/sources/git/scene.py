"""A scene for git: a remote that is a real repository, and a source that follows it."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from foliot.errors import InvalidJobError
from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.job import Action, Job
from foliot.protocols import Run, Snapshot
from foliot.schedules import Cron
from foliot.sources.git.follow import GitSource
from foliot.testing.clock import ManualClock

PATIENCE = 120
CONFIG = "rollcron.yaml"
Scene = Callable[..., Coroutine[Any, Any, None]]
_ROLES = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")


def played(scene: Scene) -> Callable[..., None]:
    """A test that is a coroutine; it must end in time."""

    @wraps(scene)
    def play(*arguments: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(scene(*arguments, **named), PATIENCE))

    return play


def git(place: Path, *words: str, given: bytes | None = None) -> str:
    """What git says, in a repository of the test's own."""
    who = dict.fromkeys(_ROLES, "nobody@nowhere.example")
    done = subprocess.run(  # noqa: S603 - the test's own words
        ["git", *words],  # noqa: S607 - the git that is on the PATH
        cwd=place,
        env={"PATH": os.environ["PATH"], "HOME": str(place), "GIT_CONFIG_NOSYSTEM": "1", **who},
        input=given,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout.decode().strip()


class Remote:
    """A repository that others push to. Its config file is a list of words: a job each."""

    def __init__(self, path: Path, jobs: str = "a b", **options: Any) -> None:
        self.path = path
        self._count = 0
        path.mkdir(parents=True)
        git(path, "init", "--quiet", "--initial-branch=main", *options.pop("words", ()))
        self.push(jobs, **options)

    @property
    def revision(self) -> str:
        return git(self.path, "rev-parse", "HEAD")

    def push(
        self, jobs: str | None = None, *, files: Mapping[str, str] | None = None, amend: bool = False
    ) -> str:
        """Commit a config, files, and a file `turn` that tells which commit it is; the new revision."""
        self._count += 1
        texts = {**(files or {}), "turn": str(self._count)}
        for name, text in (texts if jobs is None else {CONFIG: jobs, **texts}).items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        git(self.path, "add", "--all")
        git(self.path, "commit", "--quiet", "--message=more", *(["--amend"] if amend else []))
        return self.revision

    def hide(self) -> None:
        """The remote goes away."""
        self.path.rename(self.path.with_suffix(".away"))

    def return_(self) -> None:
        """The remote is back."""
        self.path.with_suffix(".away").rename(self.path)


def parse(config: bytes, revision: str, _: object = None) -> Sequence[Job]:
    """A job per word; the word `bad` cannot be read."""
    words = config.decode().split()
    if "bad" in words:
        raise InvalidJobError("config", CONFIG, "cannot be read")
    return [job(word, revision) for word in words]


def job(word: str, revision: str = "") -> Job:
    """The word is the name and, if there is a colon, the command."""
    name, _, command = word.partition(":")
    action = Action(kind="shell:s", data={"run": command or "true"})
    return Job(source="s", name=name, schedule=Cron("@daily"), action=action, revision=revision)


def a_run(word: str, number: int = 1) -> Run:
    """A run of the job that a word defines."""
    defined = job(word)
    attempt = Attempt(
        defined.key, number, Trigger.SCHEDULE, AttemptState.RUNNING, ManualClock().now(), token=7
    )
    return Run(defined, attempt)


def new_source(repository: str | Path, cache: Path, **options: Any) -> GitSource:
    return GitSource(str(repository), cache, parse, **{"clock": ManualClock(), **options})


@asynccontextmanager
async def following(repository: str | Path, cache: Path, **options: Any) -> AsyncIterator[GitSource]:
    """A source that has not started."""
    source = new_source(repository, cache, **options)
    try:
        yield source
    finally:
        await source.close()


async def tidied(source: GitSource) -> None:
    """Wait until what was forgotten is removed."""
    while source._tidying is not None and not source._tidying.done():
        await asyncio.wait([source._tidying])


def names(snapshot: Snapshot | None) -> list[str]:
    assert snapshot is not None
    return [one.name for one in snapshot.jobs]


def shown(source: GitSource, name: str, file: str = "turn") -> str:
    """What a person finds under the name of a job's snapshot."""
    return (source.layout.link(name) / file).read_text()


def tree(place: Path) -> dict[str, str | None]:
    """All that is below a directory: texts of files, targets of links, None for directories."""
    found: dict[str, str | None] = {}
    for path in sorted(place.rglob("*")):
        key = str(path.relative_to(place))
        if path.is_symlink():
            found[key] = f"→ {path.readlink()}"
        else:
            found[key] = path.read_text(errors="replace") if path.is_file() else None
    return found
