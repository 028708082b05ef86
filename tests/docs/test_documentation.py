"""What users rely on is documented, and the documentation leads nowhere that is not there."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from foliot import errors, errors_access
from foliot.schedules.cron_syntax import DIALECTS, LONGEST_EXPRESSION, MACROS

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text()) if not target.startswith("https://")]

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("folder", ["", "how-to", "explanation", "reference", "adr"])
def test_each_page_can_be_reached_from_the_index_of_its_folder(folder: str) -> None:
    home = ROOT / "docs" / folder
    index = (home / ("README.md" if folder else "index.md")).read_text()

    for page in home.glob("*.md"):
        assert page.name in index or page.name in ("README.md", "index.md"), page


def test_every_error_is_documented() -> None:
    reference = (ROOT / "docs/reference/errors.md").read_text()
    known = {**vars(errors), **vars(errors_access)}
    names = [name for name, value in known.items() if inspect.isclass(value) and name.endswith("Error")]

    assert [name for name in names if f"`{name}`" not in reference and name != "FoliotError"] == []


def test_the_whole_language_is_documented() -> None:
    reference = (ROOT / "docs/reference/cron-language.md").read_text()

    for word in (*DIALECTS, *MACROS, "@every", f"{LONGEST_EXPRESSION:,}"):
        assert word in reference


def test_no_registry_host_and_no_path_of_a_machine_is_named() -> None:
    hosts = re.compile(
        r"py"
        r"pi\.org|python"
        r"hosted\.org|npm"
        r"js\.(org|com)|deb"
        r"ian\.org/debian|/ro"
        r"ot/|/wo"
        r"rk/"
    )
    suffixes = {".md", ".py", ".toml", ".lock", ".sh", ".json", ".svg", ""}
    files = [f for f in ROOT.rglob("*") if f.is_file() and f.suffix in suffixes and not _is_generated(f)]

    assert len(files) > 50
    assert [str(file) for file in files if hosts.search(file.read_text(errors="ignore"))] == []


def _is_generated(file: Path) -> bool:
    parts = file.relative_to(ROOT).parts
    return "__pycache__" in parts or any(part.startswith(".") and part != ".ci" for part in parts)


@pytest.mark.parametrize("name", ["cli_reference", "rest_reference", "speed_tables"])
def test_the_pages_that_are_made_by_tools_are_up_to_date(name: str) -> None:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)

    assert tool.PAGE.read_text() == tool.page(), "run make reference"
