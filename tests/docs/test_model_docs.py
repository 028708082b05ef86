"""The pages about attempts and policies say what the model says."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from foliot.model import presets
from foliot.model.attempt import TRANSITIONS, Outcome, Trigger
from foliot.model.policy import Policy

ROOT = Path(__file__).parent.parent.parent


def load(tool: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(tool, ROOT / f"tools/{tool}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("tool", ["state_machine", "policy_reference"])
def test_a_generated_page_is_up_to_date(tool: str) -> None:
    module = load(tool)

    assert module.PAGE.read_text() == module.page(), "run make reference"


def test_the_diagram_and_the_table_show_every_transition_and_no_other() -> None:
    page = (ROOT / "docs/reference/attempts.md").read_text()
    transitions = [(before, after) for before, follows in TRANSITIONS.items() for after in follows]

    assert re.findall(r"^ +(\w+) --> (\w+):", page, re.MULTILINE) == transitions
    assert re.findall(r"^\| `(\w+)` \| `(\w+)` \|", page, re.MULTILINE) == transitions


def test_each_trigger_and_each_outcome_has_a_row() -> None:
    page = (ROOT / "docs/reference/attempts.md").read_text()

    for member in (*Trigger, *Outcome):
        assert f"\n| `{member}` | " in page


def test_a_word_that_two_policies_share_is_explained_for_each() -> None:
    page = (ROOT / "docs/reference/policies.md").read_text()

    assert "| `wait` | it waits for its next occurrence |" in page
    assert "| `wait` | it waits for the run to end;" in page


def test_each_policy_has_a_meaning_and_none_is_left_from_earlier() -> None:
    tool = load("policy_reference")

    assert sorted(tool.MEANINGS) == sorted(path for path, _ in tool.leaves(Policy()))


@pytest.mark.parametrize(
    ("door", "policy", "cell"),
    [
        ("rollcron", "misfire", "skip, grace 1m"),
        ("rollcron", "timeout", "10s"),
        ("declarative", "retry", "for ever, after 10s, pre-empted"),
        ("declarative", "first_seen", "if_matching"),
        ("beat", "overlap", "parallel"),
        ("api", "on_lost", "restart"),
        ("code", "keep", "last 100, 30 days"),
    ],
)
def test_the_table_of_presets_says_what_each_door_does(door: str, policy: str, cell: str) -> None:
    tool = load("policy_reference")
    lines = (ROOT / "docs/reference/policies.md").read_text().split("## Presets")[1].splitlines()
    header = next(line for line in lines if line.startswith("| policy"))
    row = next(line for line in lines if line.startswith(f"| `{policy}` |"))
    columns = [word.strip() for word in header.split("|")]

    assert row.split("|")[columns.index(door)].strip().strip("*") == cell
    assert tool.summary(getattr(presets, door.upper()))[policy] == cell
