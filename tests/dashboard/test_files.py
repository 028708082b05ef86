"""What the files of the dashboard may have, and how large they may be."""

from __future__ import annotations

import re
from gzip import compress
from pathlib import Path

import pytest

from foliot.dashboard.view import CSP, HERE, environment

TEMPLATES = sorted((HERE / "templates").glob("*.html"))
CODE = sorted(HERE.glob("*.py"))


@pytest.mark.req("OWN-12")
@pytest.mark.parametrize("file", [*TEMPLATES, *CODE], ids=lambda file: file.name)
def test_no_text_goes_around_the_escaping(file: Path) -> None:
    text = file.read_text()
    assert not re.search(r"\|\s*safe\b|Markup\(|autoescape\s+false|autoescape=False", text)


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_no_template_has_inline_script_or_style(file: Path) -> None:
    text = file.read_text()
    assert not re.search(r"\son[a-z]+=|\sstyle=|<style|javascript:|<script>|https?://(?!partner)", text)
    for attribute in re.findall(r"\s(?:href|src|action|value|title|class|id|data-\w+)=(?=[^\"'])", text):
        raise AssertionError(f"an attribute without quotes: {attribute}")


def test_the_script_and_the_style_are_small() -> None:
    script, style = HERE / "static" / "script.js", HERE / "static" / "style.css"
    assert script.read_text().count("\n") <= 300
    assert len(compress(style.read_bytes())) <= 12_000
    assert len(compress(script.read_bytes())) <= 6_000
    assert not re.search(
        r"innerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", script.read_text()
    )
    assert "@import" not in style.read_text()
    assert "url(" not in style.read_text()


def test_the_policy_allows_our_own_files_only() -> None:
    assert CSP.startswith("default-src 'none'")
    assert "unsafe" not in CSP
    assert "http" not in CSP


def test_an_unknown_name_in_a_template_is_an_error() -> None:
    assert environment().undefined.__name__ == "StrictUndefined"
    assert environment().autoescape is True
