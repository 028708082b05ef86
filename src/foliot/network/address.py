"""What an IP address leads to: the public internet, a private network, or this host.

Only addresses are checked, never their spelling: `127.1`, `0x7f000001` and `2130706433` are names for the
resolver, and arrive here as 127.0.0.1. Some IPv6 addresses contain an IPv4 address; then the IPv4 address is
checked.
"""

from __future__ import annotations

from enum import Enum, auto
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Reach(Enum):
    """What an address leads to."""

    PUBLIC = auto()
    PRIVATE = auto()  # may be opened by a range
    LOCAL = auto()  # this host, its link, the cloud's metadata: may be opened by name only
    NOWHERE = auto()  # no single host: is never opened


def reach_of(address: Address) -> Reach:
    """What an address leads to."""
    inner = _carried(address)
    if inner is not None:
        return reach_of(inner)
    for reach, networks in _NOT_PUBLIC.items():
        if any(address in network for network in networks):
            return reach
    if isinstance(address, IPv6Address) and address not in _GLOBAL_IPV6:
        return Reach.NOWHERE
    return Reach.PUBLIC


def unmapped(text: str) -> Address:
    """The address of a text. An IPv4 address that is mapped into IPv6 becomes IPv4 again."""
    address = ip_address(text.partition("%")[0])  # a scope says which link, not which address
    return _carried(address) or address


def _carried(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address carries and leads to."""
    if isinstance(address, IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour


def _networks(*texts: str) -> tuple[Network, ...]:
    return tuple(map(ip_network, texts))


_GLOBAL_IPV6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
_NOT_PUBLIC: dict[Reach, tuple[Network, ...]] = {
    Reach.LOCAL: _networks(
        "127.0.0.0/8",
        "::1/128",
        "169.254.0.0/16",  # link-local; the metadata servers of most clouds are here
        "fe80::/10",
        "fd00:ec2::/32",  # metadata of Amazon
        "100.100.100.200/32",  # metadata of Alibaba
        "168.63.129.16/32",  # the host below a virtual machine of Azure: a public address, on paper
        "192.0.0.192/32",  # metadata of Oracle
    ),
    Reach.PRIVATE: _networks(
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",  # shared by the customers of a provider
        "198.18.0.0/15",  # benchmarks
        "fc00::/7",
        "fec0::/10",
        "64:ff9b:1::/48",  # a translator of the local network
    ),
    Reach.NOWHERE: _networks(
        "0.0.0.0/8",  # Linux connects to itself
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/128",
        "2001::/23",  # Teredo carries an IPv4 address that it hides
        "2001:db8::/32",
        "3fff::/20",
        "ff00::/8",
    ),
}
