from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest

from foliot.network.address import Reach, reach_of, unmapped
from foliot.network.errors import AddressRefusedError, InvalidUrlError
from foliot.network.guard import Guard, Opening, Place, resolve


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        ("8.8.8.8", Reach.PUBLIC),
        ("172.15.255.255", Reach.PUBLIC),
        ("172.32.0.1", Reach.PUBLIC),
        ("2606:4700::1111", Reach.PUBLIC),
        ("::ffff:8.8.8.8", Reach.PUBLIC),
        ("64:ff9b::808:808", Reach.PUBLIC),
        ("2002:808:808::1", Reach.PUBLIC),
        ("10.1.2.3", Reach.PRIVATE),
        ("172.31.255.255", Reach.PRIVATE),
        ("192.168.1.1", Reach.PRIVATE),
        ("100.64.0.1", Reach.PRIVATE),
        ("fd12::1", Reach.PRIVATE),
        ("fec0::1", Reach.PRIVATE),
        ("::ffff:10.0.0.1", Reach.PRIVATE),
        ("64:ff9b::a00:1", Reach.PRIVATE),
        ("64:ff9b:1::1", Reach.PRIVATE),
        ("2002:a00:1::1", Reach.PRIVATE),
        ("127.0.0.1", Reach.LOCAL),
        ("127.255.255.254", Reach.LOCAL),
        ("::1", Reach.LOCAL),
        ("::127.0.0.1", Reach.LOCAL),
        ("::ffff:127.0.0.1", Reach.LOCAL),
        ("::ffff:169.254.169.254", Reach.LOCAL),
        ("64:ff9b::a9fe:a9fe", Reach.LOCAL),
        ("2002:7f00:1::", Reach.LOCAL),
        ("169.254.169.254", Reach.LOCAL),
        ("fe80::1", Reach.LOCAL),
        ("fd00:ec2::254", Reach.LOCAL),
        ("100.100.100.200", Reach.LOCAL),
        ("168.63.129.16", Reach.LOCAL),
        ("192.0.0.192", Reach.LOCAL),
        ("0.0.0.0", Reach.NOWHERE),  # noqa: S104 - a case
        ("0.1.2.3", Reach.NOWHERE),
        ("::", Reach.NOWHERE),
        ("::ffff:0.0.0.0", Reach.NOWHERE),
        ("224.0.0.1", Reach.NOWHERE),
        ("255.255.255.255", Reach.NOWHERE),
        ("192.0.2.1", Reach.NOWHERE),
        ("ff02::1", Reach.NOWHERE),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", Reach.NOWHERE),
        ("2001:db8::1", Reach.NOWHERE),
        ("4000::1", Reach.NOWHERE),
        ("100::1", Reach.NOWHERE),
    ],
)
def test_where_an_address_leads(address: str, reach: Reach) -> None:
    assert reach_of(ip_address(address)) is reach


def test_a_scope_is_no_part_of_an_address() -> None:
    assert reach_of(unmapped("fe80::1%eth0")) is Reach.LOCAL


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1",
        "0177.0.0.1", "017700000001", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:0:0:1",
        "0", "0.0.0.0",  # noqa: S104 - a case
        "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "10.0.0.1",
        "012.1", "192.168.1", "3232235777", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "fd12::1", "::",
    ],
)  # fmt: skip
def test_no_spelling_passes_the_guard(host: str) -> None:
    with pytest.raises((AddressRefusedError, socket.gaierror)):
        Guard().addresses(host, 80)


@pytest.mark.parametrize("host", ["2130706433", "0177.0.0.1", "0x7f.1", "127.1"])
def test_the_system_reads_these_spellings(host: str) -> None:
    assert {place.sockaddr[0] for place in resolve(host, 80)} == {"127.0.0.1"}


def names(*addresses: str) -> Guard:
    return Guard(resolver=_saying(*addresses))


def _saying(*addresses: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a resolver
    return lambda _host, port: [Place(socket.AF_INET, (address, port)) for address in addresses]


def test_the_answers_of_the_resolver_are_what_is_connected_to() -> None:
    places = names("8.8.8.8", "8.8.4.4").addresses("example.org", 443)

    assert [place.sockaddr for place in places] == [("8.8.8.8", 443), ("8.8.4.4", 443)]


def test_one_private_address_among_public_ones_refuses_the_host() -> None:
    with pytest.raises(AddressRefusedError, match=r"example\.org may not be reached: 10\.0\.0\.1 is"):
        names("8.8.8.8", "10.0.0.1").addresses("example.org", 443)


@pytest.mark.parametrize(
    ("opening", "host", "address", "passes"),
    [
        ("10.0.0.0/8", "intern", "10.1.2.3", True),
        ("10.0.0.0/8", "intern", "192.168.0.1", False),
        ("0.0.0.0/0", "intern", "127.0.0.1", False),
        ("0.0.0.0/0", "intern", "169.254.169.254", False),
        ("169.254.0.0/16", "intern", "169.254.169.254", False),
        ("::/0", "intern", "::1", False),
        ("127.0.0.0/8", "intern", "127.0.0.1", False),
        ("intern", "intern", "127.0.0.1", True),
        ("Intern.", "intern", "127.0.0.1", True),
        ("intern:443", "intern", "10.0.0.1", True),
        ("intern:80", "intern", "10.0.0.1", False),
        ("intern", "extern", "10.0.0.1", False),
        ("intern", "intern", "0.0.0.0", False),  # noqa: S104 - a case
        ("intern", "intern", "224.0.0.1", False),
        ("[::1]:443", "::1", "::1", True),
        ("::1", "::1", "::1", True),
    ],
)
def test_what_the_operator_opens(opening: str, host: str, address: str, passes: bool) -> None:  # noqa: FBT001
    guard = Guard.allowing([opening], _saying(address))

    if passes:
        assert guard.addresses(host, 443)
    else:
        with pytest.raises(AddressRefusedError):
            guard.addresses(host, 443)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10.0.0.0/33",
        "10.0.0.1/8",
        "a b",
        "host:0",
        "host:99999",
        "host:http",
        "host:²",
        "[::1]x",
        "u@host",
    ],
)
def test_what_is_no_opening(text: str) -> None:
    with pytest.raises(InvalidUrlError):
        Opening.read(text)


def test_a_public_address_of_this_host_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Services here take a call from here for one of their own, past a firewall that is outside."""
    monkeypatch.setattr("foliot.network.guard.is_of_this_host", lambda *_: True)
    with pytest.raises(AddressRefusedError, match="leads to this host"):
        names("8.8.8.8").addresses("example.org", 5432)
    opened = Guard.allowing(["example.org:5432"], _saying("8.8.8.8"))
    assert opened.addresses("example.org", 5432)
