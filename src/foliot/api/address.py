"""Where a request comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_address, ip_network

from starlette.requests import Request

from foliot.api.service import Service
from foliot.errors import FoliotError, shorten
from foliot.network.address import Network, unmapped

_SIX, _OF_ONE = 6, 64


def address_of(service: Service, request: Request) -> str:
    """The address that a request comes from; behind a proxy that is believed, the one that it tells."""
    peer = request.client.host if request.client else ""
    lines = request.headers.getlist("x-forwarded-for")
    told = lines[-1].rpartition(",")[2].strip() if lines else ""  # the proxy's own; a client may write others
    return told if is_proxy(service.options.proxies, peer) and _is_address(told) else peer


def group_of(address: str) -> str:
    """The addresses that one client may have, for limits: of IPv6, a whole network of 64 bits."""
    try:
        found = unmapped(address)
    except ValueError:  # such as a socket of the file system
        return address
    return str(ip_network((found, _OF_ONE), strict=False)) if found.version == _SIX else str(found)


def is_proxy(proxies: Sequence[Network], peer: str) -> bool:
    """Whether a peer is one of the proxies that are believed."""
    try:
        address = unmapped(peer)
    except ValueError:  # such as a socket of the file system
        return False
    return any(address in network for network in proxies)


def read_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Networks such as `10.0.0.0/8`, or addresses; FoliotError for what is neither."""
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
