"""The examples, each started as its users start it."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.calls import command, on_a_terminal
from foliot.model.attempt import Outcome, Trigger
from foliot.testing.servers import redis_server
from foliot.testing.servers.process import free_port
from programs import EXAMPLES, PATIENCE, ask, eventually, example, history
from real_redis import redis_url_of

STOPS = pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])


@STOPS
def test_the_plain_script_says_hello_until_it_is_stopped(tmp_path: Path, stop: signal.Signals) -> None:
    with example(tmp_path, "hello.py") as program:
        program.read_until("hello, it is 20")
        program.read_until("hello, it is 20")
        assert program.end(stop) == 0
    outcomes = [attempt.outcome for attempt in history(tmp_path / "hello.db")]
    assert outcomes == [Outcome.SUCCEEDED] * len(program.lines)


@pytest.mark.prove
def test_two_copies_on_one_file_run_each_occurrence_once(tmp_path: Path) -> None:
    with example(tmp_path, "hello.py") as one, example(tmp_path, "hello.py") as other:
        eventually(lambda: len(history(tmp_path / "hello.db")) >= 3)
        assert [one.end(signal.SIGTERM), other.end(signal.SIGTERM)] == [0, 0]
        told = one.read_to_end() + other.read_to_end()
    attempts = history(tmp_path / "hello.db")
    assert sorted(told) == [f"hello, it is {attempt.scheduled_for}" for attempt in attempts]
    assert {attempt.number for attempt in attempts} == {1}


def test_a_run_survives_its_killed_program(tmp_path: Path) -> None:
    with example(tmp_path, "survives_kill.py") as program:
        assert program.process.wait(PATIENCE) == 0
        program.read_until("history: attempt 2")
    told = [line for line in program.lines if "page" not in line]
    assert told == [
        "attempt 1",
        "killed with -9; started again",
        "attempt 2",
        "history: attempt 1 lost",
        "history: attempt 2 succeeded",
    ]


def test_trouble_is_told_once_and_its_end_once(tmp_path: Path) -> None:
    with example(tmp_path, "told.py") as program:
        assert program.process.wait(PATIENCE) == 0
        program.read_until("recovered")
    told = [line for line in program.lines if not line.startswith("attempt_failed")]
    assert told == [
        "told/backup failed: failed: OSError: the disk is full",
        "told/backup recovered: a run has succeeded",
    ]


def test_a_job_calls_a_url_again_when_the_server_wants_it(tmp_path: Path) -> None:
    with example(tmp_path, "call_a_url.py") as program:
        assert program.process.wait(PATIENCE) == 0
        program.read_until("succeeded")
    told = [line for line in program.lines if not line.startswith("attempt_failed")]
    assert told == [
        "shop: attempt 1, signed: True",
        "shop: attempt 2, signed: True",
        "succeeded at attempt 2: HTTP 200 OK",
    ]


@pytest.mark.prove
def test_celery_tasks_are_sent_and_their_ends_are_told(tmp_path: Path) -> None:
    with example(tmp_path, "celery_tasks.py") as program:
        assert program.process.wait(PATIENCE * 2) == 0
        program.read_until("unicorns: failed")
    told = [line for line in program.lines if " × " in line or line.startswith(("apples", "unicorns"))]
    assert told == [
        "worker: 7 × apples, for schedule apples",
        "apples: succeeded",
        "worker: 1 × unicorns, for schedule unicorns",
        "unicorns: failed, ValueError: sold out",
    ]


def test_pipelines_are_scheduled_and_run_over_an_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_API_TOKEN", token := "Tm90aGluZy1zZWNyZXQtaGVyZS1vZi1jb3Vyc2U")
    port, names = free_port(), {"namespace": "shop", "layer": "gold"}
    headers = {"Authorization": f"Bearer {token}"}
    with (
        example(tmp_path, "ratd.py", str(port)) as program,
        httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", headers=headers, timeout=60) as api,
    ):
        ask(port, "/livez?verbose=true")
        api.post("/pipelines", json={**names, "name": "sales", "action": {"kind": "sql"}})
        schedule = api.post("/schedules", json={**names, "pipeline": "sales", "cron": "0 7 * * *"})
        assert schedule.status_code == 201
        assert api.post("/runs", json={**names, "pipeline": "sales"}).status_code == 202
        program.read_until("shop/gold/sales: manual")
        eventually(lambda: api.get("/runs").json()["runs"][0]["status"] == "success")
        program.end(signal.SIGTERM)


@pytest.mark.prove
@pytest.mark.req("OWN-22")
def test_two_beats_enqueue_each_occurrence_once(tmp_path: Path) -> None:
    assert redis_url_of("redis")  # who has no Redis skips here
    with (
        redis_server() as server,
        example(tmp_path, "beat.py", server.url) as one,
        example(tmp_path, "beat.py", server.url) as other,
    ):

        def count() -> int:
            answer = server.ask("HGET", "bananas:schedules:tick", "run_count")
            return int(answer.split(b"\r\n")[1]) if answer[:2] != b"$-" else 0

        eventually(lambda: count() >= 3)
        assert [one.end(signal.SIGTERM), other.end(signal.SIGTERM)] == [0, 0]
        told = [line for line in one.read_to_end() + other.read_to_end() if line.startswith("say_hello")]
        assert len(set(told)) == len(told) == count()
        assert told[0].startswith('say_hello {"to": "you"} normal 20')


def test_an_executor_of_ones_own_checks_ports(tmp_path: Path) -> None:
    with example(tmp_path, "own_executor.py") as program:
        assert program.process.wait(PATIENCE) == 0
        program.read_until("failed: ")
    told = [line for line in program.lines if not line.startswith("attempt_failed")]
    assert re.fullmatch(r"succeeded: \d+ answers", told[0])
    assert told[1].startswith("failed: ConnectionRefusedError")


def test_whoever_asks_for_a_run_learns_how_it_ended(tmp_path: Path) -> None:
    with example(tmp_path, "ask_and_wait.py") as program:
        assert program.process.wait(PATIENCE) == 0
        program.read_until("attempt 2")
    told = [line for line in program.lines if not line.startswith("attempt_failed")]
    assert told == ["not yet", "attempt 2 succeeded: try 2"]


def test_fastapi_schedules_by_request_and_keeps_it_when_killed(tmp_path: Path) -> None:
    port = free_port()
    with example(tmp_path, "fastapi_app.py", str(port)) as server:
        status, answer = ask(port, "/reminders?user=ada&seconds=0.1", "POST")
        assert (status, answer["job"]) == (201, "remind-ada")
        eventually(lambda: "succeeded" in states(ask(port, "/runs")))
        assert ask(port, "/reminders?user=bob&seconds=2", "POST")[0] == 201
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
    port = free_port()
    with example(tmp_path, "fastapi_app.py", str(port)) as server:
        runs = eventually(lambda: of(ask(port, "/runs"), "remind-bob", "succeeded"))
        assert [run["log"] for run in runs] == ["remember, bob\n"]
        assert server.end(signal.SIGTERM) in (0, -signal.SIGTERM)  # as the version of uvicorn likes
        assert any("shutdown complete" in line for line in server.read_to_end())


def test_flask_orders_a_run_and_orders_it_once(tmp_path: Path) -> None:
    port = free_port()
    with example(tmp_path, "flask_app.py", str(port)) as server:
        assert ask(port, "/reports/july", "POST") == (202, {"run": "app/report!july"})
        eventually(lambda: states(ask(port, "/reports")) == ["succeeded"])
        assert ask(port, "/reports/july", "POST") == (202, {"run": "app/report!july"})
        assert states(ask(port, "/reports")) == ["succeeded"]
        assert ask(port, "/reports/august", "POST")[0] == 202
        eventually(lambda: states(ask(port, "/reports"))[0] != "pending")
        server.end(signal.SIGTERM)
    july, august = history(tmp_path / "flask.db")
    assert [july.outcome, august.outcome] == [Outcome.SUCCEEDED] * 2  # the second one was let end
    assert august.run_key == "app/report!august"


def test_a_django_command_runs_the_jobs_of_a_site(tmp_path: Path) -> None:
    with example(tmp_path, "django_command.py", "migrate") as program:
        assert program.process.wait(PATIENCE) == 0
    site = sqlite3.connect(tmp_path / "site.db")
    with site:
        site.execute("insert into django_session values ('old', '', '2020-01-01'), ('new', '', '2999-01-01')")
    with example(tmp_path, "django_command.py", "runjobs") as program:
        program.read_until("the jobs run")
        eventually(lambda: [a for a in history(tmp_path / "jobs.db") if a.outcome is Outcome.SUCCEEDED])
        assert program.end(signal.SIGTERM) == 0
    assert site.execute("select session_key from django_session").fetchall() == [("new",)]
    site.close()


def test_cells_of_a_notebook_run_one_by_one_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cells = re.split(r"^# %%", (EXAMPLES / "notebook.py").read_text(), flags=re.MULTILINE)[1:]
    start, declare, *others, stop = (f"#{cell}" for cell in cells)
    names: dict[str, Any] = {"__name__": "__main__"}
    play(start, names)
    try:
        play(declare, names)
        eventually(lambda: names["seen"])
        play(declare.replace('"looked"', '"looked again"'), names)
        eventually(lambda: "looked again" in names["seen"])
        for cell in others:
            play(cell, names)
    finally:
        play(stop, names)
    told = capsys.readouterr().out
    assert "asked for app/look!" in told
    assert "look @every 1s next at 20" in told
    assert "paused" in told or "runs since" in told
    assert "succeeded" in told


@pytest.mark.prove
def test_the_watched_application_tells_each_event_and_goes_on_when_killed(tmp_path: Path) -> None:
    with example(tmp_path, "watch.py") as program:
        line = program.read_until("started          watch/crunch@")
        key = line.split()[2]
        program.end(signal.SIGKILL)
    with example(tmp_path, "watch.py") as program:
        program.read_until(f"restart_planned  {key} #2")
        program.read_until(f"started          {key} #2")
        program.read_until("watch/fetch@")
        assert program.end(signal.SIGINT) == 0
    lost, again = (a for a in history_of_watch(tmp_path) if a.run_key == key)
    assert (lost.outcome, again.outcome) == (Outcome.LOST, Outcome.SUCCEEDED)
    assert again.trigger is Trigger.LOST
    assert key in (tmp_path / ".run/watch.log").read_text()


@pytest.mark.prove
def test_the_watched_application_shows_every_kind_of_job(tmp_path: Path) -> None:
    with example(tmp_path, "watch.py", "here") as program:
        program.read_until("retry_planned    watch/fetch@")
        program.read_until("ended            watch.added/greet-")
        program.process.send_signal(signal.SIGTERM)
        assert program.process.wait(PATIENCE) == 0


@pytest.mark.prove
def test_on_a_terminal_the_watched_application_is_a_table(tmp_path: Path) -> None:
    words = command("python", str(EXAMPLES / "watch.py"), str(tmp_path))
    with on_a_terminal(words) as screen:
        screen.read_until("every 3 seconds")
        screen.read_until("succeeded")
        screen.process.send_signal(signal.SIGINT)
        screen.process.send_signal(signal.SIGINT)
        assert screen.read_to_end() == 0
        assert screen.written.rstrip().endswith("\x1b[?25h")  # the cursor is back
        assert "Traceback" not in screen.written


@pytest.mark.prove
def test_a_push_to_the_followed_repository_is_picked_up(tmp_path: Path) -> None:
    with example(tmp_path, "follow.py") as program:
        told = program.read_until("commit -am").strip()
        program.read_until('"event": "source_followed"')
        program.read_until('"event": "run_succeeded", "name": "Heartbeat"')
        config = tmp_path / ".run/checkout/rollcron.yaml"
        config.write_text(config.read_text().replace('"Heartbeat"', '"NodeHealth"'))
        assert told == 'git -C .run/checkout commit -am "a change" && git -C .run/checkout push'
        git = "git -c user.name=You -c user.email=you@example.org -C"
        push = told.replace("git -C", git)
        subprocess.run(["bash", "-c", push], cwd=tmp_path, check=True, capture_output=True)  # noqa: S603, S607 - what the page tells to type
        program.read_until('"event": "source_moved"')
        program.read_until('"event": "run_succeeded", "name": "NodeHealth"')
        assert program.end(signal.SIGINT) == 0
    with example(tmp_path, "follow.py") as program:  # what is there already is left as it is
        program.read_until('"name": "NodeHealth"')


def test_make_run_starts_it() -> None:
    makefile = (EXAMPLES.parent / "Makefile").read_text()
    assert "\n\t@$(RUN)/bin/python examples/follow.py\n" in makefile


# -- answers ---------------------------------------------------------------------------------------


def states(answer: tuple[int, Any]) -> list[str]:
    return [run["state"] for run in answer[1]]


def of(answer: tuple[int, Any], job: str, state: str) -> list[Any]:
    return [run for run in answer[1] if job in run["run"] and run["state"] == state]


def play(cell: str, names: dict[str, Any]) -> None:
    exec(compile(cell, "cell", "exec"), names)  # noqa: S102 - a cell of our own notebook


def history_of_watch(folder: Path) -> list[Any]:
    return history(folder / ".run/watch.db")
