"""What a person does to a daemon's jobs from a shell, while it runs."""

from __future__ import annotations

from datetime import timedelta

from daemon.harness import Daemons, Host, eventually
from daemon.repositories import Repository, job
from foliot.clock import SystemClock
from foliot.model.attempt import Outcome

CLOCK = SystemClock()


def test_a_run_that_is_cancelled_ends_with_its_whole_tree(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(
        one=job(f"setsid sleep 71 & echo x >> {host.witness}/began; sleep 72", "1h", timeout="5m")
    )
    daemons.rollcron(repository.remote)
    run = host.foliot("job", "trigger", "one")["run"]
    host.wait_for_lines("began")

    host.foliot("run", "cancel", run)

    ended = eventually(lambda: [run for run in host.runs("one") if not run.is_open])[0]
    assert ended.outcome is Outcome.CANCELLED
    assert not [words for words in host.processes().values() if words.startswith("sleep 7")]


def test_a_pause_survives_a_reload_and_a_run_can_be_asked_for_all_the_same(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    say = f"cat text >> {host.witness}/$FOLIOT_JOB"
    repository.push({"text": "old\n"}, one=job(say), two=job(say))
    daemon = daemons.rollcron(repository.remote)
    host.wait_for_lines("one")
    host.foliot("job", "pause", "one")
    eventually(lambda: not [run for run in host.runs("one") if run.is_open])
    before = host.lines("one")

    repository.push({"text": "new\n"}, one=job(f"{say}; true"), two=job(say))
    daemon.pull()
    daemon.wait_for("source_moved")
    host.wait_for_lines("two", len(host.lines("two")) + 2)
    assert host.lines("one") == before
    assert host.foliot("job", "trigger", "one", "--wait")["outcome"] == "succeeded"
    assert host.lines("one") == [*before, "new"]

    host.foliot("job", "resume", "one")
    host.wait_for_lines("one", len(before) + 2)


def test_a_run_that_fails_is_tried_again_and_knows_it(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    tell = (
        f"echo $FOLIOT_KEY $FOLIOT_ATTEMPT $FOLIOT_TRIGGER >> {host.witness}/tries; test $FOLIOT_ATTEMPT = 3"
    )
    repository.push(one=job(tell, "1h", retry={"max": 3, "delay": "1s"}))
    daemon = daemons.rollcron(repository.remote)

    done = host.foliot("job", "trigger", "one", "--wait")

    starts = [(line["name"], line["run"]) for line in daemon.lines if line["event"] == "run_started"]
    assert starts.count(("one", done["run"])) == 3
    assert (done["outcome"], len(done["attempts"])) == ("succeeded", 3)
    keys, numbers, triggers = zip(*(line.split() for line in host.lines("tries")), strict=True)
    assert len(set(keys)) == 1
    assert numbers == ("1", "2", "3")
    assert triggers == ("manual", "retry", "retry")


def test_after_an_outage_it_is_told_from_when_to_when_no_node_was_running(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(one=job("true", "1s"))
    daemon = daemons.rollcron(repository.remote)
    daemon.wait_for("run_succeeded")
    daemon.stop()
    stopped_at = CLOCK.now()
    eventually(lambda: CLOCK.now() >= stopped_at + timedelta(seconds=3))
    daemons.rollcron(repository.remote).wait_for("run_succeeded")

    (outage,) = host.ask(lambda store: store.outages())
    assert outage.last - outage.first >= timedelta(seconds=3)
    missed = outage.first.replace(microsecond=0) + timedelta(seconds=2)
    why = host.foliot("job", "why", "one", "--at", missed.isoformat())
    words = f"no node was running from {outage.first:%Y-%m-%dT%H:%M:%S}Z to {outage.last:%Y-%m-%dT%H:%M:%S}Z"
    assert words in why["text"], why
    beside = (outage.first - timedelta(seconds=1)).replace(microsecond=0)
    assert "no node" not in host.foliot("job", "why", "one", "--at", beside.isoformat())["text"]
