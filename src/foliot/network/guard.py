"""The guard: which servers a request may reach."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from typing import NamedTuple

from foliot.network.address import Address, Network, Reach, reach_of, unmapped
from foliot.network.errors import AddressRefusedError, InvalidUrlError
from foliot.network.own_port import is_of_this_host, is_own

_SAID = {
    Reach.PRIVATE: "is an address of a private network",
    Reach.LOCAL: "leads to this host, or to its own link",
    Reach.NOWHERE: "is the address of no host",
}
_HINT = "if it is meant, the operator of the node must allow this host by its name"
_LAST_PORT = 65_535


class Place(NamedTuple):
    """An address to connect to: family and address, as in `socket`."""

    family: int
    sockaddr: tuple[str, int] | tuple[str, int, int, int]


Resolver = Callable[[str, int], Sequence[Place]]


def resolve(host: str, port: int) -> Sequence[Place]:
    """Ask the system's resolver. It understands names, and every spelling of an address."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [Place(family, sockaddr[:4]) for family, _, _, _, sockaddr in found]  # type: ignore[arg-type]


class Opening(NamedTuple):
    """An exception that the operator makes: a host by its name, or a range of private addresses."""

    host: str | None
    network: Network | None
    port: int | None

    @classmethod
    def read(cls, text: str) -> Opening:
        """Read `host`, `host:port`, `10.0.0.0/8`, `[::1]:8080`. InvalidUrlError if it is none of these."""
        if "/" in text:
            try:
                return cls(None, ip_network(text), None)
            except ValueError:
                raise InvalidUrlError(text, "is no range of addresses", hint="such as 10.0.0.0/8") from None
        host, port = split_host(text)
        return cls(host, None, port)

    def covers(self, host: str, port: int, address: Address, reach: Reach) -> bool:
        """Whether this opens the way to an address of a host."""
        if self.port not in (None, port) or reach is Reach.NOWHERE:
            return False
        if self.host is not None:
            return plain_host(self.host) == plain_host(host)
        # A range must not open the metadata server or this host by accident.
        return reach is Reach.PRIVATE and self.network is not None and address in self.network


@dataclass(frozen=True, slots=True)
class Guard:
    """Lets requests reach public addresses, and the operator's exceptions."""

    openings: tuple[Opening, ...] = ()
    resolver: Resolver = resolve

    @classmethod
    def allowing(cls, openings: Iterable[str], resolver: Resolver = resolve) -> Guard:
        """A guard with these exceptions: `host`, `host:port` or a range such as `10.0.0.0/8`."""
        return cls(tuple(map(Opening.read, openings)), resolver)

    def addresses(self, host: str, port: int) -> list[Place]:
        """The addresses of a host. The caller connects to one of them, and does not resolve the name again.

        If one address may not be reached, the host is refused: otherwise a second try might reach it.
        AddressRefusedError if it is refused; OSError if the host is not found.
        """
        places = list(self.resolver(host, port))
        for place in places:
            if is_own(*place):
                raise AddressRefusedError(host, f"port {port}", "is this node's own")
            self._judge(host, port, place)
        return places

    def _judge(self, host: str, port: int, place: Place) -> None:
        address = unmapped(place.sockaddr[0])
        reach = reach_of(address)
        if reach is Reach.PUBLIC and is_of_this_host(*place):
            reach = Reach.LOCAL  # services of this host may trust a call from this host
        if reach is Reach.PUBLIC or any(o.covers(host, port, address, reach) for o in self.openings):
            return
        raise AddressRefusedError(host, str(address), _SAID[reach], hint=_HINT)


def split_host(text: str) -> tuple[str, int | None]:
    """The host and the port of `host`, `host:port`, `[::1]:port` or `::1`."""
    host, port = text, ""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
        if rest and rest == port:
            raise InvalidUrlError(text, "has something between host and port")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    if not host or not host.isprintable() or any(c in host for c in " /@?#\\"):
        raise InvalidUrlError(text, "names no host")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) <= _LAST_PORT):
        raise InvalidUrlError(text, f"has no port from 1 to {_LAST_PORT}")
    return host, int(port) if port else None


def plain_host(host: str) -> str:
    """A host for comparison: in lower case, and without a dot at the end."""
    return host.casefold().rstrip(".")
