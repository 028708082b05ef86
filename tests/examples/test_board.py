"""The board of schedules: its logic under a clock of our own, and the script itself."""

from __future__ import annotations

import importlib
import io
import signal
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from rich.console import Console

from cli.calls import PATIENCE, command, on_a_terminal, run, start
from foliot import Cron

board = importlib.import_module("examples.board")

SCRIPT = str(Path(board.__file__ or ""))
BOARD = command("python", SCRIPT)
NOON = datetime(2026, 3, 28, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


class FakeClock:
    """Time that passes only when someone sleeps; it ends the program after some sleeps, as Ctrl-C would."""

    def __init__(self, now: datetime, sleeps: int) -> None:
        self.time = now
        self.left = sleeps
        self.moments = [now]

    def now(self) -> datetime:
        return self.time

    def sleep(self, seconds: float) -> None:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.time += timedelta(seconds=seconds)
        self.moments.append(self.time)


def test_an_entry_starts_with_what_it_means_and_what_comes_next() -> None:
    (entry,) = board.set_up([Cron("0 9 * * 1-5", timezone="Europe/Berlin")], NOON)
    row = board.to_row(entry, NOON)
    assert (row.expression, row.zone) == ("0 9 * * 1-5", "Europe/Berlin")
    assert row.words == "at 09:00 on weekdays, Berlin time"
    assert (row.next_at, row.wait) == ("2026-03-30 09:00:00", "in 1 d 19 h")
    assert (row.count, row.is_flashing) == ("0", False)


def test_an_occurrence_counts_and_flashes_for_a_moment() -> None:
    entries = board.set_up([Cron("* * * * *")], NOON)
    due = NOON + 60 * SECOND
    before, none = board.move_on(entries, due - SECOND)
    assert (before, none) == (entries, [])
    after, (arrival,) = board.move_on(before, due)
    assert after == [arrival]
    assert (arrival.latest_at, arrival.next_at) == (due, due + 60 * SECOND)
    assert [board.to_row(after[0], due + n * SECOND).count for n in range(4)] == ["* 1", "* 1", "1", "1"]


def test_after_a_long_pause_each_occurrence_is_told_in_order() -> None:
    rules = [Cron("@every 10s"), Cron("*/15 * * * * *", dialect="seconds")]
    entries, arrivals = board.move_on(board.set_up(rules, NOON), NOON + 30 * SECOND)
    assert [entry.count for entry in entries] == [3, 2]
    assert [(entry.latest_at - NOON).total_seconds() for entry in arrivals] == [10, 15, 20, 30, 30]


def test_a_repeated_hour_is_told_in_the_order_of_time_not_of_the_clock_on_the_wall() -> None:
    start_at = datetime(2026, 10, 25, tzinfo=UTC)
    rules = [Cron("5 2 * * *", timezone="Europe/Berlin"), Cron("30 2 * * *", timezone="Europe/Berlin")]
    _, arrivals = board.move_on(board.set_up(rules, start_at), start_at + timedelta(hours=2))
    assert [entry.rule.expression.split()[0] for entry in arrivals] == ["5", "30", "5", "30"]


def test_a_rule_without_a_further_occurrence_says_so() -> None:
    (entry,) = board.set_up([Cron("@every 3650000d")], NOON)
    row = board.to_row(entry, NOON)
    assert (row.next_at, row.wait) == ("never again", "")


@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (timedelta(milliseconds=400), "in 1 s"),
        (timedelta(seconds=72), "in 1 min 12 s"),
        (timedelta(minutes=2), "in 2 min 0 s"),
        (timedelta(days=470, hours=15, minutes=3), "in 470 d 15 h"),
    ],
)
def test_a_wait_counts_down_in_two_units(wait: timedelta, words: str) -> None:
    assert board.in_words(wait) == words


def test_the_live_board_is_redrawn_as_each_second_begins() -> None:
    screen = io.StringIO()
    clock = FakeClock(NOON.replace(microsecond=250_000), sleeps=3)
    with pytest.raises(KeyboardInterrupt):
        board.run_live([Cron("@every 2s")], clock, Console(file=screen, force_terminal=True, width=80))
    assert clock.moments[1:] == [NOON + n * SECOND for n in (1, 2, 3)]
    drawn = screen.getvalue()
    assert drawn.count("in 2 s") >= 1
    assert "* 1" in drawn
    assert drawn.endswith("\x1b[?25h")  # the cursor is back


def test_the_plain_board_prints_a_line_for_each_occurrence(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock(NOON, sleeps=2)
    with pytest.raises(KeyboardInterrupt):
        board.run_plain([Cron("@every 10s", timezone="Asia/Tokyo")], clock, Console(width=80))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [
        "12:00:10 UTC  @every 10s  occurrence 2026-03-28T21:00:10+09:00; next 2026-03-28T21:00:20+09:00",
        "12:00:20 UTC  @every 10s  occurrence 2026-03-28T21:00:20+09:00; next 2026-03-28T21:00:30+09:00",
    ]


def test_the_plain_board_never_sleeps_for_long(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock(NOON, sleeps=3)
    with pytest.raises(KeyboardInterrupt):
        board.run_plain([Cron("@yearly")], clock, Console(width=80))
    assert [later - earlier for earlier, later in pairwise(clock.moments)] == [timedelta(minutes=1)] * 3
    assert "in words" in capsys.readouterr().out


def test_the_plain_board_ends_when_nothing_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    board.run_plain([Cron("@every 3650000d")], FakeClock(NOON, sleeps=0), Console(width=80))
    assert "never again" in capsys.readouterr().out


def test_the_own_rules_fit_a_terminal_of_80_by_24() -> None:
    screen = io.StringIO()
    entries = board.set_up(board.RULES, NOON)
    Console(file=screen, width=80).print(board.draw([board.to_row(entry, NOON) for entry in entries]))
    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 22
    assert "…" not in screen.getvalue()


def test_without_a_terminal_it_prints_the_board_and_then_lines() -> None:
    with start([*BOARD, "@every 1s"]) as process:
        assert process.stdout
        assert process.stderr
        lines = iter(process.stdout.readline, "")
        assert any("every second" in line for line in lines)
        assert any("UTC  @every 1s  occurrence " in line for line in lines)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


def test_a_reader_that_leaves_early_is_no_error() -> None:
    with start([*BOARD, "@every 1s"]) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_on_a_terminal_it_is_live_until_interrupted(stop: signal.Signals) -> None:
    with on_a_terminal([*BOARD, "@every 1s"]) as screen:
        screen.read_until("* 1")
        screen.process.send_signal(stop)
        assert screen.read_to_end() == 0
        assert "\x1b[?25l" in screen.written
        assert screen.written.rstrip().endswith("\x1b[?25h")
        assert "Traceback" not in screen.written


def test_a_bad_expression_is_refused_clearly() -> None:
    result = run([*BOARD, "* * * * *", "0 9 * * 8"])
    assert (result.code, result.out) == (3, "")
    assert result.err.splitlines() == [
        'error: Invalid cron expression "0 9 * * 8": weekday field value 8 out of range (0-6)',
        "hint: weekdays are numbers from 0 to 6",
    ]
