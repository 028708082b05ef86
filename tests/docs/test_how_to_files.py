"""Files of jobs on how-to pages are good files: a reader may copy them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from foliot.doors.rollcron import read_config

PAGES = Path(__file__).parents[2] / "docs/how-to"
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = [
    pytest.param(text, id=f"{name}-{number}")
    for name in ("short-answers.md", "history.md", "limit-several-jobs.md")
    for number, text in enumerate(BLOCK.findall((PAGES / name).read_text()))
]


@pytest.mark.parametrize("text", FILES)
def test_a_file_of_jobs_on_a_page_is_good(text: str) -> None:
    assert read_config(text, source="shop")
