"""Where nodes are born: a process that has everything loaded and forks at once when asked.

Starting Python and importing takes longer than a node lives between two kills. The spawner reads orders
from its standard input, a line each, and tells on its standard output who was born and who died. It has one
thread and no event loop, so that a fork copies nothing half-done.
"""

from __future__ import annotations

import gc
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from typing import Any

from foliot.clock import SystemClock
from foliot_proof.faults import node
from foliot_proof.stores import kind_of

_CLOCK = SystemClock()


def main() -> int:
    """Serve until the standard input ends; then everybody is gone."""
    heard, bell = socket.socketpair()
    for end in (heard, bell):
        end.settimeout(0)
    signal.set_wakeup_fd(bell.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    gc.freeze()
    children: set[int] = set()
    orders = b""
    with selectors.DefaultSelector() as ready:
        ready.register(heard, selectors.EVENT_READ)
        ready.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is heard:
                    heard.recv(4096)
                    continue
                data = os.read(0, 65536)
                if not data:
                    return _end(children)
                *lines, orders = (orders + data).split(b"\n")
                children |= {_bear(line.decode()) for line in lines}
            _bury(children)


def _bear(order: str) -> int:
    kind_of(json.loads(order)["url"]).load()  # once, for all that are born from here on
    pid = os.fork()
    if pid == 0:
        _be_a_node(order)
    _tell(born=pid)
    return pid


def _be_a_node(order: str) -> None:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(2, 1)
        code = node.main(order)
    except BaseException:  # noqa: BLE001 - whatever it was is told, and must not return into the spawner
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _bury(children: set[int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        children.discard(pid)
        _tell(died=pid, code=os.waitstatus_to_exitcode(status))


def _end(children: set[int]) -> int:
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    return 0


def _tell(**facts: Any) -> None:
    os.write(1, json.dumps({"at": _CLOCK.monotonic(), **facts}).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
