"""Alerts of a repository's jobs, from the file to the people: real daemons, servers and programs."""

from __future__ import annotations

import json
import re
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from daemon.harness import Daemons, Host, eventually
from daemon.repositories import CONFIG, Repository, job
from daemon.test_secrets import assert_nowhere
from mail_server import Inbox, mail_server
from web_server import Asked, WebServer, reply, web_server

TOKEN, CANARY = "s3cret", "c4nary"  # parts of the test server's URL
PASSWORD = "pw-9b2e61"  # noqa: S105 - nobody's


@pytest.fixture
def server() -> Iterator[WebServer]:
    with web_server() as one:
        yield one


@pytest.fixture
def channels(tmp_path: Path) -> Path:
    """An operator's file, outside of what daemons keep."""
    file = tmp_path / "channels.yaml"
    file.write_text("channels:\n  ops: {webhook: env:OPS_WEBHOOK}\n  admins: {mail: [ops@example.org]}\n")
    return file


def targets(server: WebServer) -> list[str]:
    """What was asked for, without the query."""
    return [asked.line.split()[1].partition("?")[0] for asked in server.asked]


def rid(asked: Asked) -> UUID:
    found = re.search(r"rid=([0-9a-f-]+)", asked.line)
    assert found
    return UUID(found[1])


@pytest.mark.req("OWN-05")
def test_a_failure_is_told_and_the_url_of_the_channel_is_nowhere(
    daemons: Daemons, repository: Repository, host: Host, server: WebServer, channels: Path
) -> None:
    repository.push(one=job("exit 3", notify="ops"))
    daemon = daemons.serve(repository.remote, "--channels", channels, OPS_WEBHOOK=server.url)
    seen: set[str] = set()

    def is_told() -> bool:
        seen.update(host.processes().values())
        return bool(server.asked)

    eventually(is_told, "an alert")
    body = json.loads(server.asked[0].body)
    assert (body["type"], body["exit_code"]) == ("job.failure", 3)
    told = eventually(lambda: host.foliot("alert", "list", "--state", "sent")["alerts"])
    tested = host.foliot("alert", "test", "ops")
    daemon.stop()
    assert told[0]["channel"] == "ops"
    assert tested == {"tests": [{"channel": "ops", "state": "sent", "answer": None}]}
    assert json.loads(server.asked[-1].body)["is_test"]
    for secret in (TOKEN, CANARY):
        assert_nowhere(secret, host, daemon.told, str(told), str(body))
        assert not [words for words in seen if secret in words]


@pytest.mark.req("OWN-05")
def test_a_mail_has_the_end_of_the_output_and_no_secret_of_the_run(
    daemons: Daemons, repository: Repository, host: Host, channels: Path
) -> None:
    say = "for n in $(seq 60); do echo line $n; done; echo password is $TOKEN; exit 3"
    repository.push(one=job(say, notify="admins", pass_env=["TOKEN"]))
    inbox = Inbox()
    with mail_server(inbox) as port:
        smtp = f"smtp://localhost:{port}?tls=none"
        words = ("--channels", channels, "--pass-env", "TOKEN", "--smtp", smtp)
        daemon = daemons.serve(repository.remote, *words, TOKEN=PASSWORD)
        eventually(lambda: inbox.mails, "a mail")
        daemon.stop()
    _, to, mail = inbox.mails[0]
    text = mail.get_content()
    assert to == ["ops@example.org"]
    assert "password is ***" in text
    assert "line 60" in text
    assert "line 10\n" not in text
    assert text.count("line ") == 49
    assert_nowhere(PASSWORD, host, daemon.told, text, str(mail))


def test_local_sendmail_is_used_if_there_is_no_server(
    daemons: Daemons, repository: Repository, host: Host, channels: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "sendmail"
    program.write_text(f'#!/bin/sh\necho "$@" > {host.witness}/words\ncat > {host.witness}/mail\n')
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    repository.push(one=job("exit 3", notify="admins"))
    host.variables["PATH"] = f"{folder}:{host.environment['PATH']}"
    if Path("/usr/sbin/sendmail").exists():
        pytest.skip("this host has a sendmail of its own, which goes first")
    daemon = daemons.serve(repository.remote, "--channels", channels)
    lines = host.wait_for_lines("mail", 5)
    daemon.stop()
    assert any(line.startswith("Subject: ") and "failed" in line for line in lines)
    assert host.lines("words")[0].endswith("-- ops@example.org")


def test_a_channel_that_refuses_is_told_once_and_shown(
    daemons: Daemons, repository: Repository, host: Host, channels: Path
) -> None:
    repository.push(one=job("echo one", notify={"to": "ops", "on": "output"}))
    with web_server(reply(403, b"go away")) as server:
        daemon = daemons.serve(repository.remote, "--channels", channels, OPS_WEBHOOK=server.url)
        eventually(lambda: len(host.foliot("alert", "list", "--state", "refused")["alerts"]) > 2)
        refused = host.foliot("alert", "test", "ops", code=8)
        daemon.stop()
    assert refused["tests"][0]["answer"] == "env:OPS_WEBHOOK answers 403 (go away)"
    assert [line["answer"] for line in daemon.all("alert_refused")] == [
        "env:OPS_WEBHOOK answers 403 (go away)"
    ]


def test_a_channel_that_hangs_delays_no_run(
    daemons: Daemons, repository: Repository, host: Host, channels: Path
) -> None:
    repository.push(one=job(f"echo x >> {host.witness}/runs; exit 3", notify="ops"))
    with socket.create_server(("127.0.0.1", 0)) as deaf:  # it accepts, and never answers
        url = f"http://localhost:{deaf.getsockname()[1]}/x"
        daemon = daemons.serve(repository.remote, "--channels", channels, OPS_WEBHOOK=url)
        host.wait_for_lines("runs", 5)
        assert host.foliot("alert", "list", "--state", "waiting")["alerts"]
        daemon.send_twice()
        daemon.wait()


def test_the_file_has_channels_and_the_operator_may_replace_them(
    daemons: Daemons, repository: Repository, host: Host, server: WebServer, channels: Path
) -> None:
    own = {"ops": {"webhook": "env:OTHER"}, "notes": {"command": f"./note.sh {host.witness}/notes"}}
    jobs = {"one": job("exit 3", notify=["ops", "notes", "nobody"])}
    note = '#!/bin/sh\necho "$FOLIOT_ALERT_KIND $FOLIOT_ALERT_JOB" >> $1\n'
    repository.push({CONFIG: json.dumps({"channels": own, "jobs": jobs}), "note.sh": note})
    (repository.tree / "note.sh").chmod(0o755)
    repository.push({})
    daemon = daemons.serve(repository.remote, "--channels", channels, OPS_WEBHOOK=server.url)
    source = daemon.all("source_followed")[0]["source"]
    assert host.wait_for_lines("notes") == [f"failure {source}/one"]
    eventually(lambda: server.asked, "an alert")
    told = {one["channel"] for one in host.foliot("alert", "list")["alerts"]}
    daemon.stop()
    assert told == {f"{source}.ops", f"{source}.notes", "nobody"}
    unusable = {line["channel"]: line["missing"] for line in daemon.all("channel_unusable")}
    assert unusable["nobody"] == "neither the file nor --channels defines it"


def test_a_job_is_pinged_when_it_starts_and_when_it_ends(
    daemons: Daemons, repository: Repository, host: Host, server: WebServer, tmp_path: Path
) -> None:
    retry = {"max": 1, "delay": "1s"}
    repository.push(one=job("echo bye; exit 3", "1h", retry=retry, ping="https://ping.example.org/x"))
    daemon = daemons.serve(repository.remote)
    source = daemon.all("source_followed")[0]["source"]
    daemon.stop()
    # A repository's channel reaches public addresses only. So this one is an application's own.
    (tmp_path / "pinged.py").write_text(
        "from foliot import Foliot, Retry\nfrom foliot.alerts import Ping\n"
        "app = Foliot('memory://', name='pinged', channels={'hc': Ping('env:HC')})\n"
        "@app.job('0 0 1 1 *', ping='hc', retry=Retry(max=1, delay='1s'))\n"
        "def one(): raise RuntimeError('it fails')\n"
    )
    words = ("--app", "pinged:app", "--store", host.store)
    daemon = daemons.serve(*words, folder=tmp_path, HC=f"http://localhost:{server.port}/hc")
    host.foliot("job", "trigger", "pinged/one")
    eventually(lambda: len(server.asked) >= 4, "four pings")
    daemon.stop()
    assert sorted(targets(server)) == ["/hc/fail", "/hc/log", "/hc/start", "/hc/start"]
    by_target = {target: rid(asked) for target, asked in zip(targets(server), server.asked, strict=True)}
    starts = {rid(a) for t, a in zip(targets(server), server.asked, strict=True) if t.endswith("/start")}
    assert starts == {by_target["/hc/log"], by_target["/hc/fail"]}
    assert all(id_.version == 5 for id_ in starts)
    assert host.jobs()[f"{source}.one.ping"].key == f"foliot.alerts/{source}.one.ping"


@pytest.mark.req("OWN-03")
def test_a_daemon_gives_a_sign_of_life(daemons: Daemons, repository: Repository, server: WebServer) -> None:
    repository.push(one=job("true", "1h"))
    daemon = daemons.serve(repository.remote, "--ping", "env:HC", HC=f"http://localhost:{server.port}/alive")
    eventually(lambda: server.asked, "a ping")
    daemon.stop()
    assert server.asked[0].line.startswith("GET /alive ")


def test_a_secret_in_the_words_of_the_command_is_refused(daemons: Daemons, repository: Repository) -> None:
    repository.push(one=job("true", "1h"))
    for words in (("--ping", "https://hc-ping.com/hunter2"), ("--smtp", "smtp://me:hunter2@localhost")):
        refused = daemons.start("foliot serve", repository.remote, *words)
        assert refused.wait() == 2
        assert "env:NAME" in refused.told
        assert "hunter2" not in refused.told


def test_a_file_that_is_refused_is_told_at_once_and_its_mending_too(
    daemons: Daemons, repository: Repository, server: WebServer, channels: Path
) -> None:
    repository.push(one=job("true", "1h", notify="ops"))
    daemon = daemons.serve(repository.remote, "-i", "1", "--channels", channels, OPS_WEBHOOK=server.url)
    repository.push({CONFIG: "jobs: 7"})
    eventually(lambda: server.asked, "an alert")
    repository.push(one=job("true", "2h", notify="ops"))
    eventually(lambda: len(server.asked) > 1, "the end of it")
    daemon.stop()
    bodies = [json.loads(asked.body) for asked in server.asked]
    assert [body["type"] for body in bodies] == ["job.source", "job.recovery"]
    assert "must be a mapping" in bodies[0]["why"]
    assert bodies[0]["job"] == bodies[1]["job"] == daemon.all("source_followed")[0]["source"]
