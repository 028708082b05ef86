"""The tutorial, played as its reader plays it: files are written, and a shell gets its commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from programs import PATIENCE, Program, eventually

PAGE = Path(__file__).parent.parent.parent / "docs/tutorial.md"
BLOCK = re.compile(r"^```(py|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.mark.prove
def test_every_step_of_the_tutorial_works_as_it_says(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    with Program(tmp_path, "/bin/bash") as shell:
        for language, block in BLOCK.findall(PAGE.read_text()):
            if language == "py":
                reader.write(block)
            else:
                reader.follow(block, shell)
        shell.write("exit")
        assert shell.process.wait(PATIENCE) == 0
    assert reader.written == ["report.py", "history.py"]
    assert reader.typed == 6


class Reader:
    """Does what the page says, and compares what the shell prints with what the page shows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: list[str] = []
        self.typed = 0
        self._instants: dict[str, str] = {}  # of the page, as they are today

    def write(self, block: str) -> None:
        name = block.splitlines()[0].removeprefix("# ")
        (self.folder / name).write_text(block)
        self.written.append(name)

    def follow(self, block: str, shell: Program) -> None:
        for line in block.splitlines():
            if line.startswith("$ "):
                shell.write(line.removeprefix("$ "))
                self.typed += 1
            else:
                self._expect(line, shell)

    def _expect(self, line: str, shell: Program) -> None:
        """The line comes, sooner or later, with an instant of today in the place of the page's."""
        shown = INSTANT.search(line)
        assert shown, line
        before, after = line[: shown.start()], line[shown.end() :]
        printed = shell.read_until(after)
        today = INSTANT.search(printed)
        assert today, printed
        assert printed == f"{before}{today[0]}{after}"
        assert self._instants.setdefault(shown[0], today[0]) == today[0]


@pytest.mark.prove
def test_its_first_command_needs_nothing_that_is_not_there(tmp_path: Path) -> None:
    """A reader who kills it before the job began has lost nothing either."""
    Reader(tmp_path).write(BLOCK.findall(PAGE.read_text())[0][1])
    with Program(tmp_path, "/bin/bash") as shell:
        shell.write("python report.py &")
        eventually((tmp_path / "jobs.db").exists)
        shell.write("kill -9 $!")
        shell.write("python report.py &")
        shell.read_until("#1 page 5")
