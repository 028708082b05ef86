"""Who descends from whom, and how to signal them without hitting a stranger.

A process id may be given to somebody else as soon as its process has been reaped. The warden's own children
are reaped by nobody but the warden. Anybody deeper is held by a pidfd first, and then asked for its parent:
who is a child of one of ours is ours.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Collection, Iterable

Kin = Callable[[int], list[int]]  # the children of a process

_PR_SET_CHILD_SUBREAPER = 36
_ENVIRON = 1 << 18
_ENDED = (FileNotFoundError, ProcessLookupError, PermissionError)
_PASSES = 100  # how often those who fork are overtaken; one pass is enough for all but fork bombs


def adopt_orphans() -> None:
    """Have those who lose their parent below this process become its children."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "prctl(PR_SET_CHILD_SUBREAPER)")


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


def children_by_scan() -> Kin:
    """The children of every process, from one look at all; for kernels that do not list them."""
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - as above
        if name.isdigit() and (parent := parent_of(int(name))):
            found.setdefault(parent, []).append(int(name))
    return lambda pid: found.get(pid, [])


def look() -> Kin:
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
    for entry in _read(f"/proc/{pid}/environ", _ENVIRON).split(b"\0"):
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


def everybody_below(roots: Iterable[int], kin: Kin) -> set[int]:
    """The roots and all who descend from them."""
    found = set(roots)
    new = list(found)
    while new:
        children = [child for child in kin(new.pop()) if child not in found]
        found.update(children)
        new += children
    return found


def end_all(roots: Callable[[], Collection[int]]) -> None:
    """Ask the roots, children of this process, and all who descend from them to end, by SIGTERM."""
    members = _stop_all(roots)
    for number in (signal.SIGTERM, signal.SIGCONT):
        for pid in members:
            _send(pid, number, members)


def kill_all(roots: Callable[[], Collection[int]]) -> None:
    """Kill the roots, children of this process, and all who descend from them."""
    members = _stop_all(roots)
    for pid in members:
        _send(pid, signal.SIGKILL, members)


def _stop_all(roots: Callable[[], Collection[int]]) -> set[int]:
    """Stop everybody, until nobody is left who could fork behind our back. The roots are asked for each time.

    Without that, a shell may fork between being seen and being signalled, and its child hears nothing.
    """
    members: set[int] = set()
    stopped: set[int] = set()
    for _ in range(_PASSES):
        members = everybody_below(roots(), look())
        new = members - stopped
        if not new:
            break
        for pid in new:
            _send(pid, signal.SIGSTOP, members)
        stopped |= new
    return members


def _send(pid: int, number: int, members: Collection[int]) -> None:
    try:
        held = os.pidfd_open(pid)
    except _ENDED:
        return
    try:
        if (parent := parent_of(pid)) in members or parent == os.getpid():
            signal.pidfd_send_signal(held, number)
    except _ENDED:  # or it belongs to another user, and that is told when it does not end
        pass
    finally:
        os.close(held)


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
    try:
        held = os.pidfd_open(pid)
    except _ENDED:
        return
    try:
        if variable_of(pid, b"FOLIOT_RUN_ID") in ids:  # asked again: now the number cannot change hands
            signal.pidfd_send_signal(held, signal.SIGKILL)
    except _ENDED:
        pass
    finally:
        os.close(held)


def _read(path: str, limit: int = 1 << 16) -> bytes:
    """The content of a file of the kernel; nothing if its process has ended, or belongs to somebody else.

    Any other error is raised: a warden that took its blindness for emptiness would let go of what lives.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except _ENDED:
        return b""
    try:
        parts = []
        while limit > 0 and (part := os.read(file, limit)):
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    except _ENDED:
        return b""
    finally:
        os.close(file)


_LISTS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - as above
