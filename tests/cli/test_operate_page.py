"""The pages on operating jobs show what the commands print, to the letter; so does the reference."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cli.calls import call
from cli.shop import Shop
from foliot.cli.exit_code import ExitCode

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs/how-to/operate.md"
PAGES = (PAGE, ROOT / "docs/how-to/run-it-again.md")
BLOCK = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_shows_what_is_printed(shop: Shop, monkeypatch: pytest.MonkeyPatch, page: Path) -> None:
    monkeypatch.setenv("FOLIOT_STORE", shop.url)
    sessions = [part for block in BLOCK.findall(page.read_text()) for part in block.split("$ ")[1:]]
    assert len(sessions) >= 10
    for session in sessions:
        line, _, expected = session.partition("\n")
        foliot, *words = shlex.split(line)
        result = call(*words)
        assert (foliot, result.out + result.err) == ("foliot", expected), line


def test_the_page_lists_every_exit_code() -> None:
    listed = re.findall(r"^\| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    assert [int(code) for code in listed] == [code.value for code in ExitCode]
