"""The URL of a store on PostgreSQL: what is refused is refused clearly, and no password is shown."""

from __future__ import annotations

import pytest

from foliot.errors import InvalidStoreError
from foliot.stores.postgres.address import read_address
from foliot.wiring import check_url

TORN = [
    "postgresql://u:sec@ret@db:1/shop",
    "postgresql://u:sec#ret@db:1/shop",
    "postgresql://u:sec/ret@db:1/shop",
    "postgresql://u:sec?ret@db:1/shop",
    "postgresql://u:sec%ret@db:1/shop",
    "postgresql://u:sec ret@db:1/shop",
    "postgresql://u:[secret@db:1/shop",
    "postgresql://u:sec\u2100ret@db:1/shop",
    "postgresql://db:1/shop?user=u&password=sec&ret",
    "postgresql://db:1/shop?user=u&password=secret&unknown=1",
]


@pytest.mark.parametrize("url", TORN)
@pytest.mark.parametrize("read", [read_address, check_url])
def test_a_password_that_tears_the_url_is_refused_and_not_shown(read: object, url: str) -> None:
    assert callable(read)
    with pytest.raises(InvalidStoreError) as caught:
        read(url)
    error = caught.value
    assert "percent-encode" in str(error)
    said = f"{error!r} {error} {error.details} {error.__cause__!r} {error.__context__!r}"
    assert "sec" not in said
    assert "ret" not in said


def test_no_option_is_shown_even_if_an_at_sign_is_in_it() -> None:
    with pytest.raises(InvalidStoreError) as caught:
        read_address("postgresql://db:1/shop?password=sec@ret&schema=BAD")
    assert "a schema is named by" in str(caught.value)
    assert "ret" not in f"{caught.value} {caught.value.details}"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:se%40c%23r%2Fet@db:1/shop",
        "postgresql://db1:5432,db2:5432/shop?target_session_attrs=read-write",
        "postgresql:///shop?host=/run/postgresql",
        "postgres://u@[::1]:5432/shop",
        "postgresql://",
    ],
)
def test_what_the_driver_reads_is_read(url: str) -> None:
    assert read_address(url).schema == "foliot"


@pytest.mark.parametrize("url", ["mysql://db/shop", "shop.db", "http://[db"])
def test_an_unknown_scheme_is_told_of_those_that_are_known(url: str) -> None:
    with pytest.raises(InvalidStoreError) as caught:
        check_url(url)
    for scheme in ("sqlite:///", "postgresql://", "memory://"):
        assert scheme in (caught.value.hint or "")
