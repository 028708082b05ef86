"""Groups of a repository: never more runs at a time than the file, or the operator, says."""

from __future__ import annotations

import json

import pytest

from daemon.harness import Daemons, Host, eventually
from daemon.repositories import CONFIG, Repository, job


def jobs_of(host: Host) -> str:
    """A file with three jobs of a group; each tells if it finds another at work."""
    lock, overlap = f"{host.witness}/lock", f"{host.witness}/overlap"
    command = (
        f"mkdir {lock} || echo two >> {overlap}; sleep 0.2; rmdir {lock}; echo done >> {host.witness}/done"
    )
    jobs = {name: job(command, group="db", concurrency="wait") for name in ("one", "two", "three")}
    return json.dumps({"groups": {"db": 1}, "jobs": jobs})


@pytest.mark.req("OWN-21")
def test_one_at_a_time_over_two_daemons(daemons: Daemons, repository: Repository, host: Host) -> None:
    repository.push({CONFIG: jobs_of(host)})
    for name in ("a", "b"):
        daemons.serve(repository.remote, "--cache", host.folder / name)
    host.wait_for_lines("done", 9)
    assert host.lines("overlap") == []
    assert {view.record.job.group for view in host.jobs().values() if view.record} == {
        f"{repository_source(host)}.db"
    }


def repository_source(host: Host) -> str:
    return next(iter(host.jobs().values())).key.partition("/")[0]


def test_the_operator_has_the_last_word(daemons: Daemons, repository: Repository, host: Host) -> None:
    repository.push({CONFIG: jobs_of(host)})
    daemons.serve(repository.remote, "--groups", "db=3")
    host.wait_for_lines("overlap", 1)


def test_a_group_that_nobody_limits_waits_and_why_tells(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(one=job("true", group="db"), two=job("true"))
    daemon = daemons.serve(repository.remote)
    daemon.wait_for("run_succeeded", name="two")
    told = eventually(lambda: "db" in (text := json.dumps(host.foliot("job", "why", "one"))) and text, "it")
    assert "waits for group db, for which no running node has a limit" in str(told)
    assert host.runs("one") == []
    daemon.stop()
    daemon = daemons.serve(repository.remote, "--groups", "db=1")
    daemon.wait_for("run_succeeded", name="one")
