"""`foliot serve`: what it is told, and what it says about that."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cli.calls import call, command, run
from daemon.harness import Daemons, Host, daemons_on
from daemon.repositories import Repository, job
from foliot.clock import SystemClock
from foliot.daemon.serve import Serving
from foliot.observability.lines import LINES
from foliot.testing.servers.process import free_port


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path / "host")


@pytest.fixture
def daemons(host: Host) -> Iterator[Daemons]:
    with daemons_on(host) as daemons:
        yield daemons


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path)
    repository.push(one=job("true", "1h"))
    return repository


@pytest.mark.req("ROLL-01")
def test_help_tells_what_it_does_in_80_columns() -> None:
    result = run(command("foliot", "serve", "-h"))

    assert result.code == 0
    words = " ".join(result.out.split())
    assert words.startswith("Usage: foliot serve [OPTIONS] [REPO]")
    assert "-i, --interval SECONDS How often to pull. [default: 60; x>=1]" in words
    for promise in ("SIGHUP pulls now", "SIGTERM or Ctrl-C lets runs end", "0 stopped in order"):
        assert promise in words
    assert max(map(len, result.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--drain", "soon"), "--drain"),
        (("--drain", "-1s"), "--drain"),
        (("--lease", "soon"), "--lease"),
        (("--lease", "900ms"), "at least 1s"),
        (("--slots", "0"), "--slots"),
        (("--slots", "many"), "'many' is no number from 1 to"),
        (("--slots", "db=1,default"), "such as 20, or db=1,default=20"),
        (("--slots", "db=1", "--queues", "default"), "name different queues"),
        (("--queues", "db,,x"), "'' is no name of a queue"),
        (("--secrets", "/no/such/folder"), "--secrets"),
        (("--app", "shop:app", "--queues", "db"), "are its own"),
        (("--app", "shop:app", "--lease", "5s"), "are its own"),
        (("--app", "shop:app", "--slots", "5"), "are its own"),
        (("--app", "shop:app", "--http-allow", "localhost"), "are its own"),
        (("--app", "shop:app", "--drain", "5s"), "Foliot(…, drain=…"),
        (("--http-allow", "10.0.0.1/8"), "--http-allow"),
        (("--http-allow", "a b"), "'a b' names no host"),
        (("--log-format", "xml"), "--log-format"),
        (("--log-level", "loud"), "--log-level"),
        (("--metrics", "here"), "--metrics"),
        (("--metrics", "0"), "--metrics"),
        (("--metrics", "127.0.0.1:70000"), "--metrics"),
        (("-i", "-1"), "--interval"),
        (("a", "b"), "extra argument (b)"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_done(
    words: tuple[str, ...], said: str, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(host.home))

    result = call("serve", *words)

    assert result.code == 2
    assert said in result.err
    assert not list(host.home.iterdir())


def test_the_store_can_be_named_by_a_variable_as_for_other_commands(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    file = host.folder / "mine.db"

    daemons.serve(repository.remote, FOLIOT_STORE=f"sqlite:///{file}").stop()

    assert file.exists()
    assert not host.file.exists()


def test_who_starts_while_the_store_is_away_does_not_wait_for_it(repository: Repository, host: Host) -> None:
    store = "postgresql://me:secret@127.0.0.1:1/none"

    told = run(command("foliot", "serve", str(repository.remote), "--store", store), **host.environment)

    assert told.code == 6
    assert "Connection refused" in told.err
    assert "secret" not in told.err


def test_a_daemon_has_the_lease_and_the_slots_that_it_is_told(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    work = job(f"echo begin >> {host.witness}/ran; sleep 0.4; echo end >> {host.witness}/ran")
    repository.push(one=work, other=work)
    daemons.serve("--lease", "4s", "--slots", "1", repository.remote)
    ran = host.wait_for_lines("ran", 8)

    [node] = run(command("foliot", "node", "list", "-o", "json"), **host.environment).json()["nodes"]

    assert ran[:8] == ["begin", "end"] * 4, "one after the other"
    assert datetime.fromisoformat(node["lease_until"]) - SystemClock().now() <= timedelta(seconds=4)


def test_commands_look_into_the_store_of_the_daemon_without_being_told(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    daemons.serve(repository.remote)

    told = run(command("foliot", "job", "list", "-o", "json"), **host.environment)

    assert told.code == 0, told
    assert [each["job"].partition("/")[2] for each in told.json()["jobs"]] == ["one"]


def test_a_run_can_be_asked_for_and_its_exit_code_is_passed_on(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(good=job("echo fine", "1h"), bad=job("echo wrong; exit 7", "1h"))
    daemons.serve(repository.remote)

    good = run(command("foliot", "job", "trigger", "good", "--wait", "-o", "json"), **host.environment)
    bad = run(command("foliot", "job", "trigger", "bad", "--wait", "-o", "json"), **host.environment)

    assert (good.code, good.json()["outcome"], good.json()["exit_code"]) == (0, "succeeded", 0)
    assert (bad.code, bad.json()["outcome"], bad.json()["exit_code"]) == (7, "failed", 7)
    written = run(command("foliot", "run", "logs", bad.json()["run"]), **host.environment)
    assert written.out == "wrong\n"


def test_lines_are_those_that_are_documented_and_as_many_as_asked_for(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(one=job(f"echo x >> {host.witness}/ran"))
    quiet = daemons.start("foliot serve", "--log-level", "warning", repository.remote)
    host.wait_for_lines("ran")
    assert quiet.stop() == 0
    assert not quiet.lines
    loud = daemons.start("foliot serve", "--log-level", "debug", repository.remote)
    loud.wait_for("happened", what="ended")
    assert loud.stop() == 0
    assert {line["event"] for line in loud.lines} <= set(LINES)
    assert not loud.said


def test_metrics_tell_of_runs_and_of_the_source(daemons: Daemons, repository: Repository, host: Host) -> None:
    repository.push(one=job("true"))
    port = free_port()
    daemon = daemons.serve("--metrics", str(port), repository.remote)
    daemon.wait_for("run_succeeded")

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
        text = answer.read().decode()

    assert 'outcome="succeeded"' in text
    assert "foliot_source" in text
    assert json.dumps(host.jobs()["one"].key).strip('"').partition("/")[0] in text


@pytest.mark.parametrize(
    ("words", "slots"),
    [
        ((), None),
        (("--slots", "5"), {"default": 5}),
        (("--queues", "db,default"), {"db": 1000, "default": 1000}),
        (("--queues", "db,default", "--slots", "7"), {"db": 7, "default": 7}),
        (("--slots", "db=1,default=20"), {"db": 1, "default": 20}),
        (("--queues", "default,db", "--slots", "db=1,default=20"), {"db": 1, "default": 20}),
    ],
)
def test_a_daemon_serves_the_queues_that_it_is_told(
    words: tuple[str, ...], slots: dict[str, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Serving] = []
    monkeypatch.setattr("foliot.cli.serve.run_daemon", told.append)

    assert call("serve", *words).code == 0
    assert told[0].slots == slots
