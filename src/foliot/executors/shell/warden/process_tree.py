"""Who descends from whom, and how to signal them without hitting a stranger.

A process id may be given to somebody else as soon as its process has been reaped. The warden's own children
are reaped by nobody but the warden. Anybody deeper is held by a pidfd first, and then asked for its parent:
who is a child of one of ours is ours. Nobody is taken for one of ours, nor asked for children, before that.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from collections.abc import Callable, Collection, Iterable

ChildrenOf = Callable[[int], list[int]]  # the children of a process

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CHUNK = 1 << 16
_ENDED = (FileNotFoundError, ProcessLookupError, PermissionError)
_PASSES = 100  # how often those who fork are overtaken; one pass is enough for all but fork bombs


def adopt_orphans() -> None:
    """Have those who lose their parent below this process become its children."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def wake_when_orphaned() -> None:
    """Have this process go on, should somebody have stopped it, when its parent dies: it has things to do."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), f"prctl({option})")


def children_by_file(pid: int) -> list[int]:
    """The children of a process, as the kernel lists them for each of its threads."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - pathlib is large, and the warden small
    except _ENDED:
        return []
    return [int(word) for thread in threads for word in _read(f"/proc/{pid}/task/{thread}/children").split()]


def own_children() -> list[int]:
    """The children of this process, which has one thread."""
    if not _LISTS_CHILDREN:
        return children_by_scan()(os.getpid())
    return [int(word) for word in _read(f"/proc/self/task/{os.getpid()}/children").split()]


def children_by_scan() -> ChildrenOf:
    """The children of every process, from one look at all; for kernels that do not list them."""
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - as above
        if name.isdigit() and (parent := parent_of(int(name))):
            found.setdefault(parent, []).append(int(name))
    return lambda pid: found.get(pid, [])


def look() -> ChildrenOf:
    """Whoever asks now gets to know who is whose child."""
    return children_by_file if _LISTS_CHILDREN else children_by_scan()


def parent_of(pid: int) -> int:
    """The parent of a process; 0 if it has ended."""
    return int(_stat(pid)[1])


def session_of(pid: int) -> int:
    """The session of a process; 0 if it has ended."""
    return int(_stat(pid)[3])


def is_dead(pid: int) -> bool:
    """Whether it has ended, be it that nobody has reaped it yet."""
    return _stat(pid)[0] in (b"Z", b"X", b"")


def _stat(pid: int) -> list[bytes]:
    """State, parent, process group and session; the name before them may hold anything."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b") ")[2].split(None, 4)
    return fields or [b"", b"0", b"0", b"0"]


def variable_of(pid: int, name: bytes) -> str | None:
    """A variable of the environment that a process was started with, if it may be read."""
    for entry in _read(f"/proc/{pid}/environ").split(b"\0"):
        if entry.startswith(name + b"="):
            return entry[len(name) + 1 :].decode(errors="surrogateescape")
    return None


def mark_of(pid: int) -> int | None:
    """The soft limit on real-time CPU time, which says which tree a process belongs to (see `spawn`)."""
    for line in _read(f"/proc/{pid}/limits").splitlines():
        if line.startswith(b"Max realtime timeout"):
            soft = line.split()[3]
            return int(soft) if soft.isdigit() else None
    return None


def everybody_below(roots: Iterable[int], children_of: ChildrenOf) -> dict[int, None]:
    """The roots, children of this process, and all who descend from them; nobody comes before its parent."""
    members: dict[int, None] = {}
    new = list(roots)
    while new:
        pid = new.pop()
        if pid not in members and (held := _hold(pid)) >= 0:
            try:
                new += _join(pid, held, members, children_of)
            finally:
                os.close(held)
    return members


def _join(pid: int, held: int, members: dict[int, None], children_of: ChildrenOf) -> list[int]:
    """Let a process in if its parent is in, or is this process; its children may come next."""
    if not _is_ours(pid, members):
        return []
    members[pid] = None
    children = children_of(pid)
    return children if _is_there(held) else []  # otherwise they may be another's, who has its number now


def _is_ours(pid: int, members: Collection[int]) -> bool:
    return (parent := parent_of(pid)) in members or parent == os.getpid()


def end_all(roots: Callable[[], Collection[int]]) -> Collection[int]:
    """Ask the roots, children of this process, and all below them to end, by SIGTERM; tell who was asked.

    One who has blocked its signals at that moment, as shells do around a fork, may fork before it ends.
    """
    members = _stop_all(roots)
    for number in (signal.SIGTERM, signal.SIGCONT):
        for pid in members:
            _send(pid, number, members)
    return members


def kill_all(roots: Callable[[], Collection[int]]) -> None:
    """Kill the roots, children of this process, and all who descend from them."""
    members = _stop_all(roots)
    for pid in reversed(members):  # leaves first: an orphan may become a stranger's child
        _send(pid, signal.SIGKILL, members)


def _stop_all(roots: Callable[[], Collection[int]]) -> dict[int, None]:
    """Stop everybody, until nobody is left who could fork behind our back. The roots are asked for each time.

    Without that, a shell may fork between being seen and being signalled, and its child hears nothing.
    """
    members: dict[int, None] = {}
    stopped: set[int] = set()
    for _ in range(_PASSES):
        members = everybody_below(roots(), look())
        new = members.keys() - stopped
        if not new:
            break
        for pid in new:
            _send(pid, signal.SIGSTOP, members)
        stopped |= new
    return members


def _send(pid: int, number: int, members: Collection[int]) -> None:
    if (held := _hold(pid)) >= 0:
        try:
            if _is_ours(pid, members):
                signal.pidfd_send_signal(held, number)
        except _ENDED:  # or it belongs to another user, and that is told when it does not end
            pass
        finally:
            os.close(held)


def _hold(pid: int) -> int:
    """A descriptor of a process, whose number stays its own in what it says; -1 if there is none."""
    try:
        return os.pidfd_open(pid)
    except _ENDED:
        return -1
    except OSError as error:
        if error.errno != errno.EINVAL:  # the number is that of a thread by now
            raise
        return -1


def _is_there(held: int) -> bool:
    """Whether nobody has reaped it yet, so that nobody else can have its number."""
    try:
        signal.pidfd_send_signal(held, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def find_runs(ids: Collection[str]) -> list[int]:
    """The living processes, anybody's children, whose environment names one of these runs."""
    names = (name for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208 - as above
    return [pid for pid in map(int, names) if variable_of(pid, b"FOLIOT_RUN_ID") in ids and not is_dead(pid)]


def kill_runs(ids: Collection[str]) -> None:
    """Kill every process whose environment names one of these runs: the last resort, without a warden."""
    for _ in range(_PASSES):
        found = find_runs(ids)
        if not found:
            return
        for pid in found:
            _kill_if_of(pid, ids)


def _kill_if_of(pid: int, ids: Collection[str]) -> None:
    if (held := _hold(pid)) >= 0:
        try:
            if variable_of(pid, b"FOLIOT_RUN_ID") in ids:  # asked again: now the number cannot change hands
                signal.pidfd_send_signal(held, signal.SIGKILL)
        except _ENDED:
            pass
        finally:
            os.close(held)


def _read(path: str) -> bytes:
    """The content of a file of the kernel; nothing if its process has ended, or belongs to somebody else.

    All of it: the last word of a part may be half a word, and half a number is the number of a stranger.
    Any other error is raised: a warden that took its blindness for emptiness would let go of what lives.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except _ENDED:
        return b""
    try:
        parts = []
        while part := os.read(file, _CHUNK):
            parts.append(part)
        return b"".join(parts)
    except _ENDED:
        return b""
    finally:
        os.close(file)


_LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - as above
