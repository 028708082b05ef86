"""The public names are pinned: adding or losing one is a decision, not an accident."""

from __future__ import annotations

import inspect
from importlib import metadata
from pathlib import Path

import foliot
from foliot import errors, schedules


def test_public_names() -> None:
    assert sorted(foliot.__all__) == ["Cron", "Every", "Once"]
    assert sorted(schedules.__all__) == ["Cron", "Every", "Once", "Schedule"]
    assert all(hasattr(foliot, name) for name in foliot.__all__)


def test_every_error_is_in_the_tree_that_is_drawn() -> None:
    drawn = inspect.getdoc(errors) or ""
    classes = [
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and value.__module__ == errors.__name__
    ]

    assert len(classes) > 5
    for cls in classes:
        assert issubclass(cls, errors.FoliotError)
        assert cls.__name__.endswith("Error")
        assert cls.__name__ in drawn, f"{cls.__name__} is missing in the drawing"


def test_the_package_is_typed_and_its_version_is_known() -> None:
    assert (Path(foliot.__file__).parent / "py.typed").is_file()
    assert metadata.version("foliot") == "0.1.0"


def test_console_scripts() -> None:
    scripts = {
        entry.name
        for entry in metadata.distribution("foliot").entry_points
        if entry.group == "console_scripts"
    }

    assert scripts == {"foliot", "rollcron"}


def test_extras() -> None:
    assert set(metadata.metadata("foliot").get_all("Provides-Extra") or ()) == {
        "postgres",
        "redis",
        "mongodb",
        "celery",
        "all",
    }
