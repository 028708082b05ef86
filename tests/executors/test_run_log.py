"""A run's log keeps the beginning and the end, and counts what it had to leave out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.executors.run_log import RunLog
from foliot.model.output import HEAD, TAIL


def test_it_is_called_like_print() -> None:
    log = RunLog()
    log("a", 1, None, sep="-")
    log("no newline", end="")
    print("!", file=log, flush=True)
    assert log.text == "a-1-None\nno newline!\n"
    assert log.dropped == 0


def test_what_fits_is_kept_to_the_character() -> None:
    log = RunLog()
    text = "x" * (HEAD + TAIL)
    log.write(text)
    assert (log.text, log.dropped) == (text, 0)


@given(st.lists(st.integers(0, 40_000), max_size=30))
def test_the_beginning_and_the_end_are_kept_however_it_is_cut(sizes: list[int]) -> None:
    whole = "".join(chr(97 + position % 26) * size for position, size in enumerate(sizes))
    log = RunLog()
    for position, size in enumerate(sizes):
        log.write(chr(97 + position % 26) * size)

    assert log.dropped == max(0, len(whole) - HEAD - TAIL)
    if log.dropped:
        assert log.text == f"{whole[:HEAD]}\n… {log.dropped} characters left out …\n{whole[-TAIL:]}"
    else:
        assert log.text == whole


def test_a_flood_takes_bounded_memory() -> None:
    log = RunLog()
    for _ in range(20_000):
        log.write("y" * 100)
    assert sum(map(len, log._head)) + sum(map(len, log._tail)) <= HEAD + TAIL + 100


def test_it_takes_text_only() -> None:
    with pytest.raises(TypeError, match="takes text, not bytes"):
        RunLog().write(b"x")  # type: ignore[arg-type] # what people write by mistake
