"""The collector pauses for batches, whichever threads they are of, and is then as it was before."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from foliot.stores.sql.gc_paused import gc_paused


@pytest.fixture(autouse=True)
def on() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_it_pauses_until_the_last_of_overlapping_batches_is_over() -> None:
    first, second = gc_paused(), gc_paused()
    with first:
        assert not gc.isenabled()
        second.__enter__()
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_it_goes_on_after_a_batch_that_failed() -> None:
    with pytest.raises(LookupError), gc_paused():
        raise LookupError
    assert gc.isenabled()


def test_who_has_switched_it_off_finds_it_off() -> None:
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()
