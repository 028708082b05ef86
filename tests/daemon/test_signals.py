"""How a daemon ends, and what it tells the service manager."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon.harness import SLACK, Daemons, Host, eventually
from daemon.repositories import Repository, job
from foliot.clock import SystemClock
from foliot.model.attempt import Outcome

GRACE = 5.0  # between TERM and KILL for a job
clock = SystemClock()


@contextmanager
def manager(place: str) -> Iterator[socket.socket]:
    """A socket where a service manager listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + place[1:] if place.startswith("@") else place)
        listener.settimeout(20)
        yield listener


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_lets_runs_end_and_starts_none(
    daemons: Daemons, repository: Repository, host: Host, number: signal.Signals
) -> None:
    wait = f"while ! test -e {host.witness}/go; do sleep 0.05; done"
    repository.push(
        long=job(f"echo $$ >> {host.witness}/began; {wait}"), short=job(f"echo x >> {host.witness}/short")
    )
    daemon = daemons.rollcron(repository.remote)
    host.wait_for_lines("began")

    daemon.send(number)
    daemon.wait_for("stop_asked", drain=30)
    before = len(host.lines("short"))
    clock.sleep(1.5)  # an occurrence passes
    (host.witness / "go").touch()

    assert daemon.wait() == 0
    assert len(host.lines("short")) <= before + 1
    assert [run.outcome for run in host.runs("long")] == [Outcome.SUCCEEDED]
    assert not [run for run in host.runs() if run.is_open]
    assert not daemon.said
    assert host.nobody_is_left()


def test_the_second_signal_ends_runs_at_once(daemons: Daemons, repository: Repository, host: Host) -> None:
    repository.push(long=job(f"setsid sleep 60 & echo x >> {host.witness}/began; sleep 60", timeout="5m"))
    daemon = daemons.rollcron(repository.remote)
    host.wait_for_lines("began")

    daemon.send(signal.SIGTERM)
    daemon.wait_for("stop_asked")
    asked = clock.monotonic()
    daemon.send(signal.SIGTERM)

    assert daemon.wait() == 0
    assert clock.monotonic() - asked < SLACK
    assert daemon.all("stop_forced")
    assert [run.outcome for run in host.runs("long")] == [Outcome.INTERRUPTED]
    assert host.nobody_is_left()


@pytest.mark.prove
def test_what_does_not_end_within_the_drain_is_ended_even_if_it_is_deaf(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    deaf = (
        f"trap '' TERM; (trap '' TERM; sleep 61) & echo x >> {host.witness}/began; while :; do sleep 62; done"
    )
    repository.push(long=job(deaf, timeout="5m"))
    daemon = daemons.serve("--drain", "1s", repository.remote)
    host.wait_for_lines("began")

    asked = clock.monotonic()
    assert daemon.stop() == 0

    assert 1 <= clock.monotonic() - asked < 1 + GRACE + SLACK
    assert [run.outcome for run in host.runs("long")] == [Outcome.INTERRUPTED]
    assert host.nobody_is_left()


def test_a_daemon_that_is_stopped_while_it_starts_ends_in_order(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(
        {f"file{n}": "x" for n in range(50)}, **{f"job{n}": job("true", "1h") for n in range(100)}
    )
    for pause in (0.3, 0.6, 0.9, 1.2):
        daemon = daemons.start("rollcron", repository.remote)
        clock.sleep(pause)
        assert daemon.stop() in (0, -signal.SIGTERM)  # before Python has come to it, the signal ends it
        assert not any(line.startswith("Traceback") for line in daemon.said), daemon.told
        assert host.nobody_is_left()
    daemons.rollcron(repository.remote).stop()


@pytest.mark.parametrize("is_abstract", [False, True])
def test_systemd_is_told_that_it_is_ready_alive_and_stopping(
    daemons: Daemons, repository: Repository, tmp_path: Path, *, is_abstract: bool
) -> None:
    repository.push(one=job("true", "1h"))
    place = f"@foliot-{os.getpid()}" if is_abstract else f"{tmp_path}/notify"
    with manager(place) as listener:
        daemon = daemons.start("rollcron", repository.remote, NOTIFY_SOCKET=place, WATCHDOG_USEC="400000")
        assert listener.recv(100) == b"READY=1"
        eventually(lambda: daemon.all("source_followed"))  # there is something to run
        assert [listener.recv(100) for _ in range(3)] == [b"WATCHDOG=1"] * 3
        daemon.send(signal.SIGTERM)
        while (word := listener.recv(100)) == b"WATCHDOG=1":
            pass
        assert word == b"STOPPING=1"
        assert daemon.wait() == 0


def test_a_daemon_is_not_ready_when_it_cannot_start_and_needs_no_manager(
    daemons: Daemons, repository: Repository, tmp_path: Path
) -> None:
    place = str(tmp_path / "notify")
    with manager(place) as listener:
        assert daemons.start("rollcron", tmp_path / "nowhere", NOTIFY_SOCKET=place).wait() == 6
        listener.setblocking(False)  # noqa: FBT003 - the standard library's own way
        with pytest.raises(BlockingIOError):
            listener.recv(100)
    repository.push(one=job("true", "1h"))
    assert daemons.rollcron(repository.remote, NOTIFY_SOCKET=str(tmp_path / "gone")).stop() == 0
