"""A site: several hosts with homes and caches of their own, one store, one repository."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

from daemon.harness import Daemon, Daemons, Host, daemons_on, eventually
from daemon.repositories import Repository
from foliot.model.attempt import Attempt

LEASE = timedelta(seconds=3)
APP = """
from foliot import Foliot
app = Foliot("memory://", name="site", lease="{lease}s", drain="{drain}s")
"""


class Site:
    """Hosts, by number, and the daemons on them."""

    def __init__(self, folder: Path, store: str, stack: ExitStack) -> None:
        self.store = store
        self.witness = folder / "witness"
        self.repository = Repository(folder)
        self.hosts = [
            Host(folder / f"host{number}", store=store, witness=self.witness) for number in range(3)
        ]
        self._daemons = [stack.enter_context(daemons_on(host)) for host in self.hosts]
        self.program = folder / "program"
        self.program.mkdir()

    @property
    def host(self) -> Host:
        """Any of them: to look at what all share."""
        return self.hosts[0]

    def daemons(self, number: int) -> Daemons:
        return self._daemons[number]

    def serve(
        self, number: int, *, interval: int = 1, lease: float = LEASE.total_seconds(), drain: float = 1
    ) -> Daemon:
        """A daemon that follows the repository, on one of the hosts."""
        (self.program / "site_app.py").write_text(APP.format(lease=lease, drain=drain))
        return self._daemons[number].serve(
            self.repository.remote, "-i", str(interval), "--app", "site_app:app", "--store", self.store,
            folder=self.program,
        )  # fmt: skip

    def runs(self, job: str | None = None) -> list[Attempt]:
        return self.host.runs(job)

    def run_count(self, node: str) -> int:
        return sum(run.node == node for run in self.runs())

    def lines(self, name: str) -> list[list[str]]:
        """What jobs have written, in words."""
        return [line.split() for line in self.host.lines(name)]

    def wait_for_lines(self, name: str, count: int = 1) -> list[list[str]]:
        self.host.wait_for_lines(name, count)
        return self.lines(name)

    def wait_for_more(self, name: str, count: int = 1) -> list[list[str]]:
        """Wait until it has been written so many times more."""
        return self.wait_for_lines(name, len(self.host.lines(name)) + count)

    def wait_for_work_of(self, *daemons: Daemon) -> None:
        """Wait until each of them has run something."""
        for daemon in daemons:
            eventually(lambda daemon=daemon: self.run_count(node_of(daemon)), "work of each")  # type: ignore[misc] # mypy: defaults

    def nodes(self) -> set[str]:
        """Who lives, as an operator sees it."""
        return {node["node"] for node in self.host.foliot("node", "list")["nodes"] if node["alive"]}


def node_of(daemon: Daemon) -> str:
    """The node that a daemon is now."""
    return str(daemon.all("node_joined")[-1]["node"])


def check_each_ran_once(lines: list[list[str]]) -> None:
    """The first word of each line is the key of a run."""
    often = {key: count for key, count in Counter(line[0] for line in lines).items() if count > 1}
    assert not often


@contextmanager
def site_in(folder: Path, store: str) -> Iterator[Site]:
    """For as long as a test needs it; it leaves nobody behind."""
    with ExitStack() as stack:
        yield Site(folder, store, stack)
