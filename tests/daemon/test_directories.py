"""Where a daemon keeps things."""

from __future__ import annotations

from pathlib import Path

import pytest

from foliot.daemon.directories import cache_directory, default_store, make_folder, state_directory
from foliot.errors import FoliotError

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


def test_a_user_without_a_home_is_told_what_to_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    for place in (state_directory, default_store):
        with pytest.raises(FoliotError, match="this user has no home directory") as refused:
            place({})
        assert "--store" in str(refused.value.hint)
    assert cache_directory({"CACHE_DIRECTORY": "/c"}, "foliot") == Path("/c")


def test_a_folder_that_cannot_be_made_is_told_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FoliotError, match=f"the folder {tmp_path}/file/foliot cannot be created: Not a dir"):
        make_folder(tmp_path / "file" / "foliot")
