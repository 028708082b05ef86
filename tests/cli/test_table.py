"""Tables fit a terminal: less important columns go first, and what is cut shows that it was."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.calls import command, on_a_terminal, run
from cli.shop import Shop
from foliot.cli import table
from foliot.cli.table import Cell, Column, width_of, write_facts, write_rows
from foliot.shown import relative, span

COLUMNS = (Column("KEY"), Column("NAME", least=10), Column("NOTE", 1), Column("DETAIL", 2, 5))
ROW = ("k" * 20, "n" * 20, "t" * 10, Cell("d" * 20, "red"))


def drawn(monkeypatch: pytest.MonkeyPatch, room: int | None, rows: Sequence[table.Row] = (ROW,)) -> list[str]:
    written: list[str] = []
    monkeypatch.setattr(table, "room_of_terminal", lambda: room)
    monkeypatch.setattr(table, "write", lambda text, _: written.append(text))
    write_rows(COLUMNS, rows)
    return written[0].split("\n")


@pytest.mark.parametrize(
    ("room", "headings", "widths"),
    [
        (None, "KEY NAME NOTE DETAIL", [20, 20, 10, 20]),
        (76, "KEY NAME NOTE DETAIL", [20, 20, 10, 20]),
        (60, "KEY NAME NOTE DETAIL", [20, 12, 10, 12]),  # those that may shrink do, the widest first
        (52, "KEY NAME NOTE DETAIL", [20, 10, 10, 6]),
        (50, "KEY NAME NOTE", [20, 16, 10]),  # what matters least is left out
        (43, "KEY NAME", [20, 20]),
        (32, "KEY NAME", [20, 10]),
        (25, "KEY NAME", [13, 10]),  # nothing else helps: the key is cut
    ],
)
def test_a_table_fits(
    monkeypatch: pytest.MonkeyPatch, room: int | None, headings: str, widths: list[int]
) -> None:
    heading, row = drawn(monkeypatch, room)
    assert heading.split() == headings.split()
    assert [len(cell) for cell in row.split("  ")] == widths


def test_a_cut_keeps_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    _, row = drawn(monkeypatch, 32, [("k" * 20, "billing/refresh@7:00", "", "")])
    assert row == "k" * 20 + "  bill…@7:00"


def test_columns_without_anything_in_them_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, None, [("k", "n", "", "d")])[0].split() == ["KEY", "NAME", "DETAIL"]


def test_nothing_steers_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, None, [("a\x1b[31m", "b\nc", "", "")])[1].split() == ["a\\x1b[31m", "b\\nc"]


@pytest.mark.parametrize(
    ("room", "lines"),
    [
        (None, ["key   value", "note  one two three four five six"]),
        (25, ["key   value", "note  one two three four", "      five six"]),
    ],
)
def test_values_stay_to_the_right_of_their_labels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], room: int | None, lines: list[str]
) -> None:
    monkeypatch.setattr(table, "room_of_terminal", lambda: room)
    write_facts([("key", "value"), ("none", None), ("note", "one two three four five six")])
    assert capsys.readouterr().out.splitlines() == lines


@given(
    st.lists(st.tuples(*[st.text(max_size=40)] * 4), min_size=1, max_size=5),
    st.integers(min_value=18, max_value=200),
)
def test_no_line_is_wider_than_its_terminal(rows: list[tuple[str, ...]], room: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        lines = drawn(patch, room, rows)
    assert len(lines) == 1 + len(rows)
    assert max(map(width_of, lines)) <= room


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (0.4, "in 1 s"),
        (-0.4, "now"),
        (-1.9, "1 s ago"),
        (-90, "1 min 30 s ago"),
        (7500, "in 2 h 5 min"),
        (-90_000, "1 d 1 h ago"),
    ],
)
def test_instants_are_told_from_now(seconds: float, words: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert relative(now + timedelta(seconds=seconds), now) == words
    assert relative(None, now) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0 ms"), (0, "0 ms"), (0.0124, "12 ms"), (3.44, "3.4 s"), (59.9, "59 s"), (125, "2 min 5 s")],
)
def test_lengths_are_told_as_exactly_as_they_matter(seconds: float, words: str) -> None:
    assert span(timedelta(seconds=seconds)) == words


# -- on real terminals -----------------------------------------------------------------------------

LISTS = [("job", "list"), ("run", "list"), ("node", "list"), ("job", "show", "billing/report")]


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_a_terminal_shows_colours_within_its_width(shop: Shop, words: tuple[str, ...], columns: int) -> None:
    with on_a_terminal(command("foliot", *words, "--store", shop.url), columns) as screen:
        assert screen.read_to_end() == 0
        assert "\x1b[" in screen.written
        assert max(map(len, screen.lines)) <= columns
        assert "billing/report" in screen.written or words == ("node", "list")


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_without_colours_there_are_no_escape_codes(shop: Shop, words: tuple[str, ...]) -> None:
    call = command("foliot", *words, "--store", shop.url)
    with on_a_terminal(call, NO_COLOR="1") as screen:
        assert screen.read_to_end() == 0
        assert "\x1b" not in screen.written
        assert max(map(len, screen.lines)) <= 80
    assert "\x1b" not in run(call).out


def test_a_rule_is_answered_without_the_modules_of_a_store() -> None:
    code = "from foliot.cli.main import main; main(['cron', 'next', '* * * * *'])"
    result = run(command("python", "-X", "importtime", "-c", code))
    assert result.code == 0
    assert "foliot.cli.cron" in result.err
    assert "foliot.stores" not in result.err
