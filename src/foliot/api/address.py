"""The address of a client: for limits and the audit, also behind a trusted proxy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_address, ip_network

from starlette.requests import Request

from foliot.api.service import Service
from foliot.errors import FoliotError, shorten
from foliot.network.address import Network, unmapped

_SIX, _OF_ONE = 6, 64


def address_of(service: Service, request: Request) -> str:
    """The address of the client: the peer, or the address in a trusted proxy's X-Forwarded-For."""
    peer = request.client.host if request.client else ""
    lines = request.headers.getlist("x-forwarded-for")
    # The proxy has written the last address; the client may have written the others.
    told = lines[-1].rpartition(",")[2].strip() if lines else ""
    return told if is_proxy(service.options.proxies, peer) and _is_address(told) else peer


def group_of(address: str) -> str:
    """The unit for limits: an IPv4 address, or an IPv6 network of 64 bits, which one client may own."""
    try:
        found = unmapped(address)
    except ValueError:  # such as a socket of the file system
        return address
    return str(ip_network((found, _OF_ONE), strict=False)) if found.version == _SIX else str(found)


def is_proxy(proxies: Sequence[Network], peer: str) -> bool:
    """Whether a peer is one of the trusted proxies."""
    try:
        address = unmapped(peer)
    except ValueError:  # such as a socket of the file system
        return False
    return any(address in network for network in proxies)


def read_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Networks such as `10.0.0.0/8`, or addresses; FoliotError for any other text."""
    found = []
    for text in texts:
        try:
            found.append(ip_network(text))
        except ValueError:
            raise FoliotError(f"{shorten(text)} is no network", hint="such as 10.0.0.0/8") from None
    return tuple(found)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
