"""Where a request comes from."""

from __future__ import annotations

from ipaddress import ip_address

from starlette.requests import Request

from foliot.api.service import Service
from foliot.network.address import unmapped


def address_of(service: Service, request: Request) -> str:
    """The address that a request comes from; behind a proxy that is believed, the one that it tells."""
    peer = request.client.host if request.client else ""
    lines = request.headers.getlist("x-forwarded-for")
    told = lines[-1].rpartition(",")[2].strip() if lines else ""  # the proxy's own; a client may write others
    return told if _is_proxy(service, peer) and _is_address(told) else peer


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_proxy(service: Service, peer: str) -> bool:
    try:
        address = unmapped(peer)
    except ValueError:  # such as a socket of the file system
        return False
    return any(address in network for network in service.options.proxies)
