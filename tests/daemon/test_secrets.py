"""What a job gets to see, and that no secret of the daemon is written down anywhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.harness import Daemons, Host, eventually
from daemon.http_remote import http_remote
from daemon.repositories import Repository, job

CANARY = "canary-4f1d7c"
PASSWORD = "pw-9b2e61"  # noqa: S105 - nobody's
TOKEN = "tok-77aa03"  # noqa: S105 - nobody's


def bytes_below(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The names and contents of all files below a folder."""
    for path in folder.rglob("*"):
        yield str(path), path.read_bytes() if path.is_file() else b""


def assert_nowhere(secret: str, host: Host, *texts: str) -> None:
    """Neither in a file's name nor in its content, nor in any of these texts."""
    for form in (secret, b64encode(secret.encode()).decode()):
        for name, content in bytes_below(host.folder):
            assert form not in name
            assert form.encode() not in content, name
        for text in texts:
            assert form not in text


def test_a_job_gets_a_clean_environment_with_what_is_known_of_its_run(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    file = f"{host.witness}/env"
    show = f"env > {file}.new; mv {file}.new {file}; readlink /proc/self/fd/0"
    revision = repository.push(
        {"more.env": "FROM_FILE=yes\n"},
        one=job(show, env={"GREETING": "hello world"}, env_file="more.env", name="The One"),
    )

    daemon = daemons.rollcron(
        repository.remote, SECRET=CANARY, FOLIOT_STORE="", GIT_SSH_COMMAND=f"ssh -i {CANARY}"
    )
    found = daemon.wait_for("run_succeeded", name="The One")
    lines = dict(line.split("=", 1) for line in host.wait_for_lines("env"))

    key = lines["FOLIOT_KEY"]
    assert {name: value for name, value in lines.items() if name not in ("PWD", "OLDPWD", "SHLVL", "_")} == {
        "HOME": str(host.home),
        "PATH": host.environment["PATH"],
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/sh",
        "GREETING": "hello world",
        "FROM_FILE": "yes",
        "FOLIOT_JOB": "one",
        "FOLIOT_KEY": key,
        "FOLIOT_RUN_ID": f"{key}#1",
        "FOLIOT_ATTEMPT": "1",
        "FOLIOT_SCHEDULED_FOR": key.partition("@")[2],
        "FOLIOT_TRIGGER": "schedule",
        "FOLIOT_TOKEN": lines["FOLIOT_TOKEN"],
        "FOLIOT_REVISION": revision,
    }
    assert int(lines["FOLIOT_TOKEN"]) > 0
    assert found["run"].startswith(key.partition("@")[0])
    run = eventually(lambda: [run for run in host.runs("one") if not run.is_open])[0]
    output = host.ask(lambda store: store.output(*run.key))
    assert output
    assert output.text == "/dev/null\n"
    daemon.stop()
    assert_nowhere(CANARY, host, daemon.told)


def test_a_password_in_the_address_opens_its_server_and_is_written_down_nowhere(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push(one=job(f"env >> {host.witness}/env; cat /proc/$PPID/environ >> {host.witness}/parent"))
    with http_remote(repository.remote.parent, "me", PASSWORD) as server:
        typed = f"http://me:{PASSWORD}@127.0.0.1:{server.server_port}/ops.git"
        daemon = daemons.start("rollcron", typed, "-i", "1")
        seen: set[str] = set()

        def has_told(event: str) -> bool:
            seen.update(host.processes().values())
            return bool(daemon.all(event))

        eventually(lambda: has_told("run_succeeded"))
        repository.push(one=job("exit 3"))
        eventually(lambda: has_told("attempt_failed"))
        server.pass_word = "changed"  # noqa: S105 - nobody's
        failed = daemon.wait_for("source_failed")
        status = host.foliot("source", "list")
        daemon.stop()
        refused = daemons.start("rollcron", f"{typed}?access={TOKEN}")
        assert refused.wait() == 3, "a query is refused: git would hand it to nobody, and show it to all"
        basic = b64encode(f"me:{PASSWORD}".encode()).decode()
        assert f"Basic {basic}" in server.heard

    assert "127.0.0.1" in failed["error"]
    assert any(words.startswith("git ") for words in seen)
    for secret in (PASSWORD, TOKEN, basic):
        assert_nowhere(secret, host, daemon.told, refused.told, str(status))
    # What the user has typed, everybody can read who asks for processes; nothing adds to it.
    children = {words for words in seen if typed not in words}
    for secret in (PASSWORD, TOKEN, basic):
        assert not [words for words in children if secret in words], secret


@pytest.mark.req("OWN-05")
def test_secrets_that_a_job_is_given_are_written_down_nowhere(
    daemons: Daemons, repository: Repository, host: Host, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "shop.env").write_text(f"PASSWORD={PASSWORD}\n")
    (folder / "shop.env").chmod(0o600)
    show = 'echo "$PASSWORD and $TOKEN" | tee /dev/stderr; test "${#PASSWORD} ${#TOKEN}" = "9 10" && exit 3'
    repository.push(one=job(show, secrets="shop", pass_env=["TOKEN"]), bare=job("test -z $PASSWORD$TOKEN"))

    daemon = daemons.serve(repository.remote, "--secrets", folder, "--pass-env", "TOKEN", TOKEN=TOKEN)
    failed = daemon.wait_for("attempt_failed")
    daemon.wait_for("run_succeeded", name="bare")
    shown = host.foliot("run", "list"), host.foliot("job", "show", "one")
    run = eventually(lambda: [run for run in host.runs("one") if not run.is_open])[0]
    output = host.ask(lambda store: store.output(*run.key))
    daemon.stop()

    assert output
    assert output.text == "*** and ***\n" * 2
    assert failed["error"].startswith("exit code 3: *** and ***")
    for secret in (PASSWORD, TOKEN):
        assert_nowhere(secret, host, daemon.told, str(shown))
