"""How a daemon starts, and what it says when it cannot."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from daemon.harness import PATIENCE, Daemon, Daemons, Host
from daemon.repositories import CONFIG, Repository, config, git_server, hanging_server, job

HOURLY = {"one": job("true", "1h")}
COMMANDS = pytest.mark.parametrize(
    ("command", "cache"), [("rollcron", "rollcron"), ("foliot serve", "foliot")]
)


def programs(folder: Path, *names: str) -> str:
    """A PATH with these programs only."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    return str(folder)


def says(daemon: Daemon, *, code: int) -> str:
    """What a daemon says that ends at once."""
    assert daemon.wait() == code, daemon.told
    assert not any(line.startswith("Traceback") for line in daemon.said), daemon.told
    return "\n".join(daemon.said)


@pytest.mark.prove
@COMMANDS
@pytest.mark.req("ROLL-01", "ROLL-20")
def test_each_command_follows_the_repository_it_is_called_in_and_has_its_own_cache(
    daemons: Daemons, repository: Repository, host: Host, command: str, cache: str
) -> None:
    repository.push(**HOURLY)

    names = []
    for folder, words in (
        (repository.tree, []),
        (host.home, [repository.tree]),
        (repository.tree, ["-i", "5", "."]),
    ):
        daemon = daemons.start(command, *words, folder=folder)
        daemon.ready()
        names.append(daemon.all("source_followed")[0]["source"])
        assert daemon.stop() == 0, daemon.told
        assert not daemon.said

    assert len(set(names)) == 1  # one REPO, one hash, however it is written
    assert re.fullmatch(r"ops-[0-9a-f]{12}", names[0])
    found = sorted(path.name for path in host.cache(cache).iterdir() if not path.name.startswith("."))
    assert found == [names[0], f"{names[0]}@one"]
    assert host.file.exists()
    assert [path.name for path in (host.home / ".cache").iterdir()] == [cache]


def test_directories_that_the_environment_names_are_used(
    daemons: Daemons, repository: Repository, host: Host, tmp_path: Path
) -> None:
    repository.push(**HOURLY)
    for names in (("XDG_CACHE_HOME", "XDG_STATE_HOME"), ("CACHE_DIRECTORY", "STATE_DIRECTORY")):
        places = [tmp_path / name for name in names]
        variables = dict(zip(names, map(str, places), strict=True))
        daemons.serve(repository.remote, folder=None, **variables).stop()
        cache, state = (place / "foliot" if "XDG" in place.name else place for place in places)
        assert (state / "foliot.db").exists()
        assert list(cache.glob("ops-*@one"))
    assert not list(host.home.iterdir())


@pytest.mark.req("ROLL-21")
def test_a_host_without_git_is_told_so_at_once(
    daemons: Daemons, repository: Repository, tmp_path: Path
) -> None:
    repository.push(**HOURLY)

    daemon = daemons.start("rollcron", repository.remote, PATH=programs(tmp_path / "bin", "sh"))

    text = says(daemon, code=1)
    assert "the git program does not start" in text
    assert "install git" in text


@pytest.mark.req("ROLL-21")
def test_a_repository_without_a_good_config_is_refused_with_all_that_is_wrong(
    daemons: Daemons, repository: Repository
) -> None:
    repository.push({CONFIG: config({"one": job("true", timeout="soon"), "two": {"run": "true"}})})

    text = says(daemons.start("rollcron", repository.remote), code=3)

    assert re.search(r"rollcron\.yaml:\d+", text)
    assert "timeout" in text
    assert re.search(r"two.*schedule", text)


@pytest.mark.req("ROLL-21")
def test_what_cannot_be_followed_is_refused_with_an_exit_code_that_tells_why(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    repository.push({"README": "no jobs here\n"})
    calls: list[tuple[tuple[str | Path, ...], int, str]] = [
        ((repository.remote,), 4, CONFIG),
        ((host.folder / "nowhere",), 6, "nowhere"),
        ((host.home,), 6, "home"),
        (("ext::sh -c id",), 3, "transport"),
        (("-i", "0"), 2, "interval"),
        (("-i", "soon"), 2, "interval"),
        (("one", "two"), 2, "two"),
    ]
    started = [(daemons.start("rollcron", *words), code, said) for words, code, said in calls]
    for daemon, code, said in started:
        text = says(daemon, code=code)
        assert said in text
        assert text.startswith(("error: ", "Usage: "))


@pytest.mark.prove
@pytest.mark.req("ROLL-21")
def test_a_cached_good_config_is_gone_on_with_while_the_remote_is_away(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    say = f"cat text >> {host.witness}/said"
    revision = repository.push({"text": "old\n"}, one=job(say))
    with git_server(repository.remote.parent) as server:
        daemons.rollcron(server.url()).stop()
        server.stop()
        host.file.unlink()  # not even the store remembers

        daemon = daemons.rollcron(server.url())

        assert daemon.all("source_followed")[0]["revision"] == revision[:12]
        assert daemon.all("source_failed")
        assert host.wait_for_lines("said", 2)
        server.start()
        repository.push({"text": "new\n"})
        daemon.pull()
        daemon.wait_for("source_recovered")
        host.wait_for_lines("said", len(host.lines("said")) + 2)
        assert host.lines("said")[-1] == "new"


@pytest.mark.prove
@pytest.mark.req("ROLL-21", "ROLL-22")
def test_a_start_does_not_wait_for_a_remote_that_hangs_if_something_good_is_cached(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    say = f"cat text >> {host.witness}/said"
    repository.push({"text": "old\n"}, one=job(say))
    with git_server(repository.remote.parent) as server:
        daemons.rollcron(server.url()).stop()
        server.stop()
        with hanging_server(server.port):
            daemon = daemons.rollcron(server.url(), "-i", "1")
            assert "longer than 5 s" in daemon.all("source_failed")[0]["error"]
            host.wait_for_lines("said", 2)
        server.start()
        repository.push({"text": "new\n"})

        daemon.wait_for("source_recovered")  # its pull is still hanging, and ends with the server


def test_a_first_start_that_hangs_can_be_stopped(daemons: Daemons) -> None:
    with hanging_server() as server:
        daemon = daemons.start("rollcron", f"git://127.0.0.1:{server.port}/ops.git")
        assert server.has_guest.wait(PATIENCE)
        assert daemon.stop() == 0
    assert not daemon.said


def test_a_bad_revision_at_the_start_leaves_the_last_good_one_in_effect(
    daemons: Daemons, repository: Repository, host: Host
) -> None:
    say = f"cat text >> {host.witness}/said"
    good = repository.push({"text": "good\n"}, one=job(say))
    daemons.rollcron(repository.remote).stop()
    repository.push({"text": "bad\n", CONFIG: "jobs: {one: {}}"})

    daemon = daemons.rollcron(repository.remote)

    assert daemon.all("source_followed")[0]["revision"] == good[:12]
    assert "schedule" in daemon.all("source_failed")[0]["error"]
    before = len(host.lines("said"))
    assert set(host.wait_for_lines("said", before + 1)) == {"good"}
