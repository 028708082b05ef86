"""What runs, and when: overlaps, timeouts, failures, isolation, output, and punctual starts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from cli.calls import command, start
from daemon.harness import SLACK, Daemons, Host, eventually, lateness
from daemon.repositories import CONFIG, Repository, job
from foliot.model.attempt import Attempt, Outcome

# A tree of three: the shell, a child that ignores TERM, and one that has left for a session of its own.
DEAF_TREE = "(trap '' TERM; sleep 61) & setsid sleep 62 & sleep 63"
TREE = "sleep 61 & setsid sleep 62 & sleep 63"


def overlaps(runs: list[Attempt]) -> bool:
    """Whether a run began before the one before it had ended."""
    pairs = pairwise(sorted(runs, key=lambda run: run.scheduled_for))
    return any(b.started_at and a.finished_at and b.started_at < a.finished_at for a, b in pairs)


def ended(host: Host, name: str, count: int) -> list[Attempt]:
    """The runs of a job, when at least so many have ended."""
    return eventually(
        lambda: runs if len(runs := [r for r in host.runs(name) if not r.is_open]) >= count else None
    ) or []  # fmt: skip


@pytest.mark.prove
@pytest.mark.req("ROLL-08", "ROLL-09", "ROLL-10")
def test_overlapping_occurrences_are_started_waited_for_or_skipped(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    jobs = {mode: job("sleep 2.3", concurrency=mode) for mode in ("parallel", "wait", "skip")}
    repository.push(**jobs, usual=job("sleep 2.3"))
    daemon = daemons.rollcron(repository.remote)

    parallel = ended(host, "parallel", 3)
    wait, skip, usual = (ended(host, name, 2) for name in ("wait", "skip", "usual"))
    daemon.stop()

    assert overlaps(parallel)
    assert {(b.scheduled_for - a.scheduled_for).total_seconds() for a, b in pairwise(parallel)} == {1}
    for runs in (wait, skip, usual):
        assert not overlaps(runs)
    first, second = wait[:2]
    assert first.finished_at
    assert second.started_at
    assert second.started_at - first.finished_at < timedelta(seconds=SLACK)
    assert second.scheduled_for < first.finished_at  # it had waited
    for name, runs in (("skip", skip), ("usual", usual)):
        assert all(max(lateness([run])) < SLACK for run in runs)  # none has waited
        first, second = runs[:2]
        dropped = host.skips(name)[0]
        assert first.scheduled_for < dropped.first <= dropped.last < second.scheduled_for
        assert "open" in dropped.reason or "still" in dropped.reason


@pytest.mark.prove
@pytest.mark.req("ROLL-11")
def test_replace_ends_the_whole_tree_before_the_next_starts(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(
        one=job(f"echo $$ >> {host.witness}/began; {TREE}", "3s", concurrency="replace", timeout="1h")
    )
    daemon = daemons.rollcron(repository.remote)

    host.wait_for_lines("began")
    first = eventually(lambda: sleepers(host) if len(sleepers(host)) == 3 else None)
    host.wait_for_lines("began", 2)

    left = set(first or ()) & set(sleepers(host))
    assert not left
    old, new = [run for run in host.runs("one") if run.claimed_at][:2]
    assert old.outcome is Outcome.CANCELLED
    assert old.finished_at is not None
    assert new.claimed_at is not None
    assert old.finished_at <= new.claimed_at
    daemon.kill()
    eventually(lambda: not sleepers(host))


@pytest.mark.prove
@pytest.mark.req("ROLL-12")
def test_a_run_that_takes_too_long_is_ended_with_all_its_children(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(slow=job(DEAF_TREE, "1s", timeout="1s", name="Slow One"), quick=job("true"))
    daemon = daemons.rollcron(repository.remote)

    failed = daemon.wait_for("attempt_failed", name="Slow One", outcome="timed_out")

    run = next(run for run in host.runs("slow") if run.run_key == failed["run"])
    assert run.outcome is Outcome.TIMED_OUT
    assert "1s" in failed["error"] or "1 s" in failed["error"]
    later = {pid for pid, word in sleepers(host).items() if run.run_key in environment_of(pid)}
    assert not later
    daemon.wait_for("run_succeeded", name="quick")


@pytest.mark.req("ROLL-13", "ROLL-18")
def test_what_a_failing_command_complains_of_is_logged_by_its_name_and_the_rest_goes_on(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    fail = "echo fine; echo first >&2; echo 'no such table: invoices' >&2; exit 3"
    repository.push(
        bad=job(fail, name="Nightly Bill"),
        gone=job("no-such-command-xyz"),
        killed=job("kill -9 $$"),
        good=job("true"),
    )
    daemon = daemons.rollcron(repository.remote)

    failed = daemon.wait_for("attempt_failed", name="Nightly Bill")

    assert failed["level"] == "warning"
    assert re.search(r"exit code 3: .*no such table: invoices", failed["error"])
    assert re.search(r"first.*no such table: invoices", failed["stderr"], re.DOTALL)
    for _ in range(2):  # and the scheduler goes on, with that job too
        daemon.wait_for("run_succeeded", name="good")
        daemon.wait_for("attempt_failed", name="Nightly Bill")
    codes = {run.job.partition("/")[2]: run.exit_code for run in host.runs() if not run.is_open}
    assert codes == {"bad": 3, "gone": 127, "killed": -9, "good": 0}
    assert daemon.all("attempt_failed", name="gone", error=re.compile("no-such-command-xyz: not found"))
    assert daemon.all("attempt_failed", name="killed", error=re.compile("SIGKILL"))


@pytest.mark.prove
@pytest.mark.req("ROLL-07")
def test_a_job_runs_through_ten_reloads_undisturbed(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    look = "{ pwd; cat turn mine; }"
    wait = f"while ! test -e {host.witness}/go; do sleep 0.05; done"
    long = f"cp turn mine; {look} > {host.witness}/before; {wait}; {look} > {host.witness}/after"
    jobs = {"long": job(long, timeout="5m"), "other": job("true", "1h")}
    repository.push({"turn": "0\n"}, **jobs)
    daemon = daemons.rollcron(repository.remote)
    before = host.wait_for_lines("before", 3)
    files = len(list(Path(f"/proc/{daemon.pid}/fd").iterdir()))

    for number in range(1, 11):
        revision = repository.push({"turn": f"{number}\n"}, **jobs, more=job(f"echo {number}", "1h"))
        daemon.pull()
        daemon.wait_for("source_moved", revision=revision[:12])
    (host.witness / "go").touch()

    assert host.wait_for_lines("after", 3) == before
    assert before[1:] == ["0", "0"]
    daemon.wait_for("run_succeeded", name="long")
    run = host.runs("long")[0]
    assert (run.number, run.outcome) == (1, Outcome.SUCCEEDED)
    assert not daemon.all("attempt_failed")
    assert (
        len(list(Path(f"/proc/{daemon.pid}/fd").iterdir())) <= files + 8
    )  # none is left open for each reload
    (link,) = host.cache().glob("*@long")
    assert str(link.resolve()) != before[0]
    assert (link / "turn").read_text() == "10\n"
    daemon.pull()  # and what nobody is in any more goes
    eventually(lambda: not Path(before[0]).exists())


def test_a_run_goes_on_to_its_end_when_its_job_changes_or_leaves_the_file(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    wait = f"while ! test -e {host.witness}/go; do sleep 0.05; done"
    long = f"echo x >> {host.witness}/$FOLIOT_JOB; {wait}; test -e {CONFIG}"
    repository.push(changes=job(long, timeout="5m"), leaves=job(long, timeout="5m"))
    daemon = daemons.rollcron(repository.remote)
    for name in ("changes", "leaves"):
        host.wait_for_lines(name)

    repository.push(changes=job("exit 5", "1h"))
    daemon.pull()
    daemon.wait_for("source_moved", jobs=1)
    (host.witness / "go").touch()

    for name in ("changes", "leaves"):
        assert ended(host, name, 1)[0].outcome is Outcome.SUCCEEDED
    assert not daemon.all("attempt_failed")


def test_a_cache_that_was_emptied_by_others_is_filled_again_at_once_and_no_run_fails_for_it(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push({"text": "x\n"}, one=job("cat text"))
    daemon = daemons.rollcron(repository.remote)
    daemon.wait_for("run_succeeded")

    shutil.rmtree(host.cache().rename(host.folder / "old"))
    eventually(lambda: [*host.cache().glob("ops-*@one/text")], "that it is filled again")
    daemon.skip_to_now()

    daemon.wait_for("run_succeeded", name="one")
    assert not daemon.all("attempt_failed", error=re.compile("snapshot"))


@pytest.mark.req("ROLL-23")
def test_no_job_sees_what_another_writes(daemons: Daemons, repository: Repository, host: Host) -> None:
    file = f"{host.witness}/$FOLIOT_JOB"
    write = f"date > mark-$FOLIOT_JOB; date >> shared; wc -l < shared >> {file}; ls -A >> {file}"
    repository.push({"shared": ""}, a=job(write), b=job(write))
    daemons.rollcron(repository.remote)

    for name in ("a", "b"):
        seen = host.wait_for_lines(name, 8)
        assert seen[:8] == ["1", f"mark-{name}", CONFIG, "shared", "2", f"mark-{name}", CONFIG, "shared"]


@pytest.mark.prove
@pytest.mark.req("ROLL-19")
def test_two_hundred_jobs_that_are_due_in_one_second_start_within_it(
    daemons: Daemons, repository: Repository, host: Host, record_property: Callable[[str, object], None]
) -> None:
    once = f"test -e {host.witness}/$FOLIOT_JOB || : > {host.witness}/$FOLIOT_JOB"
    repository.push(**{f"job{n:03}": job(once, "6s") for n in range(200)})
    daemon = daemons.rollcron(repository.remote)

    eventually(lambda: len(list(host.witness.iterdir())) == 200)

    first = eventually(lambda: {run.job: run.scheduled_for for run in reversed(host.runs())})
    assert len(set(first.values())) == 1
    occurrence = next(iter(first.values())).timestamp()
    late = sorted(file.stat().st_mtime - occurrence for file in host.witness.iterdir())
    record_property("seconds until the first, half, and the last had begun", [late[0], late[100], late[-1]])
    assert late[0] > -0.02  # by the clock of the file system, which is a little behind
    assert late[-1] < SLACK
    assert not daemon.all("start_late")


def test_what_a_run_has_written_can_be_read_while_it_goes_on(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    wait = f"while ! test -e {host.witness}/go; do sleep 0.05; done"
    repository.push(one=job(f"echo first; {wait}; echo second; sleep 60", timeout="5m"))
    daemon = daemons.rollcron(repository.remote)

    def seen() -> str:
        runs = host.runs("one")
        output = host.ask(lambda store: store.output(*runs[0].key)) if runs else None
        return output.text if output else ""

    eventually(lambda: seen() == "first\n")
    key = host.runs("one")[0].run_key
    with start(command("foliot", "run", "logs", key, "-f"), **host.environment) as follower:
        assert follower.stdout
        assert follower.stdout.readline() == "first\n"
        (host.witness / "go").touch()
        assert follower.stdout.readline() == "second\n"
        follower.terminate()
    eventually(lambda: seen() == "first\nsecond\n")
    assert host.runs("one")[0].is_open
    daemon.send_twice()
    assert daemon.wait() == 0
    assert seen() == "first\nsecond\n"
    assert host.runs("one")[0].outcome is Outcome.INTERRUPTED


def sleepers(host: Host) -> dict[int, str]:
    """The processes of jobs that sleep."""
    return {pid: words for pid, words in host.processes().items() if words.startswith("sleep 6")}


def environment_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_text()
    except OSError:
        return ""
