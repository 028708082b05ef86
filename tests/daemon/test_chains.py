"""Chains with real daemons: one run of the child for each of the parent's, across kills."""

from __future__ import annotations

import pytest

from daemon.harness import Daemons, Host, eventually
from daemon.repositories import Repository, job
from foliot.model.attempt import Attempt, Trigger
from foliot.model.chain import parent_of


def followed(host: Host) -> tuple[set[str], list[str]]:
    """The runs of the parent that succeeded, and the parents of the child's runs."""
    runs = host.runs()
    parents = {run.run_key for run in runs if run.job.endswith("/load") and run.outcome == "succeeded"}
    return parents, [str(parent_of(run)) for run in first_attempts(runs, "report")]


def first_attempts(runs: list[Attempt], name: str) -> list[Attempt]:
    return [run for run in runs if run.job.endswith(f"/{name}") and run.number == 1]


@pytest.mark.req("OWN-21")
def test_a_child_runs_once_after_each_run_and_knows_its_parent(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    told = f'echo "$FOLIOT_AFTER $FOLIOT_TRIGGER" >> {host.witness}/told'
    report = {"after": "load", "run": told}
    repository.push(
        load=job("true"), report=report, never={"after": {"job": "load", "on": "failure"}, "run": "true"}
    )
    daemons.serve(repository.remote)
    lines = host.wait_for_lines("told", 3)
    assert {line.split()[1] for line in lines} == {"after"}
    parents, children = followed(host)
    assert set(children) <= parents
    assert len(children) == len(set(children)) >= 3
    assert [line.split()[0] for line in lines] == children[: len(lines)]
    assert first_attempts(host.runs(), "never") == []


@pytest.mark.prove
@pytest.mark.req("OWN-21")
def test_kills_of_the_daemon_neither_lose_nor_double_a_run_of_the_child(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(load=job("true"), report={"after": "load", "run": "true"})
    for _ in range(6):
        daemon = daemons.serve(repository.remote, "--lease", "2s")
        before = len(followed(host)[1])
        eventually(lambda count=before: len(followed(host)[1]) > count + 1, "more runs")  # type: ignore[misc]
        daemon.kill()
    repository.push(load=job("true", every="30d"), report={"after": "load", "run": "true"})
    daemons.serve(repository.remote, "--lease", "2s")
    eventually(lambda: _is_even(host), "a run of the child for each of the parent's")
    triggers = {run.trigger for run in first_attempts(host.runs(), "report")}
    assert triggers == {Trigger.AFTER}


def _is_even(host: Host) -> bool:
    parents, children = followed(host)
    assert len(children) == len(set(children)), "a run of the parent was followed twice"
    return set(children) == parents and not any(run.is_open for run in host.runs())
