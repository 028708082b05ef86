"""The examples of the documents door, each started as its users start it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from programs import PATIENCE, example


@pytest.mark.req("DOC-21", "DOC-01")
def test_the_basic_example_ends_with_three_documents(tmp_path: Path) -> None:
    with example(tmp_path, "documents_basic.py") as program:
        program.read_until("left: ")
        assert program.process.wait(PATIENCE) == 0
    ran = [line.removeprefix("processing ") for line in program.lines if line.startswith("processing")]
    assert {"now", "later", "each second", "gone"} == set(ran)
    assert ran.count("now") == ran.count("later") == ran.count("gone") == 1
    assert ran.count("each second") > 1
    assert program.lines[-1] == "left: now, later, each second"


@pytest.mark.req("DOC-21")
def test_the_mongodb_example_sends_its_mail_and_stops(tmp_path: Path, mongodb_url: str) -> None:
    with example(tmp_path, "documents_mongodb.py", mongodb_url) as program:
        program.read_until("a mail to ann")
        assert program.end(signal.SIGTERM) == 0
        assert program.read_to_end()[-1] == "stopped"
