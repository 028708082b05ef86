"""From a push to a running process: what is picked up, and what stays when something fails."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from daemon.harness import SLACK, Daemons, Host, eventually, lateness
from daemon.repositories import CONFIG, Repository, git_server, hanging_server, job
from foliot.model.policy import OverlapMode
from sources.git.scene import git

SEED = """\
jobs:
  build:
    name: "Build Project"
    schedule:
      cron: "0 * * * *"
    run: cargo build --release
    timeout: 5m
    concurrency: wait

  health-check:
    schedule:
      cron: "*/5 * * * *"
    run: curl -f http://localhost/health
    concurrency: skip
"""


@pytest.mark.req("ROLL-02")
def test_the_example_of_the_specification_is_followed_as_it_stands(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push({CONFIG: SEED})

    daemon = daemons.rollcron(repository.remote)

    jobs = {name: view.record.job for name, view in host.jobs().items() if view.record}
    assert {name: dict(job.action.data) for name, job in jobs.items()} == {
        "build": {"name": "Build Project", "run": "cargo build --release"},
        "health-check": {"name": "health-check", "run": "curl -f http://localhost/health"},
    }
    assert {name: (job.policy.timeout, job.policy.overlap.mode) for name, job in jobs.items()} == {
        "build": (timedelta(minutes=5), OverlapMode.WAIT),
        "health-check": (timedelta(seconds=10), OverlapMode.SKIP),
    }
    assert {line["name"] for line in daemon.all("next_run")} == {"Build Project", "health-check"}


@pytest.mark.req("ROLL-05", "ROLL-18")
def test_jobs_run_by_sh_in_a_snapshot_of_their_own_without_git(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    file = f"{host.witness}/$FOLIOT_JOB"
    show = f'{{ echo "$0"; pwd; ls -A; cat data/text; }} > {file}.new; mv {file}.new {file}'
    revision = repository.push({"data/text": "hello\n"}, one=job(show, name="The First"), two_2=job(show))

    daemon = daemons.rollcron(repository.remote)

    cache = host.cache()
    (clone,) = [path for path in cache.iterdir() if path.name.startswith("ops-") and "@" not in path.name]
    assert re.fullmatch(r"ops-[0-9a-f]{12}", clone.name)
    assert git(clone, "rev-parse", "HEAD") == revision
    for name in ("one", "two_2"):
        shell, place, *rest = host.wait_for_lines(name, 5)
        assert shell == "sh"
        assert rest == ["data", CONFIG, "hello"]
        assert Path(place) == (cache / f"{clone.name}@{name}").resolve()
    assert not list(cache.glob("*@*/.git"))
    assert sorted(p.name for p in cache.iterdir() if "@" in p.name) == [
        f"{clone.name}@one",
        f"{clone.name}@two_2",
    ]
    daemon.wait_for("run_succeeded", name="The First", run=re.compile(rf"^{clone.name}/one@"))
    assert eventually((clone / CONFIG).exists)  # the clone's own files are for people: shown later


@pytest.mark.req("ROLL-06", "ROLL-17")
def test_each_interval_picks_up_what_was_pushed_without_a_restart(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    say = f"cat text >> {host.witness}/$FOLIOT_JOB"
    repository.push({"text": "old\n"}, stays=job(say), goes=job(say), changes=job(say))
    with git_server(repository.remote.parent) as server:
        daemon = daemons.rollcron(server.url(), "-i", "1")
        for name in ("stays", "goes", "changes"):
            assert host.wait_for_lines(name)[0] == "old"

        revision = repository.push(
            {"text": "new\n"},
            stays=job(say),
            changes=job(f"echo x >> {host.witness}/changed"),
            comes=job(say),
        )

        daemon.wait_for("source_moved", jobs=3, revision=revision[:12])
        gone = len(host.lines("goes"))
        changed = len(host.lines("changes"))
        eventually(lambda: host.lines("stays")[-1] == "new")
        assert host.wait_for_lines("comes")[0] == "new"
        assert host.wait_for_lines("changed", 2)
        assert set(host.jobs()) == {"stays", "changes", "comes"}
        assert len(host.lines("goes")) <= gone + 1  # one may have been under way
        assert len(host.lines("changes")) <= changed + 1
        names = {path.name.partition("@")[2] for path in host.cache().iterdir() if "@" in path.name}
        assert names == {"stays", "changes", "comes"}
    assert not daemon.all("source_failed")


def test_a_local_repository_is_followed_by_its_commits_only(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    say = f"cat text >> {host.witness}/said"
    repository.push({"text": "committed\n"}, one=job(say))
    (repository.tree / "text").write_text("only saved\n")
    (repository.tree / "deep").mkdir()

    daemon = daemons.rollcron(folder=repository.tree / "deep")  # and the default, `.`, finds its top

    assert host.wait_for_lines("said") == ["committed"]
    git(repository.tree, "commit", "--quiet", "--all", "--message=now")
    daemon.pull()
    daemon.wait_for("source_moved")
    eventually(lambda: host.lines("said")[-1] == "only saved")


@pytest.mark.req("ROLL-14")
def test_a_remote_that_is_away_is_told_of_and_jobs_go_on_until_it_is_back(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    say = f"cat text >> {host.witness}/said"
    repository.push({"text": "old\n"}, one=job(say))
    with git_server(repository.remote.parent) as server:
        daemon = daemons.rollcron(server.url(), "-i", "1")
        server.stop()
        failed = daemon.wait_for("source_failed")
        assert "127.0.0.1" in failed["error"]
        before = len(host.lines("said"))
        host.wait_for_lines("said", before + 3)
        daemon.wait_for("source_failed", failures=2)  # it is tried again at each interval
        (status,) = host.foliot("source", "list")["sources"]
        assert "127.0.0.1" in status["status"]["error"]
        assert status["status"]["failures"] >= 2

        server.start()
        repository.push({"text": "new\n"})

        daemon.wait_for("source_recovered")
        eventually(lambda: host.lines("said")[-1] == "new")
        (status,) = host.foliot("source", "list")["sources"]
        assert "error" not in status["status"]


BAD_CONFIGS = {
    "jobs: [": "rollcron.yaml",
    SEED.replace("timeout: 5m", "timeout: 5 parsecs"): "build.*timeout",
    "": "empty",
    None: CONFIG,  # the file is deleted
}


@pytest.mark.req("ROLL-15")
def test_a_config_that_does_not_parse_is_told_of_and_the_previous_one_stays_whole(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    good = job(f"cat text >> {host.witness}/said")
    repository.push({"text": "old\n"}, one=good)
    daemon = daemons.rollcron(repository.remote)
    for text, said in BAD_CONFIGS.items():
        if text is None:
            (repository.tree / CONFIG).unlink()
        repository.push({"text": "bad\n", **({} if text is None else {CONFIG: text})})
        daemon.pull()
        daemon.wait_for("source_failed", level="warning", error=re.compile(said, re.DOTALL), failures=1)
        assert set(host.jobs()) == {"one"}
        before = len(host.lines("said"))
        assert set(host.wait_for_lines("said", before + 1)) == {"old"}

        repository.push(one=good)
        git(repository.tree, "checkout", "--quiet", "HEAD~2", "text")
        repository.push(one=good)
        daemon.pull()
        daemon.wait_for("source_recovered")


@pytest.mark.req("ROLL-16")
def test_a_tree_that_must_not_be_written_skips_that_reload_as_a_whole(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push({"text": "old\n"}, one=job(f"cat text >> {host.witness}/said"))
    daemon = daemons.rollcron(repository.remote)
    host.wait_for_lines("said")

    (repository.tree / "evil").symlink_to("/etc")
    repository.push({"text": "bad\n"}, one=job(f"cat text >> {host.witness}/said"), two=job("true"))
    daemon.pull()

    failed = daemon.wait_for("source_failed")
    assert "evil" in failed["error"]
    before = len(host.lines("said"))
    assert set(host.wait_for_lines("said", before + 2)) == {"old"}
    assert set(host.jobs()) == {"one"}
    assert not [path for path in host.cache().rglob("evil") if ".git" not in path.parts]

    (repository.tree / "evil").unlink()
    repository.push({"text": "good\n"})
    daemon.pull()
    daemon.wait_for("source_recovered")
    eventually(lambda: host.lines("said")[-1] == "good")
    assert set(host.jobs()) == {"one", "two"}


@pytest.mark.req("ROLL-22")
def test_a_remote_that_accepts_and_hangs_delays_no_job(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(one=job("true", concurrency="parallel"))
    with git_server(repository.remote.parent) as server:
        daemon = daemons.rollcron(server.url(), "-i", "1")
        server.stop()
        with hanging_server(server.port) as hanging:
            assert hanging.has_guest.wait(20)
            daemon.skip_to_now()
            for _ in range(4):
                daemon.wait_for("run_succeeded")
            assert not daemon.all("source_failed", error=re.compile("given up"))  # it hangs all the while
            runs = [run for run in host.runs() if not run.is_open]
            assert max(lateness(runs)) < SLACK
            steps = {(b.scheduled_for - a.scheduled_for).total_seconds() for a, b in pairwise(runs)}
            assert steps == {1}  # no occurrence was left out
            assert daemon.stop() == 0  # nor does it keep the daemon from ending


def test_rewritten_history_is_refused_with_a_way_out(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push({"text": "base\n"}, one=job(f"cat text >> {host.witness}/said"))
    repository.push({"text": "old\n"})
    daemon = daemons.rollcron(repository.remote)
    rewritten = repository.rewrite({"text": "rewritten\n"})

    daemon.pull()
    failed = daemon.wait_for("source_failed")

    assert "rewritten" in failed["error"]
    assert "--follow-rewrites" in failed["hint"]
    before = len(host.lines("said"))
    assert set(host.wait_for_lines("said", before + 2)) == {"old"}
    daemon.stop()
    again = daemons.rollcron(repository.remote)  # a restart changes nothing about it
    again.stop()
    assert "rewritten" in again.all("source_failed")[0]["error"]
    assert set(host.lines("said")) == {"old"}

    host.witness.joinpath("said").unlink()
    following = daemons.rollcron("--follow-rewrites", repository.remote)  # as the hint says
    assert following.all("source_followed")[0]["revision"] == rewritten[:12]
    assert host.wait_for_lines("said") == ["rewritten"]


def test_a_file_that_drops_most_of_its_jobs_is_applied_loudly(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(**{f"job{n}": job("true", "1h") for n in range(5)})
    daemon = daemons.rollcron(repository.remote)

    repository.push(**{f"job{n}": job("true", "1h") for n in range(3)})  # two of five: not most
    daemon.pull()
    daemon.wait_for("source_moved", jobs=3)
    assert not daemon.all("jobs_dropped")

    repository.push(job0=job("true", "1h"))
    daemon.pull()
    dropped = daemon.wait_for("jobs_dropped", dropped=2, of=3)
    assert dropped["level"] == "warning"
    assert dropped["jobs"] == "job1, job2"
    daemon.wait_for("source_moved", jobs=1)
    assert set(host.jobs()) == {"job0"}


def test_a_hangup_pulls_now(daemons: Daemons, repository: Repository) -> None:
    repository.push(one=job("true"))
    daemon = daemons.rollcron(repository.remote, "-i", "3600")
    revision = repository.push(one=job("true"), two=job("true"))
    daemon.pull()
    assert daemon.wait_for("source_moved")["revision"] == revision[:12]
