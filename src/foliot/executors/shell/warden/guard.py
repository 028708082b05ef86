"""The guard: the first process of a warden. It forks the worker, and ends its trees if it dies before them.

Both are subreapers. While the worker lives, orphans become its children; when it is killed, all of its
children become the guard's. The guard keeps the socket open until they are gone, so the daemon hears of the
end of its warden when nothing is left that the warden has started.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys

from foliot.executors.shell.warden import process_tree
from foliot.executors.shell.warden.timer import now
from foliot.executors.shell.warden.worker import LAST_GRACE, Worker
from foliot.executors.shell.wire import Wire

_PATIENCE = 10.0  # for those who do not even die of SIGKILL
_AGAIN = 0.02


def main(arguments: list[str]) -> int:
    """Serve the daemon at the other end of a socket: its descriptor, and the daemon's pid."""
    number, daemon = int(arguments[0]), int(arguments[1])
    os.set_inheritable(number, False)  # noqa: FBT003 - the standard library's signature
    signal.pthread_sigmask(signal.SIG_SETMASK, ())  # who ignores or blocks SIGCHLD, its children do, too
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for signal_ in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(signal_, signal.SIG_IGN)  # they are the daemon's to heed; it ends us in its own time
    os.chdir("/")
    process_tree.wake_when_orphaned()
    life_of_daemon = os.pidfd_open(daemon)
    if os.getppid() != daemon:
        return 1  # it died before it could be watched
    process_tree.adopt_orphans()
    guard, life_of_guard = os.pipe2(os.O_CLOEXEC)
    worker = os.fork()
    if worker == 0:
        os.close(life_of_guard)
        _be_the_worker(number, daemon=life_of_daemon, guard=guard)
    os.close(guard)
    if _wait(worker) != 0:
        _inherit()
    return 0


def _wait(worker: int) -> int:
    """How the worker has ended. If somebody stops it, as a job can, it goes on: no timeout would count."""
    while True:
        _, status = os.waitpid(worker, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return status
        os.kill(worker, signal.SIGCONT)


def _be_the_worker(number: int, *, daemon: int, guard: int) -> None:
    code = 1
    try:
        process_tree.wake_when_orphaned()
        process_tree.adopt_orphans()
        wire = Wire(socket.socket(fileno=number))
        Worker(wire, daemon=daemon, guard=guard).serve()
        code = 0
    except BaseException:  # noqa: BLE001 - a fault of ours is told, and the guard ends what was started
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def _inherit() -> None:
    """End whatever the worker has left. It was killed: nobody knows any more which tree is which."""
    begin = now()
    process_tree.end_all(_children)
    while _children() and now() - begin < LAST_GRACE + _PATIENCE:
        if now() - begin >= LAST_GRACE:
            process_tree.kill_all(_children)
        select.select([], [], [], _AGAIN)


def _children() -> list[int]:
    """Those who live; the dead are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return []
    return process_tree.own_children()
