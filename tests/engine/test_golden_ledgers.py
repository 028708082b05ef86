"""What was decided once is decided alike today; `golden/README.md` says what to do if that is not wanted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from engine.golden_ledger import FOLDER, answer, read_ledger, write_ledger
from foliot.engine import draft, plan_command, plan_definition, planner

LEDGERS = sorted(FOLDER.glob("*.jsonl.gz"))
MOST_BYTES = 300_000


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_the_planner_decides_as_it_did(path: Path) -> None:
    answers = ((line, answer(line)) for line in read_ledger(path))
    others = [(line, said) for line, said in answers if said != line["answer"]]
    line, said = others[0] if others else ({}, {})
    assert not others, (
        f"{len(others)} questions are answered otherwise; the first of them, {line['ask']} at {line['now']}, "
        f"of {line.get('of')} in {line.get('state')}:\n was {line['answer']}\n is  {said}"
    )


def test_there_is_a_ledger_and_it_asks_everything_that_can_be_asked() -> None:
    assert LEDGERS
    assert sum(path.stat().st_size for path in LEDGERS) < MOST_BYTES
    asked = Counter(line["ask"] for path in LEDGERS for line in read_ledger(path))
    assert min(asked[ask] for ask in ("due", "ended", "lost", "declared", "removed", "command")) > 5
    assert any(line["answer"] == {"refused": True} for path in LEDGERS for line in read_ledger(path))


@pytest.mark.parametrize(
    ("owner", "part", "changed"),
    [
        (planner, "_restart", lambda *_, **__: None),
        (planner, "may_retry", lambda *_: True),
        (draft.Draft, "skip", lambda *_: None),
        (draft.Draft, "is_busy", False),
        (plan_definition, "_keep_debt", lambda *_: False),
        (plan_command, "MOST_BACKFILLED", 1),
    ],
)
def test_a_planner_that_decides_otherwise_is_found_out(
    monkeypatch: pytest.MonkeyPatch, owner: object, part: str, changed: object
) -> None:
    monkeypatch.setattr(owner, part, changed)
    assert any(answer(line) != line["answer"] for line in read_ledger(LEDGERS[-1]))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    lines = list(read_ledger(LEDGERS[-1]))
    write_ledger(tmp_path / "again.jsonl.gz", lines)
    assert list(read_ledger(tmp_path / "again.jsonl.gz")) == lines
