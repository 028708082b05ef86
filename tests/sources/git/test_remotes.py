"""Remotes over a network: real servers, and servers that are away, slow, hostile or silent (G1)."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from foliot.clock import SystemClock
from foliot.sources.git.errors import RemoteUnavailableError
from sources.git.scene import Remote, a_run, following, git, names, played, shown
from sources.git.servers import (
    PASSWORD,
    USER,
    command_lines,
    deaf_server,
    free_port,
    git_daemon,
    git_over_http,
)

SHORT = timedelta(seconds=1)


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "srv" / "project")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


async def all_gone(words: str) -> None:
    """Wait until no process has these words among its arguments; one that was killed may need a moment."""
    while any(words in line for line in command_lines()):
        await SystemClock().wait(timedelta(milliseconds=10))


@pytest.mark.req("ROLL-14")
@played
async def test_a_daemon_that_is_down_for_a_while_is_followed_again(remote: Remote, cache: Path) -> None:
    port = free_port()
    async with following(f"git://127.0.0.1:{port}/project", cache) as source:
        with git_daemon(remote.path.parent, port):
            assert names(await source.start()) == ["a", "b"]
        remote.push("c")
        for _ in range(2):
            with pytest.raises(RemoteUnavailableError, match="unable to connect"):
                await source.refresh()
        assert source.snapshots.enter(a_run("a")).path.is_dir()
        with git_daemon(remote.path.parent, port):
            assert names(await source.refresh()) == ["c"]


def all_texts(place: Path) -> str:
    return "\n".join(
        f"{path}\n{path.read_text(errors='replace')}" for path in place.rglob("*") if path.is_file()
    )


@played
async def test_a_password_reaches_the_server_and_nobody_else(
    remote: Remote, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with git_over_http(remote.path.parent) as server:
        host = f"127.0.0.1:{server.server_port}/project/.git"
        url = f"http://{USER}:{quote(PASSWORD, safe='')}@{host}"
        async with following(url, cache) as source:
            assert names(await source.start()) == ["a", "b"]
            remote.push("c")
            assert names(await source.refresh()) == ["c"]
        assert server.asked > 3
        leaks = [PASSWORD, quote(PASSWORD, safe=""), url]
        heard = "\n".join([*server.seen, all_texts(cache), repr(source.status), caplog.text])
        assert not any(leak in heard for leak in leaks)
        assert any("remote-http" in line for line in server.seen), "git was looked at"


@pytest.mark.parametrize("given", ["", f"{USER}@", f"{USER}:wrong-s3cret@"])
@played
async def test_a_server_that_does_not_let_us_in_is_not_asked_for_ever(
    given: str, remote: Remote, cache: Path
) -> None:
    with git_over_http(remote.path.parent) as server:
        async with following(f"http://{given}127.0.0.1:{server.server_port}/project/.git", cache) as source:
            with pytest.raises(RemoteUnavailableError) as caught:
                await source.start()
            assert "s3cret" not in f"{caught.value!r}{caught.value.details}{caught.value.hint}"
            assert "127.0.0.1" in str(caught.value)


KIND = b"application/x-git-upload-pack-advertisement"
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: " + KIND + b"\r\nContent-Length: 9999\r\n\r\n"
SERVERS = [("git", b""), ("git", b"00"), ("http", b""), ("http", PAGE), ("http", PAGE + b"001e# service")]


@pytest.mark.req("ROLL-22")
@pytest.mark.parametrize(("scheme", "answer"), SERVERS)
@played
async def test_a_silent_server_delays_nothing_and_leaves_no_process(
    scheme: str, answer: bytes, cache: Path
) -> None:
    with deaf_server(answer) as port:
        async with following(f"{scheme}://127.0.0.1:{port}/project", cache, timeout=SHORT) as source:
            asked = asyncio.create_task(source.start())
            turns = 0
            while not asked.done():
                await asyncio.wait([asked], timeout=0.01)
                turns += 1
            with pytest.raises(RemoteUnavailableError, match="given up after 1 s, while asking the remote"):
                await asked
            assert turns > 20, "others had their turns meanwhile"
        await all_gone(f"127.0.0.1:{port}")


@played
async def test_a_cancelled_pull_leaves_no_process(cache: Path) -> None:
    with deaf_server() as port:
        async with following(f"git://127.0.0.1:{port}/project", cache) as source:
            asked = asyncio.create_task(source.start())
            while not [line for line in command_lines() if f"127.0.0.1:{port}" in line]:
                await asyncio.wait([asked], timeout=0.01)
            asked.cancel()
            with suppress(asyncio.CancelledError):
                await asked
        await all_gone(f"127.0.0.1:{port}")


@played
async def test_a_server_that_talks_too_much_is_cut_off(cache: Path) -> None:
    rubbish = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + b"\x1b[31mnonsense\n" * 200_000
    with deaf_server(rubbish) as port:
        async with following(f"http://127.0.0.1:{port}/project", cache, timeout=SHORT) as source:
            with pytest.raises(RemoteUnavailableError) as caught:
                await source.start()
            assert len(str(caught.value)) < 500
            assert str(caught.value).isprintable()


@played
async def test_a_password_is_not_taken_along_to_where_a_server_redirects(remote: Remote, cache: Path) -> None:
    with git_over_http(remote.path.parent) as other:
        place = f"http://localhost:{other.server_port}/project/.git/info/refs?service=git-upload-pack"
        answer = f"HTTP/1.1 301 Moved\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
        with deaf_server(answer.encode()) as port:
            url = f"http://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/project/.git"
            async with following(url, cache) as source:
                with pytest.raises(RemoteUnavailableError) as caught:
                    await source.start()
        assert "redirects" in str(caught.value.hint)
        assert other.asked == 0


@played
async def test_who_holds_the_standard_error_of_git_holds_nobody_up(
    remote: Remote, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an ssh with ControlPersist does: it stays in the background, to be found by the next one."""
    ssh, held = tmp_path / "ssh", tmp_path / "held"
    ssh.write_text(
        f"#!/bin/sh\nsetsid sleep 300 >/dev/null </dev/null &\necho $! >>{held}\n"
        'shift $(($# - 1))\nexec sh -c "$1"\n'
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(ssh))
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
    try:
        async with following(f"me@host.example:{remote.path}", cache) as source, asyncio.timeout(60):
            assert names(await source.start()) == ["a", "b"]
    finally:
        for process in held.read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)


@played
async def test_what_a_git_that_called_us_says_of_itself_is_not_heard(
    remote: Remote, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that a hook starts has GIT_DIR and the like in its environment."""
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    async with following(remote.path, cache) as source:
        await source.start()
        assert shown(source, "a") == "1"


@played
async def test_hooks_and_filters_of_the_host_do_not_run(
    remote: Remote, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    hooks = home / "hooks"
    hooks.mkdir(parents=True)
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch {home}/ran\n")
        (hooks / hook).chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    git(home, "config", "--global", "core.hooksPath", str(hooks))
    git(home, "config", "--global", "filter.evil.smudge", f"touch {home}/ran; cat")
    git(home, "config", "--global", "filter.evil.required", "true")
    remote.push(files={".gitattributes": "* filter=evil\n"})

    async with following(remote.path, cache) as source:
        await source.start()
        await source.refresh()
        assert shown(source, "a") == "2"
    assert not (home / "ran").exists()
