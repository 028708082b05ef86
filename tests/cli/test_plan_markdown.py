"""A plan as a comment: a stranger's texts are shown, and do nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from cli.calls import Result
from cli.plan_scene import AFTER, NOON, Scene
from foliot.cli.plan_markdown import LONGEST, markdown_of
from foliot.engine.change import ChangePlan, Code, JobChange, Kind, warning
from foliot.engine.change.model import FieldChange

NOW = datetime(2026, 11, 16, 11, tzinfo=UTC)
JOINER = "\u2060"
HOSTILE = (
    "`code` ``more`` ```",
    "a | b |\n| c",
    "@everyone and @octo-cat",
    "<script>alert(1)</script>",
    "<!-- x --> -->",
    "</details></summary>",
    "[click](https://evil.example) ![x](http://evil.example/x.png)",
    "https://evil.example www.evil.example",
    "#12 octo/repo#34 !5 %6 ~7 &8 $9",
    "\n/close\n# heading\n- item",
    "\r\n\r\n***bold*** __b__ ~~s~~",
    "&lt;b&gt; &#64;admin",
    "$x^2$ \\(y\\) \\[z\\]",
    "\x1b[31mred \u202egnp.exe",
    "x" * 5000,
)
_ALLOWED_HTML = (
    "<details>",
    "</details>",
    "<summary>",
    "</summary>",
    "<details><summary>What changes</summary>\n\n",
)


def plan_of(text: str, jobs: int = 1) -> ChangePlan:
    changes = tuple(
        JobChange(
            f"{number}{text}" if jobs > 1 else text, Kind.CHANGED, (FieldChange("run", text, text + "2"),),
            effects=(warning(Code.HERD, text),), findings=(text,), resolved=(text,), old_name=text,
        )
        for number in range(jobs)
    )  # fmt: skip
    effects = (warning(Code.ZONE_GUESSED, text),)
    return ChangePlan(text, NOW, NOW + timedelta(days=7), changes, effects=effects, base=text, head=text)


def tokens_of(text: str) -> list[Token]:
    parsed = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return [*parsed, *(inner for token in parsed for inner in token.children or ())]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_strangers_text_is_only_text(text: str) -> None:
    written = markdown_of(plan_of(text))
    first, *_ = written.splitlines()
    assert first.startswith("<!-- foliot-plan:")
    assert first.count("-->") == 1
    tokens = tokens_of(written)
    kinds = {token.type for token in tokens}
    assert not kinds & {"link_open", "image", "fence", "code_block", "s_open", "blockquote_open", "hr"}
    for token in tokens:
        if token.type in ("html_inline", "html_block"):
            shown = token.content.strip()
            assert shown in (first, "</details>") or shown == "<details><summary>What changes</summary>", (
                shown
            )
        if token.type == "code_inline":
            assert token.content in {"~", *(code.value for code in Code), "foliot plan -o json"}
        if token.type == "text":
            for mark in "@#!%$^":
                assert mark not in token.content.replace(f"{mark}{JOINER}", "")
            assert "://" not in token.content
            assert "www" not in token.content.lower()
    assert [line for line in written.splitlines() if line.startswith(("/", "#"))] == [
        line for line in written.splitlines() if line.startswith(("### Plan for ", "#### Warnings"))
    ]


def test_a_table_has_as_many_cells_as_columns() -> None:
    rows = [
        token for token in tokens_of(markdown_of(plan_of("a | b"))) if token.type in ("td_open", "tr_open")
    ]
    assert [token.type for token in rows] == ["tr_open", "tr_open", *["td_open"] * 4]


@pytest.mark.parametrize("jobs", [10, 500, 3000])
@pytest.mark.parametrize("text", ["job", "<&>" * 200])
def test_a_comment_has_a_bound(jobs: int, text: str) -> None:
    written = markdown_of(plan_of(text, jobs))
    assert len(written) <= LONGEST
    assert written.count("<details>") == written.count("</details>")
    assert "At the switch:" in written


def test_the_comment_of_a_real_plan(tmp_path: object) -> None:
    scene = Scene(tmp_path)  # type: ignore[arg-type]
    scene.write(AFTER)
    result: Result = scene.plan("--base", "main", "-omarkdown", "--at", NOON)
    lines = result.out.splitlines()
    assert lines[0] == f"<!-- foliot-plan:{scene.source} -->"
    assert "| `~` | backup | 7 → 7; each moves 2 h 30 min earlier | Mon 2026-11-16 23:00 |" in lines
    assert "- **backup**: today has two runs: 01:30 (past) and 23:00 `twice-a-day`" in lines
    assert "louder" not in result.out
