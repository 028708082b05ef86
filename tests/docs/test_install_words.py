"""Pages say how Foliot is installed today: from a clone or a wheel, because it is not on PyPI."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *(path for path in ROOT.glob("docs/**/*.md") if "adr" not in path.parts)]
_BY_NAME = re.compile(r"(?:pip|pipx|uv tool|uv pip) install (?:-\S+ )*['\"]?foliot\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_page_installs_foliot_by_its_name(page: Path) -> None:
    assert _BY_NAME.findall(page.read_text()) == []
