"""Commands that mean something else where exit codes count: told to a person, with the field that helps."""

from __future__ import annotations

import pytest

from foliot.importers.hints import hints


def told(command: str, rule: str = "0 9 1-7 * *") -> dict[str, str]:
    return {note.code: note.text for note in hints(command, rule)}


@pytest.mark.parametrize(
    "command",
    [
        "[ $(date +%u) = 1 ] && x",
        "test -x /usr/bin/x && x",
        "cd /srv && [ -e lock ] && ./x",
        "[ -x /usr/lib/php/sessionclean ] && if [ ! -d /run/systemd/system ]; then sessionclean; fi",
    ],
)
def test_a_test_in_front_needs_a_look(command: str) -> None:
    (note,) = [note for note in hints(command, "@daily") if note.code == "exit-code"]
    assert note.needs_person
    assert "exit_codes: {skip: [1]}" in note.text


@pytest.mark.parametrize(
    "command",
    [
        "test -x /usr/sbin/anacron || ( cd / && run-parts /etc/cron.daily )",
        "[ -e x ] && y || true",
        "[ -e x ] && y; true",
        "if [ -e x ]; then y; fi",
        "backup && latest",
        "echo '[x] &&'",
    ],
)
def test_a_command_that_ends_well_anyway_needs_none(command: str) -> None:
    assert told(command) == {}


@pytest.mark.parametrize(
    ("command", "rule", "words"),
    [
        ("[ $(date +%u) = 1 ] && x", "0 9 1-7 * *", "only: mondays; without the test"),
        ('[ "$(date +%a)" = "Tue" ] && x', "0 9 1-7 * *", "only: tuesdays; without the test"),
        ("test $(date +%w) -eq 0 && x", "0 9 1-7 * *", 'sundays: {cron: "* * * * SUN"}'),
        ('[ "$(date +%d)" -le 7 ] && x', "0 9 * * 1", "only: mondays, and the rule 0 9 1-7 * *; without"),
        ("[ $(date +%-d) -lt 8 ] && x", "5 4 * * fri", "only: fridays, and the rule 5 4 1-7 * *; without"),
    ],
)
def test_the_first_monday_of_a_month_is_proposed_as_a_calendar(command: str, rule: str, words: str) -> None:
    assert words in told(command, rule)["only"]


def test_a_test_of_the_date_alone_names_no_day() -> None:
    assert set(told("[ $(date +%d) -le 7 ] && x", "@daily")) == {"exit-code"}
    assert set(told("[ $(date +%u) = 9 ] && x")) == {"exit-code"}
