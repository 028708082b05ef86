"""`foliot top`: jobs by what needs attention, on a terminal and without one."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest

from cli.calls import command, on_a_terminal
from cli.shop import Shop
from foliot.cli.short import Names
from foliot.cli.top_view import last_line


def test_without_a_terminal_it_prints_one_frame_with_what_needs_attention_first(shop: Shop) -> None:
    result = shop.call("top")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0].endswith(f"  {shop.url}")
    assert lines[1:4] == ["5 jobs, 1 failing, 1 running or waiting", "1 node: web-1 process 4711", ""]
    assert lines[4].split() == ["JOB", "STATE", "NEXT", "AT", "LAST", "LAST", "RUN", "SAID"]
    assert [line.split()[0] for line in lines[5:7]] == ["billing/report", "billing/slow"]
    assert "running 5.0 s" in lines[6]
    assert lines[5].endswith("done"), "what it wrote last"


def test_a_store_on_which_no_node_works_says_so(shop: Shop) -> None:
    shop.wait(timedelta(hours=1))
    assert "no Foliot process is running, so nothing will start (try foliot serve)" in shop.call("top").out


def test_json_is_for_another_command(shop: Shop) -> None:
    refused = shop.call("top", "-ojson")
    assert refused.code == 2
    assert "foliot job list -o json" in refused.json()["error"]["message"]


@pytest.mark.parametrize("columns", [80, 50])
def test_on_a_terminal_it_is_live_fits_and_ends_with_q(shop: Shop, columns: int) -> None:
    words = command("foliot", "top", "--store", shop.url, "--every", "1s")
    with on_a_terminal(words, columns) as screen:
        screen.read_until("q quits")
        seen = len(screen.written)
        while "JOB" not in screen.written[seen:]:  # another frame
            assert screen._read()
        os.write(screen.terminal, b"q")
        assert screen.read_to_end() == 0
    rows = [line for line in screen.lines if "billing/report" in line]
    assert rows
    assert all(len(line.rstrip()) <= columns for line in rows)


def test_a_name_stands_without_its_source_if_there_is_one() -> None:
    assert Names(["ops"], is_short=True).job("ops/backup") == "backup"
    assert Names(["ops", "shop"], is_short=True).job("ops/backup") == "ops/backup"
    assert Names(["ops"]).job("ops/backup") == "ops/backup"


@pytest.mark.parametrize(
    ("text", "last"),
    [("", ""), ("a\nb\n", "b"), ("a\n\n \n", "a"), ("one line", "one line")],
)
def test_the_last_line_is_one_that_says_something(text: str, last: str) -> None:
    assert last_line(text) == last
