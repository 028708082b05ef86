"""What a URL of the store on Redis may say, and what is refused, without showing a password."""

from __future__ import annotations

import pytest

from foliot.errors import InvalidStoreError
from foliot.stores.redis.address import read_address


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("redis://h", {"host": "h"}),
        ("redis://", {"host": "localhost"}),
        ("valkey://u:p%40@h:7/3", {"host": "h", "port": 7, "db": 3, "username": "u", "password": "p@"}),
        ("unix:///run/redis.sock?db=2", {"path": "/run/redis.sock", "db": 2}),
    ],
)
def test_the_driver_gets_its_part_of_a_url(url: str, server: dict[str, object]) -> None:
    found = read_address(url).server
    assert {name: value for name, value in found.items() if name != "connection_class"} == server


@pytest.mark.parametrize("scheme", ["rediss", "valkeys"])
def test_tls_is_a_scheme_and_certificates_are_checked(scheme: str) -> None:
    server = read_address(f"{scheme}://h?ssl_ca_certs=/etc/ours.crt").server
    assert server["connection_class"].__name__ == "SSLConnection"
    assert "ssl_cert_reqs" not in server  # the driver's own default is to check
    assert server["ssl_ca_certs"] == "/etc/ours.crt"


def test_all_keys_of_a_namespace_are_in_one_slot() -> None:
    assert read_address("redis://h").prefix == "{foliot}"
    assert read_address("redis://h?namespace=shop.eu-1").prefix == "{shop.eu-1}"


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:hu@sh@h",
        "redis://u:hu#sh@h",
        "redis://u:hush@h/db",
        "redis://u:hush@h:port",
        "redis://u:hush@h?namespace=",
        "redis://u:hush@h?namespace={a}",
        "redis://u:hush@h?unsafe=all",
        "redis://u:hush@h?ssl_cert_reqs=none",
        "redis://u:hush@h?decode_responses=yes",
        "unix://",
        "redis://u:[hush@h",
    ],
)
def test_what_cannot_be_is_refused_and_keeps_its_secret(url: str) -> None:
    with pytest.raises(InvalidStoreError) as refused:
        read_address(url)
    assert "hush" not in f"{refused.value}{refused.value.details}{refused.value.hint}"
    assert refused.value.__context__ is None
