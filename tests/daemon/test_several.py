"""Several daemons on one store: each occurrence runs once, and none hinders another."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from daemon.harness import Daemons, Host, eventually
from daemon.repositories import Repository, job
from foliot.model.attempt import Outcome

pytestmark = pytest.mark.prove


@pytest.mark.req("OWN-22")
def test_two_daemons_that_follow_the_same_repository_run_each_occurrence_once(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    say = f"echo $FOLIOT_KEY $(cat text) >> {host.witness}/$FOLIOT_JOB"
    jobs = {f"job{n}": job(say) for n in range(6)}
    repository.push({"text": "old\n"}, **jobs)
    one, two = daemons.rollcron(repository.remote, "-i", "1"), daemons.rollcron(repository.remote, "-i", "1")
    host.wait_for_lines("job0", 3)

    repository.push({"text": "new\n"}, **jobs, more=job(say))
    host.wait_for_lines("more", 3)
    eventually(lambda: host.lines("job0")[-1].endswith("new"))
    one.kill()
    host.wait_for_lines("job0", len(host.lines("job0")) + 3)
    assert two.stop() == 0
    assert daemons.rollcron(repository.remote).stop() == 0  # finds what the dead one held

    keys = Counter(line.split()[0] for name in (*jobs, "more") for line in host.lines(name))
    assert set(keys.values()) == {1}
    runs = host.runs()
    assert set(keys) <= {run.run_key for run in runs}
    assert not [run for run in runs if run.is_open]
    assert {run.outcome for run in runs} <= {Outcome.SUCCEEDED, Outcome.LOST}


def test_a_daemon_that_has_not_pulled_yet_fails_no_job_that_another_has_declared(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    say = f"echo $(cat text) >> {host.witness}/$FOLIOT_JOB"
    repository.push({"text": "old\n"}, **{f"job{n}": job(say) for n in range(3)})
    quick, slow = (daemons.rollcron(repository.remote, "-i", "3600") for _ in range(2))

    repository.push({"text": "new\n"}, **{f"new{n}": job(say) for n in range(6)})
    quick.pull()
    quick.wait_for("source_moved")
    quick.stop()

    for n in range(6):
        assert set(host.wait_for_lines(f"new{n}", 2)) == {"new"}
    assert not [*slow.all("attempt_failed"), *quick.all("attempt_failed")]


def test_daemons_with_other_repositories_share_a_store_in_peace(
    daemons: Daemons, repository: Repository, host: Host, tmp_path: Path
) -> None:
    other = Repository(tmp_path, "web")
    for each, word in ((repository, "ops"), (other, "web")):
        each.push(
            {"text": f"{word}\n"}, same=job(f"cat text >> {host.witness}/{word}; test $(cat text) = {word}")
        )
    one, two = daemons.rollcron(repository.remote), daemons.rollcron(other.remote)

    for word in ("ops", "web"):
        assert set(host.wait_for_lines(word, 3)) == {word}
    assert one.stop() == 0
    other.push({"text": "web\n"}, different=job(f"echo more >> {host.witness}/different"))
    two.pull()
    assert host.wait_for_lines("different")
    sources = {source["source"][:3]: source["jobs"] for source in host.foliot("source", "list")["sources"]}
    assert sources == {"ops": 1, "web": 1}
    assert not [*one.all("attempt_failed"), *two.all("attempt_failed")]
    count = len(host.lines("ops"))
    host.wait_for_lines("different", 3)
    assert len(host.lines("ops")) == count  # nobody runs what its own daemon does not serve
