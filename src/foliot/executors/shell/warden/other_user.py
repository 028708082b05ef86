"""Starting a program with the rights of another user, between a fork and an exec.

The rights are dropped before anything of the job is loaded. A program that drops them (`setpriv`, `su`) would
itself be started with the job's environment, and the loader would obey `LD_PRELOAD` in it as root. The warden
has one thread, so it may fork.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

_LARGEST = 16  # bytes of an error's number


class Owner(NamedTuple):
    """A user of this host, by numbers."""

    uid: int
    gid: int
    groups: Sequence[int]


class Program(NamedTuple):
    """What is started, and with what; `files` become its descriptors 0, 1 and 2."""

    path: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    files: tuple[int, int, int]


def spawn_as(owner: Owner, program: Program) -> int:
    """The pid of a program that is the user's. OSError if it cannot be started; nothing is left then."""
    told, tell = os.pipe2(os.O_CLOEXEC)  # the exec closes it, and nothing was told then
    try:
        pid = os.fork()
        if pid == 0:
            _begin(owner, program, tell)
    except OSError:
        os.close(told)
        raise
    finally:
        os.close(tell)
    with os.fdopen(told, "rb") as answer:
        number = answer.read(_LARGEST)
    if number:
        os.waitpid(pid, 0)
        raise OSError(int(number), os.strerror(int(number)), program.path)
    return pid


def _begin(owner: Owner, program: Program, tell: int) -> NoReturn:
    """The child's whole life before the exec. It never returns into the code of the warden."""
    number = errno.EINVAL
    try:
        signal.set_wakeup_fd(-1)  # the bell is the warden's
        for one in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(one, signal.SIG_DFL)
        os.setsid()
        for place, file in enumerate(program.files):
            os.dup2(file, place)
        os.setgroups(owner.groups)
        os.setresgid(owner.gid, owner.gid, owner.gid)
        os.setresuid(owner.uid, owner.uid, owner.uid)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execve(program.path, list(program.arguments), program.environment)  # noqa: S606 - no shell but the job's own
    except OSError as error:
        number = error.errno or number
    finally:
        os.write(tell, str(number).encode())
        os._exit(127)
