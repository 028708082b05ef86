"""The ports on which this process listens: no job may call them.

A job that calls the API of its own node could do more than its author may do. Ports belong to the process,
not to one application in it, so this module keeps them for all applications.
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_listening: Counter[int] = Counter()


@contextmanager
def listening_on(port: int) -> Iterator[None]:
    """Within this block the process listens on a port."""
    _listening[port] += 1
    try:
        yield
    finally:
        _listening[port] -= 1


def is_own(family: int, sockaddr: tuple[str, int] | tuple[str, int, int, int]) -> bool:
    """Whether a connection to that address would reach this process."""
    port = sockaddr[1]
    return _listening[port] > 0 and is_of_this_host(family, sockaddr)


def is_of_this_host(family: int, sockaddr: tuple[str, int] | tuple[str, int, int, int]) -> bool:
    """Whether an address is of this host: only then it can be bound. A datagram socket takes no port away."""
    host, _, *scope = sockaddr
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0, *scope))
    except OSError:
        return False
    return True
