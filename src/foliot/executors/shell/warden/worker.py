"""The worker: one loop that starts commands, reads what they write, reaps the dead and ends trees."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from foliot.executors.shell.warden import process_tree
from foliot.executors.shell.warden.other_user import Owner
from foliot.executors.shell.warden.spawn import Command, Spawner
from foliot.executors.shell.warden.timer import Timer, now
from foliot.executors.shell.warden.tree import Step, Tree
from foliot.executors.shell.wire import Message, Wire

LAST_GRACE = 0.5  # when the daemon is gone: another may be about to start the same jobs
_AGAIN = 0.1  # between one kill and the next, if somebody was missed
_KILLS = 100  # before it is given up: somebody belongs to another user, or hangs in the kernel
_LATER = 1.0  # between one telling of what a command wrote and the next
_LOOK = 1.0  # between two looks at the clock: a poll's own time stands still while the host is suspended
_MOST_UNSENT = 1 << 22  # bytes on their way to the daemon, beyond which the output so far is not told


class Worker:
    """Serves a daemon until it is gone, or hangs up; then nothing of what was started is left."""

    def __init__(self, wire: Wire, *, daemon: int, guard: int) -> None:
        self._wire = wire
        self._grace, self._linger = 0.0, 0.0  # these and the next are the daemon's first words
        self._leash: float | None = None
        self._tells = False
        self._base: dict[str, str] = {}
        self._daemon, self._guard = daemon, guard  # descriptors that can be read when they have died
        self._trees: dict[int, Tree] = {}  # by number
        self._shells: dict[int, Tree] = {}  # by pid, those that live
        self._headless: dict[int, Tree] = {}  # by number, those whose shell has ended
        self._readers: dict[int, Tree] = {}  # by pipe
        self._owners: dict[int, Tree] = {}  # of orphans, by pid: no pid is reused before we reap it
        self._given_up: set[int] = set()
        self._spawner = Spawner()
        self._timer = Timer()
        self._poll = select.epoll()
        self._bell = -1
        self._has_news = False  # whether somebody has died since the trees were settled
        self._is_writing = False
        self._is_closing = False
        self._heard_at = now()
        self._ooms = _count_ooms()

    # -- the loop ----------------------------------------------------------------------------------

    def serve(self) -> None:
        """Do all there is to do, until there is nobody left to do it for."""
        self._listen()
        while self._trees or not self._is_closing:
            for file, _ in self._poll.poll(self._pause()):
                self._heed(file)
            self._timer.ring()
            self._settle()
            self._flush()
        self._end_strays()
        self._wire.say_the_last()

    def _pause(self) -> float | None:
        pause = self._timer.pause
        return pause if pause is None or not self._trees else min(pause, _LOOK)

    def _listen(self) -> None:
        self._bell, bell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for file in (self._bell, self._wire.fileno(), self._daemon, self._guard):
            self._poll.register(file, select.EPOLLIN)

    def _heed(self, file: int) -> None:
        if file in self._readers:
            self._read(self._readers[file], file)
        elif file == self._wire.fileno():
            self._obey()
        elif file == self._bell:
            self._ring()
            self._reap()
            self._settle()
        elif file in (self._daemon, self._guard):
            self._poll.unregister(file)
            self._close(file)

    def _obey(self) -> None:
        try:
            for message in self._wire.receive():
                if "alive" in message:
                    self._hear_of_life(message.get("at", now()))
                elif "settings" in message:
                    self._learn(message["settings"])
                elif "start" in message and self._is_closing:
                    self._wire.post({"unstarted": message["start"]})
                elif "start" in message:
                    self._start(message)
                elif "end" in message:
                    self._reap()  # who has ended already, has not ended because it was asked to
                    self._end_if_there(message["end"])
        except EOFError:
            self._poll.unregister(self._wire.fileno())
            self._close(self._daemon)

    def _hear_of_life(self, said_at: float) -> None:
        """The daemon lives. When it said so counts: on a host that wakes up, it may speak before we look."""
        if self._leash is not None and said_at - self._heard_at >= self._leash:
            self._pull_all()
        self._heard_at = max(self._heard_at, said_at)
        self._wire.post({"alive": True})

    def _learn(self, settings: Message) -> None:
        self._grace, self._linger = settings["grace"], settings["linger"]
        self._leash = settings["leash"]
        self._tells = settings["tells"]
        self._base = settings["environment"]
        if self._leash is not None:
            self._timer.after(self._leash, self._pull)

    def _flush(self) -> None:
        if self._wire.unsent:
            self._wire.flush()
        if bool(self._wire.unsent) != self._is_writing and not self._is_closing:
            self._is_writing = not self._is_writing
            wanted = select.EPOLLIN | (select.EPOLLOUT if self._is_writing else 0)
            self._poll.modify(self._wire.fileno(), wanted)

    # -- begin -------------------------------------------------------------------------------------

    def _start(self, order: Message) -> None:
        try:
            environment = self._base | order["environment"]
            command = Command(
                order["start"], order["program"], order["arguments"], order["folder"], environment,
                order["stdin"], order["masked"], order["umask"], order["owner"] and Owner(*order["owner"]),
            )  # fmt: skip
            tree = Tree(command, self._spawner)
        except (OSError, ValueError) as error:
            self._wire.post({"ended": order["start"], "refusal": str(error)})
            return
        tree.told_at = now()
        self._trees[tree.number] = self._shells[tree.pid] = tree
        for pipe in tree.pipes:
            self._readers[pipe] = tree
            self._poll.register(pipe, select.EPOLLIN)

    def _read(self, tree: Tree, pipe: int) -> None:
        if not tree.read(pipe):
            self._forget(pipe)
            tree.close(pipe)
        elif self._tells and not tree.is_to_tell:
            tree.is_to_tell = True
            self._timer.after(max(0.0, tree.told_at + _LATER - now()), partial(self._tell, tree))

    def _forget(self, pipe: int) -> None:
        del self._readers[pipe]
        # Closing it is not enough: a child in the middle of its exec still holds it, and it would ring on.
        self._poll.unregister(pipe)

    def _tell(self, tree: Tree) -> None:
        if tree.number in self._trees:
            tree.is_to_tell = False
            tree.told_at = now()
            if self._wire.unsent < _MOST_UNSENT:
                self._wire.post(tree.so_far())

    # -- the dead and the left-over ----------------------------------------------------------------

    def _reap(self) -> None:
        """Take note of the dead. They are not left lying about: every look at children meets them."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._has_news = True
            if tree := self._shells.pop(pid, None):
                tree.code = os.waitstatus_to_exitcode(status)
                self._headless[tree.number] = tree
            self._owners.pop(pid, None)
            self._given_up.discard(pid)

    def _settle(self) -> None:
        """See what the dead have left: nobody, or those who have a while to end by themselves."""
        if not self._has_news:
            return
        self._has_news = False
        orphans = self._orphans() if self._headless else {}
        for tree in list(self._headless.values()):
            if tree not in orphans:
                self._finish(tree)
            elif tree.step is Step.RUNNING:
                tree.step = Step.LINGERING
                self._timer.after(self._linger, partial(self._end, tree, self._grace))
            elif tree.step is Step.ENDING and tree.code == -signal.SIGTERM:
                self._ask(tree)  # the shell had no trap: it forked what is left before it got the signal

    def _orphans(self) -> dict[Tree, list[int]]:
        """The children of this process that are no shells of ours, by the tree that they come from."""
        found: dict[Tree, list[int]] = {}
        for pid in self._strays():
            if tree := self._owner(pid):
                found.setdefault(tree, []).append(pid)
        return found

    def _strays(self) -> list[int]:
        self._reap()
        return [
            pid
            for pid in process_tree.own_children()
            if pid not in self._shells and pid not in self._given_up
        ]

    def _owner(self, pid: int) -> Tree | None:
        if pid not in self._owners:
            tree = self._recognise(pid)
            if tree is None:
                return None  # hidden well: it goes with the last tree
            self._owners[pid] = tree
        return self._owners[pid]

    def _recognise(self, pid: int) -> Tree | None:
        trees = self._trees.values()
        if (mark := process_tree.mark_of(pid)) is not None:
            for tree in trees:
                if tree.mark == mark:
                    return tree
        session, run_id = process_tree.session_of(pid), process_tree.variable_of(pid, b"FOLIOT_RUN_ID")
        for tree in trees:
            if tree.pid == session or (run_id is not None and tree.run_id == run_id):
                return tree
        return next(iter(trees)) if len(trees) == 1 else None

    def _finish(self, tree: Tree, left: Sequence[int] = ()) -> None:
        for pipe in tree.pipes:
            self._forget(pipe)
        tree.drain()
        del self._trees[tree.number]
        self._headless.pop(tree.number, None)
        self._given_up.update(left)
        self._wire.post(tree.at_the_end(is_oom=self._was_oom(tree), left=list(left)))
        if not self._trees and self._strays():  # from no tree that could be named
            process_tree.kill_all(self._strays)

    def _was_oom(self, tree: Tree) -> bool:
        """Whether the kernel has killed for want of memory, and this tree's shell died as if by that."""
        if tree.code not in (-signal.SIGKILL, 128 + signal.SIGKILL) or tree.step is Step.KILLING:
            return False
        before, self._ooms = self._ooms, _count_ooms()
        return self._ooms > before

    # -- ending ------------------------------------------------------------------------------------

    def _roots(self, tree: Tree) -> list[int]:
        shell = [tree.pid] if tree.code is None else []
        return shell + self._orphans().get(tree, [])

    def _end(self, tree: Tree, grace: float) -> None:
        """Ask everybody to end, and kill who has not after a while."""
        if tree.number in self._trees and tree.step in (Step.RUNNING, Step.LINGERING):
            tree.step = Step.ENDING
            self._ask(tree)
            self._timer.after(grace, partial(self._kill, tree))

    def _ask(self, tree: Tree) -> None:
        """Ask everybody to end who was not asked before."""
        tree.asked.update(
            process_tree.end_all(lambda: [pid for pid in self._roots(tree) if pid not in tree.asked])
        )

    def _end_if_there(self, number: int) -> None:
        if tree := self._trees.get(number):
            tree.is_asked = tree.is_asked or tree.code is None
            self._end(tree, self._grace)

    def _kill(self, tree: Tree) -> None:
        if tree.number not in self._trees:
            return
        tree.step = Step.KILLING
        tree.kills += 1
        if tree.kills > _KILLS:
            self._shells.pop(tree.pid, None)
            self._finish(tree, self._roots(tree))
            return
        process_tree.kill_all(partial(self._roots, tree))
        self._timer.after(_AGAIN, partial(self._kill, tree))

    def _end_all(self, because: str, *, is_fault: bool = False) -> None:
        for tree in list(self._trees.values()):
            if tree.step is not Step.KILLING:
                if tree.code is None:
                    tree.because, tree.is_fault = because, is_fault
                self._end(tree, LAST_GRACE)
                self._timer.after(LAST_GRACE, partial(self._kill, tree))

    def _close(self, dead: int) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._wire.post({"closing": True})
            if dead == self._guard:
                self._end_all("the guard of its warden was killed", is_fault=True)
            else:
                self._end_all("the daemon has gone")

    def _pull(self) -> None:
        """Who holds the leash has to say something now and then."""
        leash = self._leash or 0.0
        silence = now() - self._heard_at
        if silence >= leash:
            self._pull_all()
        self._timer.after(max(leash - silence, leash / 4), self._pull)

    def _pull_all(self) -> None:
        self._end_all(f"the daemon was silent for {self._leash:g} s")

    def _end_strays(self) -> None:
        """Let nobody stay behind who belongs to no tree that could be named."""
        deadline = now() + _AGAIN * _KILLS
        while self._strays() and now() < deadline:
            process_tree.kill_all(self._strays)
            select.select([self._bell], [], [], _AGAIN)
            self._ring()

    def _ring(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._bell, 4096)


def _count_ooms() -> int:
    """How often this kernel has killed for want of memory."""
    try:
        with open("/proc/vmstat", "rb") as file:  # noqa: PTH123 - pathlib is large, and the warden small
            for line in file:
                if line.startswith(b"oom_kill "):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0
