"""Where a daemon keeps things."""

from __future__ import annotations

from pathlib import Path

import pytest

from foliot.daemon.places import cache_directory, default_store, state_directory

HOME = {"HOME": "/home/ann"}


@pytest.mark.req("ROLL-20")
@pytest.mark.parametrize(
    ("environment", "program", "cache", "state"),
    [
        (HOME, "rollcron", "/home/ann/.cache/rollcron", "/home/ann/.local/state/foliot"),
        (HOME, "foliot", "/home/ann/.cache/foliot", "/home/ann/.local/state/foliot"),
        (HOME | {"XDG_CACHE_HOME": "/c", "XDG_STATE_HOME": "/s"}, "rollcron", "/c/rollcron", "/s/foliot"),
        (  # relative ones are to be ignored, says their specification
            HOME | {"XDG_CACHE_HOME": "c", "XDG_STATE_HOME": ""},
            "foliot",
            "/home/ann/.cache/foliot",
            "/home/ann/.local/state/foliot",
        ),
        (
            HOME | {"XDG_CACHE_HOME": "/c", "CACHE_DIRECTORY": "/var/cache/x", "STATE_DIRECTORY": "/a:/b"},
            "foliot",
            "/var/cache/x",
            "/a",
        ),
    ],
)
def test_directories_follow_the_unit_then_the_user_then_custom(
    environment: dict[str, str], program: str, cache: str, state: str
) -> None:
    assert cache_directory(environment, program) == Path(cache)
    assert state_directory(environment) == Path(state)


def test_a_home_with_odd_characters_gives_a_url_that_can_be_read_back() -> None:
    assert (
        default_store({"HOME": "/home/a b%?#"})
        == "sqlite:////home/a%20b%25%3F%23/.local/state/foliot/foliot.db"
    )
