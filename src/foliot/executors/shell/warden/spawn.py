"""Starting a command: what it gets from the warden, and what it does not.

It gets a session of its own, its directory and environment, /dev/null or its own text to read from, two pipes
to write to;
every signal as it is by default and none blocked; the limits that the daemon has, and its umask unless the
job has one of its own. Every
descriptor of the warden closes itself at the exec.

Two things are put on for the moment of the spawn, because children inherit them and nothing else reaches
every one of them. *The mark*: a soft limit on real-time CPU time of some 35 years, a different one for each
tree. It limits nobody, and survives `setsid`, `env -i` and double forks: whose orphan is this? *Appetite*:
an OOM score somewhat higher than the daemon's, so that out of memory the job ends, and not the scheduler.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from foliot.executors.shell.warden.other_user import Owner, Program, spawn_as

SHELL = "/bin/sh"
_MARKS = 1 << 50
_HUNGRIER = 100
_MOST_HUNGRY = 1000
_KEPT_BACK = 16
_SIGNALS = tuple(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


class Command(NamedTuple):
    """What is to be started; the number is the daemon's, and never comes again."""

    number: int
    program: str
    arguments: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    stdin: str = ""
    masked: Sequence[str] = ()
    umask: int | None = None
    owner: Owner | None = None  # None: it has the warden's own rights


class Spawner:
    """Starts commands, each with a mark of its own."""

    def __init__(self) -> None:
        self._null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._child_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._own_files = (self._child_files[1],) * 2  # two pipes for each command at a time
        self._has_more_files = self._own_files != self._child_files
        resource.setrlimit(resource.RLIMIT_NOFILE, self._own_files)
        self._can_mark = resource.getrlimit(resource.RLIMIT_RTTIME)[1] == resource.RLIM_INFINITY
        self._appetite = _Appetite()

    def check_files(self, highest: int) -> None:
        """Keep some descriptors back: a warden that can open none is blind, and could end nothing."""
        if highest >= self._own_files[0] - _KEPT_BACK:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def mark(self, number: int) -> int | None:
        """How the tree of that number is marked; None: this host does not allow it."""
        return _MARKS + number if self._can_mark else None

    def spawn(self, command: Command, out: int, err: int) -> int:
        """The pid of the shell. OSError or ValueError if it cannot be started; nothing is left then."""
        os.chdir(command.folder)
        stdin, umask = self._null, None
        try:
            program = _found(command.program, command.environment)
            stdin = _filled(command.stdin) if command.stdin else self._null
            if command.owner is not None:  # it may open /dev/stdout, which is a pipe of ours
                for pipe in (out, err):
                    os.fchown(pipe, command.owner.uid, command.owner.gid)
            umask = None if command.umask is None else os.umask(command.umask)
            self._put_on(command.number)
            if command.owner is not None:
                files = (stdin, out, err)
                return spawn_as(
                    command.owner, Program(program, command.arguments, command.environment, files)
                )
            return os.posix_spawn(
                program,
                list(command.arguments),
                command.environment,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, stdin, 0),
                    (os.POSIX_SPAWN_DUP2, out, 1),
                    (os.POSIX_SPAWN_DUP2, err, 2),
                ],
                setsid=True,
                setsigmask=(),
                setsigdef=_SIGNALS,
            )
        finally:
            self._take_off()
            if umask is not None:
                os.umask(umask)
            os.chdir("/")
            if stdin != self._null:
                os.close(stdin)

    def _put_on(self, number: int) -> None:
        if self._has_more_files:
            resource.setrlimit(resource.RLIMIT_NOFILE, self._child_files)
        if self._can_mark:
            resource.setrlimit(resource.RLIMIT_RTTIME, (_MARKS + number, resource.RLIM_INFINITY))
        self._appetite.grow()

    def _take_off(self) -> None:
        self._appetite.shrink()  # the mark may stay on: nobody asks for the warden's own
        if self._has_more_files:
            resource.setrlimit(resource.RLIMIT_NOFILE, self._own_files)


def _found(program: str, environment: Mapping[str, str]) -> str:
    """A program by the command's own PATH; `posix_spawnp` would look along the warden's."""
    if "/" in program:
        return program
    for folder in environment.get("PATH", "").split(":"):
        path = f"{folder or '.'}/{program}"
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112 - pathlib is large
            return path
    raise FileNotFoundError(errno.ENOENT, "it is not in the PATH", program)


def _filled(text: str) -> int:
    """A file in memory to read from. A pipe may have room for less, and its reader may never come."""
    file = os.memfd_create("stdin", os.MFD_CLOEXEC)
    try:
        data = text.encode("utf-8", "surrogateescape")
        while data:
            data = data[os.write(file, data) :]
        os.lseek(file, 0, os.SEEK_SET)
    except BaseException:
        os.close(file)
        raise
    return file


class _Appetite:
    """The OOM score of this process, for a moment higher than usual. Not every host has one to change."""

    def __init__(self) -> None:
        self._file = -1
        try:
            self._file = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
            usual = int(os.read(self._file, 16))
        except (OSError, ValueError):
            usual = 0
        self._usual = str(usual).encode()
        self._grown = str(min(usual + _HUNGRIER, _MOST_HUNGRY)).encode()

    def grow(self) -> None:
        self._set(self._grown)

    def shrink(self) -> None:
        self._set(self._usual)

    def _set(self, score: bytes) -> None:
        if self._file >= 0:
            try:
                os.pwrite(self._file, score, 0)
            except OSError:
                self._file = -1
