"""Nodes that share a store and follow a repository, each with a cache of its own."""

from __future__ import annotations

import signal
from datetime import timedelta
from pathlib import Path

import pytest

from daemon.harness import Daemon, Host, eventually
from daemon.repositories import job
from daemon.site import LEASE, Site, check_each_ran_once, node_of
from foliot.clock import SystemClock
from foliot.model.attempt import Attempt, Outcome, Trigger
from sources.git.scene import git

pytestmark = pytest.mark.prove

clock = SystemClock()
SECOND = timedelta(seconds=1)
IN_TIME = LEASE.total_seconds() + 5


def versioned(site: Site, version: str) -> dict[str, dict[str, object]]:
    """Jobs whose command says which version it is, beside what their files say."""
    say = f"echo $FOLIOT_KEY {version} $(cat text) >> {site.witness}/$FOLIOT_JOB"
    return {f"job{number}": job(say) for number in range(4)}


def test_nodes_converge_on_what_is_pushed_and_no_run_has_files_of_another_version(site: Site) -> None:
    site.repository.push({"text": "v0"}, **versioned(site, "v0"))
    one, two = site.serve(0), site.serve(1)
    site.wait_for_work_of(one, two)

    for turn in range(1, 4):
        jobs = versioned(site, f"v{turn}")
        jobs[f"new{turn}"] = jobs["job0"]
        site.repository.push({"text": f"v{turn}"}, **jobs)
        site.wait_for_lines(f"new{turn}", 2)
    for daemon in (one, two):
        eventually(lambda daemon=daemon: _has_pulled(daemon, site), "that both have pulled")  # type: ignore[misc] # mypy: defaults

    # Who is stopped in order is followed at once: the lease is not waited for.
    assert two.stop() == 0
    assert site.nodes() == {node_of(one)}
    site.wait_for_more("job0", 2)
    lines = [line for name in [*versioned(site, ""), "new1", "new2", "new3"] for line in site.lines(name)]
    check_each_ran_once(lines)
    assert not [line for line in lines if line[1] != line[2]]
    assert {line[1] for line in site.lines("job0")} == {"v0", "v1", "v2", "v3"}
    assert not [*one.all("attempt_failed"), *two.all("attempt_failed")]
    runs = [run for run in site.runs("job0") if not run.is_open]
    assert {run.outcome for run in runs} == {Outcome.SUCCEEDED}
    _check_no_gap(runs)


def _has_pulled(daemon: Daemon, site: Site) -> bool:
    """Whether its snapshots are at what was pushed last."""
    pushed = git(site.repository.tree, "rev-parse", "HEAD")
    notes = daemon.host.cache("foliot").glob(".ops-*/current/set.json")
    return [pushed in note.read_text() for note in notes] == [True]


def _check_no_gap(runs: list[Attempt]) -> None:
    """An occurrence each second, and each has run."""
    moments = sorted({run.scheduled_for for run in runs})
    missing = {moments[0] + n * SECOND for n in range((moments[-1] - moments[0]) // SECOND)} - set(moments)
    assert not missing, sorted(missing)


@pytest.mark.parametrize("site", ["postgres"], indirect=True)
def test_a_node_whose_mirror_lags_never_runs_what_it_lacks(site: Site) -> None:
    site.repository.push({"text": "v1"}, **versioned(site, "v1"))
    mirror = _mirror_of(site, site.hosts[1])
    one, behind = site.serve(0), site.serve(1)
    site.wait_for_work_of(one, behind)

    jobs = versioned(site, "v2")
    site.repository.push({"text": "v2"}, **jobs, new=jobs["job0"])
    site.wait_for_lines("new", 3)
    assert {run.node for run in site.runs("new")} == {node_of(one)}

    assert one.stop() == 0  # now nobody is left who has it
    count = len(site.lines("new"))
    clock.sleep(2.5)
    assert len(site.lines("new")) == count
    assert "is due" in site.host.foliot("job", "why", "new")["text"]

    git(site.repository.tree, "push", "--quiet", str(mirror), "HEAD:main")
    site.wait_for_more("new", 2)
    assert site.runs("new")[-1].node == node_of(behind)
    lines = [line for name in [*jobs, "new"] for line in site.lines(name)]
    check_each_ran_once(lines)
    assert not [line for line in lines if line[1] != line[2]]
    assert not [*one.all("attempt_failed"), *behind.all("attempt_failed")]


def _mirror_of(site: Site, host: Host) -> Path:
    """A copy of the remote, which a host reaches in the remote's place."""
    mirror = site.repository.remote.with_name("mirror.git")
    git(mirror.parent, "clone", "--quiet", "--bare", str(site.repository.remote), str(mirror))
    (host.home / ".gitconfig").write_text(f'[url "{mirror}"]\n  insteadOf = {site.repository.remote}\n')
    return mirror


def test_a_run_outlives_every_end_of_its_node(site: Site) -> None:
    """The node is stopped past its lease, then killed, then drained: each time another goes on with it."""
    tell = f"echo $FOLIOT_KEY $FOLIOT_ATTEMPT $FOLIOT_TRIGGER $$ >> {site.witness}/$FOLIOT_JOB"
    site.repository.push(
        long=job(f"{tell}; setsid sleep 301 & sleep 302", "1h", timeout="9m", on_lost="restart"),
        brief=job(f"{tell}; until test -e {site.witness}/go; do sleep 0.05; done", "1h", timeout="9m"),
    )
    one = site.serve(0)
    for name in ("long", "brief"):
        site.host.foliot("job", "trigger", name)
        site.wait_for_lines(name)
    first = node_of(one)
    two = site.serve(1)

    one.send(signal.SIGSTOP)
    (site.witness / "go").touch()
    took = _time_to_next_attempt(site)
    assert took < IN_TIME
    eventually(lambda: not _sleeps(one.host), "the end of its tree, though its daemon is stopped")
    one.send(signal.SIGCONT)
    one.wait_for("lease_lost")
    assert one.wait_for("node_joined")["node"] != first
    [brief] = site.runs("brief")
    assert (brief.outcome, brief.node) == (Outcome.LOST, first)  # its success came too late to count

    two.kill()
    took = _time_to_next_attempt(site)
    assert took < IN_TIME
    assert two.host.nobody_is_left()

    three = site.serve(2)
    one.send(signal.SIGTERM)
    took = _time_to_next_attempt(site)
    assert took < IN_TIME
    assert one.wait() == 0
    assert one.host.nobody_is_left()
    assert site.nodes() == {node_of(three)}
    runs = site.runs("long")
    assert [run.outcome for run in runs] == [Outcome.LOST, Outcome.LOST, Outcome.INTERRUPTED, None]
    assert [run.trigger for run in runs] == [Trigger.MANUAL, *[Trigger.LOST] * 3]
    assert len({run.node for run in runs}) == 4
    assert [line[1] for line in site.lines("long")] == ["1", "2", "3", "4"]
    drained, last = runs[2].finished_at, runs[3].claimed_at
    assert drained is not None
    assert last is not None
    assert last - drained < LEASE, "who leaves in order is not waited for"


def _time_to_next_attempt(site: Site) -> float:
    began = clock.monotonic()
    site.wait_for_more("long")
    return clock.monotonic() - began


def _sleeps(host: Host) -> list[str]:
    return [words for words in host.processes().values() if words.startswith("sleep 30")]
