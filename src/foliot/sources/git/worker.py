"""A process that does one task for the daemon: pull, read files, recall, build, or tidy up.

Nothing of git, of archives or of many files happens in the daemon itself: not its loop, nor its interpreter
is ever held up by them. The task comes as a line of JSON on standard input, stages and the answer go as
lines to standard output. The process leads a session of its own, and git runs in it; when the daemon dies,
standard input ends, and the whole session is killed. After the answer, the end of standard input is leave
to go; until then the set that was built is held, so that nobody removes it before the daemon has it.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from base64 import b64decode, b64encode
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from foliot.errors import FoliotError, shorten
from foliot.sources.git.address import Address
from foliot.sources.git.beside import FilesRefusedError
from foliot.sources.git.build import Builder
from foliot.sources.git.clone import Clone
from foliot.sources.git.errors import GitError, SnapshotError, write_error
from foliot.sources.git.folder import Folder
from foliot.sources.git.layout import Layout, alone_with
from foliot.sources.git.program import CommandFailedError, GitProgram
from foliot.sources.git.tree import Limits

_BOUNDS = {resource.RLIMIT_FSIZE: 4 << 30, resource.RLIMIT_DATA: 2 << 30}
_FIRST_TO_GO = 200  # when memory is short, before the daemon and its jobs
_OOM_SCORE = Path("/proc/self/oom_score_adj")
_Facts = dict[str, Any]


class Worker:
    """The tasks, one method each; a task gets facts and gives facts."""

    def __init__(self, request: _Facts) -> None:
        self._address = Address(**request["address"])
        self._layout = Layout(Path(request["root"]), self._address.slug)
        self._layout.make()
        limits = Limits(*request["limits"])
        self._clone: Clone | Folder
        if self._address.is_plain:
            self._clone = Folder(self._layout, self._address, limits, request["store_file"])
        else:
            git = GitProgram(self._address, self._layout.work, os.environ, request["trusted"])
            self._clone = Clone(self._layout, self._address, git, say)
        self._builder = Builder(self._layout, self._clone, self._address.shown, limits=limits, say=say)

    def pull(self, facts: _Facts) -> _Facts:
        """Update the clone. Returns the revision, and its config file if that is not known yet.

        The answer also says whether it is a successor of the declared revision.
        """
        rewrites = bool(facts["follow_rewrites"])
        say("waiting for another process that uses the cache")
        with alone_with(self._layout.lock):
            self._builder.clear()
            revision = self._clone.pull(follow_rewrites=rewrites)
            goes_on = self._clone.goes_on_from(facts["base"], revision)
            if revision == facts["known"]:
                return {"revision": revision, "goes_on": goes_on}
            try:
                config = self._clone.config(revision, facts["file"])
            except CommandFailedError:
                revision = self._clone.renew(follow_rewrites=rewrites)
                goes_on = self._clone.goes_on_from(facts["base"], revision)
                config = self._clone.config(revision, facts["file"])
        return {"revision": revision, "goes_on": goes_on, "config": b64encode(config).decode()}

    def files(self, facts: _Facts) -> _Facts:
        """The files of a revision that a config names, or why there are none."""
        with alone_with(self._layout.lock):
            try:
                found = self._clone.files(facts["revision"], facts["patterns"])
            except FilesRefusedError as error:
                return {"refusal": error.message}
        return {"files": {name: b64encode(data).decode() for name, data in found.items()}}

    def recall(self, _facts: _Facts) -> _Facts:
        """Which revision was good last, and what its config file said; without any remote."""
        found = self._layout.current_set()
        with suppress(OSError, KeyError):
            if found is not None:
                config = b64encode(found.config.read_bytes()).decode()
                return {"revision": str(found.note()["revision"]), "config": config}
        raise SnapshotError(self._address.shown, "nothing good of it is in the cache")

    def build(self, facts: _Facts) -> _Facts:
        """Make the snapshots of a revision and show them, unless they are there."""
        revision, jobs, config = facts["revision"], facts["jobs"], b64decode(facts["config"])
        say("waiting for another process that uses the cache")
        with alone_with(self._layout.lock):
            self._builder.clear()
            made = self._builder.find(revision, jobs, config)
            if made is None:
                try:
                    made = self._builder.build(revision, jobs, config)
                except CommandFailedError:
                    self._clone.renew(follow_rewrites=bool(facts["follow_rewrites"]))
                    made = self._builder.build(revision, jobs, config)
            else:
                self._builder.hold(made)
            self._builder.show(made, jobs)
        return {"set": made.identity}

    def tidy(self, facts: _Facts) -> _Facts:
        """Check a revision out in the clone's work tree, pack the clone, and remove unused files."""
        with alone_with(self._layout.lock):
            self._clone.tidy(facts["revision"])
        self._builder.sweep()
        return {}


_TASKS = {
    "pull": Worker.pull,
    "files": Worker.files,
    "recall": Worker.recall,
    "build": Worker.build,
    "tidy": Worker.tidy,
}


def say(stage: str) -> None:
    """Tell how far the task is; a daemon that loses its patience can then say so."""
    _write({"stage": stage})


def _write(facts: _Facts) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def _answer(request: _Facts) -> _Facts:
    shown = str(request["address"]["shown"])
    try:
        task = _TASKS[request["task"]]
        return {"done": task(Worker(request), request["facts"])}
    except FoliotError as error:
        return {"error": write_error(error)}
    except CommandFailedError as error:
        return {"error": write_error(GitError(shown, error.reason))}
    except OSError as error:
        hint = f"is there room in {request['root']}, and may it be written?"
        return {"error": write_error(SnapshotError(shown, shorten(str(error)), hint=hint))}


class _Leash(Thread):
    """Waits for the end of standard input: the daemon's death before the answer, leave to go after it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.has_answered = False
        self.may_go = Event()

    def run(self) -> None:
        while os.read(0, 4096):
            pass
        if not self.has_answered and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        self.may_go.set()


def _bound() -> None:
    """For this process and the git that it starts: a repository can make git ask for any amount of memory.

    Data, not address space: a credential helper may reserve much that it never uses.
    """
    for kind, bound in _BOUNDS.items():
        soft, hard = resource.getrlimit(kind)
        if soft == resource.RLIM_INFINITY or soft > bound:
            resource.setrlimit(kind, (bound, hard))
    with suppress(OSError, ValueError):
        _OOM_SCORE.write_text(str(min(1000, int(_OOM_SCORE.read_text()) + _FIRST_TO_GO)))


def main() -> None:
    """Do one task."""
    request = json.loads(sys.stdin.buffer.readline())
    leash = _Leash()
    leash.start()
    os.umask(0o022)
    os.nice(10)
    _bound()
    answer = _answer(request)
    leash.has_answered = True
    _write(answer)
    leash.may_go.wait()
    sys.stdout.close()


if __name__ == "__main__":
    main()
