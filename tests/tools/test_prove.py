"""The runner of the suites: it runs parts, keeps them within their budgets, and misses no proof."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def prove() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prove", ROOT / "tools/prove.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def main(prove: ModuleType, monkeypatch: pytest.MonkeyPatch, *options: str, **codes: str) -> int:
    """Run the tool on parts that are small programs; they have budgets of a second, or of a minute."""
    parts = tuple(
        prove.Part(name, ("-c", code), 1 / 60 if "hang" in name else 1) for name, code in codes.items()
    )
    monkeypatch.setattr(prove, "SUITES", {"test": parts[:1], "prove": parts[1:]})
    monkeypatch.setattr(sys, "argv", ["prove.py", *options])
    return int(prove.main())


def test_a_suite_tells_how_long_each_part_took(
    prove: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(prove, monkeypatch, tests="print('T')", one="print('A')", two="print('B')") == 0
    said = capfd.readouterr().out
    assert [line for line in said.splitlines() if line in "TAB" and line] == ["A", "B"]
    *parts, together = said.splitlines()[-3:]
    assert [line.split()[0] for line in parts] == ["one", "two"]
    assert all(line.endswith("of  1.0 minutes   ok") for line in parts)
    assert together.endswith("of  2.0 minutes")


def test_programs_keep_what_python_has_compiled(
    prove: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    code = "import sys; print('compiled is', 'lost' if sys.dont_write_bytecode else 'kept')"
    assert main(prove, monkeypatch, tests="", one=code) == 0
    assert "compiled is kept" in capfd.readouterr().out


def test_what_tests_start_can_be_interrupted() -> None:
    """Also if a shell has started the suite in the background, which has programs ignore it."""
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - our own line
    assert done.stdout == "False\n"


def test_one_part_is_run_alone(
    prove: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(prove, monkeypatch, "--only", "two", tests="exit(1)", one="exit(1)", two="print('B')") == 0
    assert "one" not in capfd.readouterr().out


def test_a_part_that_fails_fails_the_suite_when_all_have_run(
    prove: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(prove, monkeypatch, tests="", one="exit(3)", two="print('B')") == 1
    said = capfd.readouterr().out
    assert "failed with code 3" in said
    assert "\nB\n" in said


def test_a_part_far_over_its_budget_is_ended(
    prove: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(prove, "GRACE", 1)  # a shell's background job does not heed an interrupt
    assert main(prove, monkeypatch, tests="", hangs="import signal; signal.pause()") == 1
    assert "ended: not done after 4 times its budget" in capfd.readouterr().out


FLAKY = """
from pathlib import Path
import pytest

def tries():
    file = Path({path!r})
    file.write_text((file.read_text() if file.exists() else "") + "x")
    return len(file.read_text())

def test_of_the_moment():
    assert tries() > {failures}

@pytest.mark.parametrize("case", range({always}))
def test_of_the_code(case):
    assert not case + 1
"""


@pytest.mark.parametrize(
    ("failures", "always", "code", "said"),
    [
        (0, 0, 0, "ok"),
        (1, 0, 0, "failed, and passed alone: test_it.py::test_of_the_moment"),
        (2, 0, 0, "failed, and passed alone: test_it.py::test_of_the_moment"),
        (3, 0, 1, "failed: test_it.py::test_of_the_moment"),
        (1, 1, 1, "failed: test_it.py::test_of_the_code[0]"),
    ],
)
def test_what_fails_is_run_again_and_named(
    *, prove: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
    tmp_path: Path, failures: int, always: int, code: int, said: str,
) -> None:  # fmt: skip
    assert _flaky(prove, monkeypatch, tmp_path, failures, always) == code
    assert said in capfd.readouterr().out


def test_more_failures_than_a_race_would_give_are_not_tried_again(
    prove: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert _flaky(prove, monkeypatch, tmp_path, failures=1, always=5) == 1
    assert "once more" not in capfd.readouterr().out
    assert (tmp_path / "tries").read_text() == "x"


def _flaky(
    prove: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: Path, failures: int, always: int
) -> int:
    """Run a suite of its own, in which tests fail at first, or always."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    code = FLAKY.format(path=str(folder / "tries"), failures=failures, always=always)
    (folder / "test_it.py").write_text(code)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take longer than the tests
    part = prove.Part("own suite", (*prove.PYTEST, "-p", "xdist.plugin", "test_it.py"), 1)
    monkeypatch.setattr(prove, "ROOT", folder)
    monkeypatch.setattr(prove, "CACHE", folder / "cache")
    monkeypatch.setattr(prove, "SUITES", {"test": (part,), "prove": ()})
    monkeypatch.setattr(sys, "argv", ["prove.py", "--suite", "test"])
    return int(prove.main())


def test_an_unknown_part_is_refused(prove: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="no such part: three; there are tests, one"):
        main(prove, monkeypatch, "--only", "three", tests="", one="")


def test_each_folder_of_proofs_is_a_part(prove: ModuleType) -> None:
    folders = {file.parent for file in (ROOT / "proof/tests").rglob("test_*.py")}
    run = {ROOT / word for part in prove.SUITES["prove"] for word in part.command if "proof/" in word}
    assert run == folders


def test_the_budgets_leave_room_on_a_slow_machine(prove: ModuleType) -> None:
    minutes = {name: sum(part.budget for part in parts) for name, parts in prove.SUITES.items()}
    assert minutes["test"] <= 10
    assert minutes["test"] + minutes["prove"] <= 56, (
        "1.5 times as slow, they still fit into an hour and a half"
    )
