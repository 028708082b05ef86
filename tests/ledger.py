"""The ledger of promises: which of them the tests that ran have proved. A plugin of pytest."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

LEDGER = Path(__file__).parent.parent / "ledger.toml"
# Topics of the contract for stores. It is shipped, and those who write a store need not know our ledger.
OF_CONTRACT = {"CrowdOfOneContract": ["OWN-14"]}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--ledger", action="store_true", help="print which promises have a passing test")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # with xdist, the reports of all workers come together here
        config.pluginmanager.register(Ledger(load_ledger()), "promises")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    promises = {id_ for group in load_ledger().values() for id_ in group}
    for item in items:
        ids = [id_ for mark in item.iter_markers("req") for id_ in mark.args]
        ids += OF_CONTRACT.get(getattr(getattr(item, "function", None), "__qualname__", "").split(".")[0], ())
        if unknown := set(ids) - promises:
            raise pytest.UsageError(f"{item.nodeid} names promises that ledger.toml has not: {unknown}")
        item.user_properties.extend(("req", id_) for id_ in ids)


def load_ledger() -> dict[str, dict[str, str]]:
    """The promises by group; the title of a group stands under `title`."""
    return tomllib.loads(LEDGER.read_text())


class Ledger:
    """Collects which promises were proved by the tests that ran."""

    def __init__(self, groups: dict[str, dict[str, str]]) -> None:
        self.groups = groups
        self.outcomes: dict[str, set[str]] = defaultdict(set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            for name, id_ in report.user_properties:
                if name == "req":
                    self.outcomes[str(id_)].add(report.outcome)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not terminalreporter.config.getoption("--ledger"):
            return
        terminalreporter.section("ledger of promises")
        proved = total = 0
        for group, promises in self.groups.items():
            rows = list(self._rows(promises))
            good = sum(mark == "+" for mark, _ in rows)
            proved, total = proved + good, total + len(rows)
            terminalreporter.write_line(f"\n{group}  {promises['title']}: {good} of {len(rows)}")
            for mark, line in rows:
                terminalreporter.write_line(f"  {mark} {line}", green=mark == "+", red=mark == "!")
        terminalreporter.write_line(f"\n{proved} of {total} promises have a passing test")
        terminalreporter.write_line("(+ passing, ! has a failing or skipped test, . no test yet)")

    def _rows(self, promises: dict[str, str]) -> Iterator[tuple[str, str]]:
        for id_, promise in promises.items():
            if id_ != "title":
                outcomes = self.outcomes.get(id_)
                mark = "." if not outcomes else "+" if outcomes == {"passed"} else "!"
                yield mark, f"{id_}  {promise}"
