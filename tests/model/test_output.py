"""Outputs: from any place on, what is new is found once, and what is missing is told."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from foliot.executors.run_log import RunLog
from foliot.model.output import HEAD, Output, joined

GAP = re.compile(r"\n… (\d+) characters left out …\n")
WRITES = st.lists(st.tuples(st.integers(0, 40_000), st.booleans()), max_size=12)


def stored(log: RunLog) -> Output:
    return Output("app/a", "app/a!1", 1, log.text, log.dropped)


def letters(number: int, length: int) -> str:
    return "".join(chr(ord("a") + (number + place) % 26) for place in range(length))


def check(printed: str, whole: str) -> None:
    """What was printed is what was written, in order, and gaps are told."""
    position = 0
    for place, piece in enumerate(GAP.split(printed)):
        if place % 2:
            position += int(piece)
        else:
            assert whole[position : position + len(piece)] == piece
            position += len(piece)
    assert position == len(whole)


@given(WRITES)
def test_what_is_read_from_place_to_place_is_what_was_written(writes: list[tuple[int, bool]]) -> None:
    log, whole, printed, seen = RunLog(), "", "", 0
    for number, (length, looks) in enumerate([*writes, (0, True)]):
        text = letters(number, length)
        log.write(text)
        whole += text
        if looks:
            part = stored(log).since(seen)
            printed, seen = printed + part.text, part.end
    assert seen == len(whole)
    check(printed, whole)


@given(WRITES)
def test_the_parts_of_a_log_make_another_that_is_equal(writes: list[tuple[int, bool]]) -> None:
    log, mirror, place = RunLog(), RunLog(), 0
    for number, (length, looks) in enumerate([*writes, (0, True)]):
        log.write(letters(number, length))
        if looks:
            for start, text in log.since(place):
                mirror.skip(start)
                mirror.write(text)
                place = start + len(text)
    assert (mirror.text, mirror.dropped) == (log.text, log.dropped)


@given(WRITES)
def test_parts_are_joined_to_all_that_was_seen(writes: list[tuple[int, bool]]) -> None:
    log, whole, parts, place = RunLog(), "", list[tuple[int, str]](), 0
    for number, (length, looks) in enumerate([*writes, (0, True)]):
        text = letters(number, length)
        log.write(text)
        whole += text
        if looks:
            for start, part in log.since(place):
                parts.append((start, part))
                place = start + len(part)
    output = joined(Output("a", "a!1", 1, ""), parts)
    assert output.end == len(whole)
    assert output.text[:HEAD] == whole[:HEAD]
    assert output.text[-1000:] == whole[-1000:]


def test_who_looks_often_misses_nothing_though_the_middle_is_left_out() -> None:
    log, printed, lines, seen = RunLog(), "", "", 0
    for number in range(20_000):
        log(f"line {number}")
        lines += f"line {number}\n"
        if number % 100 == 0 or number == 19_999:
            part = stored(log).since(seen)
            printed, seen = printed + part.text, part.end
    assert log.dropped > 100_000
    assert printed == lines


def test_nothing_new_is_nothing() -> None:
    log, seen, texts = RunLog(), 0, []
    log("once")
    for _ in range(3):
        part = stored(log).since(seen)
        seen = part.end
        texts.append(part.text)
    assert texts == ["once\n", "", ""]


def test_a_text_without_the_mark_that_its_count_promises_is_shown_as_it_is() -> None:
    first = Output("app/a", "r", 1, "the end", 5)
    assert first.end == 12
    assert Output("app/a", "r", 1, "the end, really", 5).since(12).text == ", really"
    assert first.since(2).text == "\n… 3 characters left out …\nthe end"
