"""The pull cycle: what is picked up, what is refused, and that the last good one stays."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.errors import ConfigNotFoundError, FoliotError, InvalidJobError
from foliot.sources.git.errors import (
    GitError,
    GitMissingError,
    HistoryRewrittenError,
    RemoteUnavailableError,
    SnapshotError,
    TreeRefusedError,
)
from foliot.testing.clock import ManualClock
from sources.git.scene import CONFIG, Remote, a_run, following, git, names, parse, played, shown, tidied


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "project")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.mark.req("ROLL-05", "ROLL-06")
@played
async def test_a_push_is_picked_up(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as source:
        first = await source.start()
        assert (first.revision, names(first)) == (remote.revision, ["a", "b"])
        assert await source.refresh() is None, "nothing has moved"

        remote.push("b c", files={"bin/deep/tool": "x"})
        second = await source.refresh()
        assert second is not None
        assert (second.revision, names(second)) == (remote.revision, ["b", "c"])
        await tidied(source)

        assert shown(source, "c", "bin/deep/tool") == "x"
        assert not (source.layout.link("c") / ".git").exists()
        assert sorted(source.layout.links()) == ["b", "c"], "names of jobs that are gone are gone"
        clone = cache / source.layout.slug
        assert git(clone, "rev-parse", "HEAD") == remote.revision
        assert git(clone, "status", "--short") == "", "a plain clone, for people who look"
        assert (clone / CONFIG).read_text() == "b c"


@played
async def test_what_is_not_committed_is_not_run(remote: Remote, cache: Path) -> None:
    (remote.path / CONFIG).write_text("uncommitted")
    (remote.path / "new").write_text("uncommitted")
    git(remote.path, "add", "new")

    async with following(remote.path, cache) as source:
        assert names(await source.start()) == ["a", "b"]
        assert not (source.layout.link("a") / "new").exists()


@pytest.mark.parametrize("kind", ["bare", "subdirectory", "worktree", "shallow", "file", "sha256"])
@played
async def test_every_kind_of_local_repository_is_followed(kind: str, remote: Remote, cache: Path) -> None:
    place = remote.path.with_name(kind)
    where: str | Path = place
    if kind == "bare":
        git(remote.path, "clone", "--quiet", "--bare", ".", str(place))
    elif kind == "subdirectory":
        remote.push(files={"below/x": "x"})
        where = remote.path / "below"
    elif kind == "worktree":
        git(remote.path, "worktree", "add", "--quiet", "-b", "other", str(place))
    elif kind == "shallow":
        remote.push()
        git(remote.path, "clone", "--quiet", "--depth=1", f"file://{remote.path}", str(place))
    elif kind == "file":
        where = f"file://{remote.path}"
    else:
        Remote(place, words=["--object-format=sha256"])

    async with following(where, cache) as source:
        snapshot = await source.start()
        assert names(snapshot) == ["a", "b"]
        assert await source.refresh() is None
        if kind == "shallow":
            remote.push()
            git(place, "fetch", "--quiet", "--depth=1")
            git(place, "reset", "--quiet", "--hard", "origin/main")
            with pytest.raises(HistoryRewrittenError):  # what was before cannot be seen from there
                await source.refresh()


@pytest.mark.req("ROLL-15", "ROLL-16")
@pytest.mark.parametrize("trouble", ["config", "no config", "large config", "link config", "tree", "job id"])
@played
async def test_a_revision_that_cannot_be_taken_leaves_the_last_good_one(
    trouble: str, remote: Remote, cache: Path
) -> None:
    good = remote.revision
    async with following(remote.path, cache) as source:
        await source.start()
        errors: dict[str, type[FoliotError]] = {"config": InvalidJobError, "no config": ConfigNotFoundError}
        if trouble == "config":
            remote.push("bad a")
        elif trouble == "no config":
            (remote.path / CONFIG).unlink()
            remote.push()
        elif trouble == "large config":
            remote.push("a " * 600_000)
        elif trouble == "link config":
            (remote.path / CONFIG).unlink()
            (remote.path / CONFIG).symlink_to("turn")
            remote.push()
        elif trouble == "tree":
            (remote.path / "evil").symlink_to("/etc")
            remote.push("c")
        else:
            remote.push("../../evil")

        for turn in (1, 2, 3):
            with pytest.raises(errors.get(trouble, TreeRefusedError)):
                await source.refresh()
            assert source.status.failures == turn
            assert source.status.revision == good
        assert sorted(source.layout.links()) == ["a", "b"]
        assert shown(source, "a") == "1"
        assert source.snapshots.enter(a_run("a")).revision == good

        (remote.path / "evil").unlink(missing_ok=True)
        (remote.path / CONFIG).unlink(missing_ok=True)
        remote.push("d")
        assert names(await source.refresh()) == ["d"]
        assert source.status.error is None


@played
async def test_a_refused_revision_is_not_tried_again_and_again(remote: Remote, cache: Path) -> None:
    calls: list[str] = []

    def counted(config: bytes, revision: str, _: object) -> object:
        calls.append(revision)
        return parse(config, revision)

    async with following(remote.path, cache) as source:
        source._parse = counted  # type: ignore[assignment]  # counts what the real one is asked
        await source.start()
        bad = remote.push("bad")
        for _ in range(3):
            with pytest.raises(InvalidJobError):
                await source.refresh()
        assert calls.count(bad) == 1


@pytest.mark.req("ROLL-14")
@played
async def test_a_remote_that_is_away_costs_nothing_but_news(remote: Remote, cache: Path) -> None:
    clock = ManualClock()
    async with following(remote.path, cache, clock=clock) as source:
        await source.start()
        pulled = clock.now()
        remote.hide()
        for turn in (1, 2):
            await clock.advance(timedelta(minutes=1))
            with pytest.raises(RemoteUnavailableError):
                await source.refresh()
            status = source.status
            assert (status.failures, status.pulled_at, status.revision) == (
                turn,
                pulled,
                source.snapshots.revision,
            )
            assert status.failing_since == pulled + timedelta(minutes=1)
            assert isinstance(status.error, RemoteUnavailableError)
        assert source.snapshots.enter(a_run("a")).path.is_dir()
        remote.return_()
        remote.push("c")
        assert names(await source.refresh()) == ["c"]
        assert source.status.failures == 0
        assert source.status.failing_since is None


@pytest.mark.req("ROLL-21")
@pytest.mark.parametrize("trouble", ["away", "config", "tree", "git"])
@played
async def test_a_start_goes_on_with_the_last_good_one(
    trouble: str, remote: Remote, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with following(remote.path, cache) as source:
        good = await source.start()
    errors: dict[str, type[FoliotError]] = {
        "away": RemoteUnavailableError,
        "config": InvalidJobError,
        "tree": TreeRefusedError,
        "git": GitMissingError,
    }
    if trouble == "away":
        remote.hide()
    elif trouble == "git":
        monkeypatch.setenv("PATH", "/nonexistent")
    else:
        (remote.path / "evil").symlink_to("/etc" if trouble == "tree" else "turn")
        remote.push("bad" if trouble == "config" else "a")

    async with following(remote.path, cache) as source:
        assert await source.start() == good
        assert isinstance(source.status.error, errors[trouble])
        assert source.status.revision == good.revision
        with pytest.raises(errors[trouble]):
            await source.refresh()
        assert source.snapshots.enter(a_run("a")).path.is_dir()


@pytest.mark.parametrize("trouble", ["away", "config", "git", "no repository", "empty", "detached", "unborn"])
@played
async def test_a_first_start_that_finds_nothing_good_says_why(
    trouble: str, remote: Remote, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: dict[str, tuple[type[FoliotError], str]] = {
        "away": (RemoteUnavailableError, "does not appear to be a git repository"),
        "config": (InvalidJobError, "cannot be read"),
        "git": (GitMissingError, "does not start"),
        "no repository": (RemoteUnavailableError, "does not appear to be a git repository"),
        "empty": (GitError, "no commits yet"),
        "detached": (GitError, "detached"),
        "unborn": (GitError, "no commits yet"),
    }
    place = remote.path
    if trouble == "away":
        remote.hide()
    elif trouble == "config":
        remote.push("bad")
    elif trouble == "git":
        monkeypatch.setenv("PATH", "/nonexistent")
    elif trouble == "detached":
        git(place, "checkout", "--quiet", "--detach")
    elif trouble == "unborn":
        git(place, "symbolic-ref", "HEAD", "refs/heads/none")
    else:
        place = place.with_name("other")
        place.mkdir()
        if trouble == "empty":
            git(place, "init", "--quiet")

    kind, text = cases[trouble]
    async with following(place, cache) as source:
        with pytest.raises(kind, match=text) as caught:
            await source.start()
        assert type(caught.value) is kind
        assert source.status.revision is None
        with pytest.raises(SnapshotError):
            source.snapshots.enter(a_run("a"))


@played
async def test_rewritten_history_is_refused_with_what_to_do(remote: Remote, cache: Path) -> None:
    remote.push()
    good = remote.revision
    async with following(remote.path, cache) as source:
        await source.start()
        remote.push("c", amend=True)
        for _ in range(2):
            with pytest.raises(HistoryRewrittenError, match="rewritten") as caught:
                await source.refresh()
            assert "--follow-rewrites" in str(caught.value.hint)
        assert source.status.revision == good

    async with following(remote.path, cache, follow_rewrites=True) as source:
        assert names(await source.start()) == ["c"]
        remote.push("d", amend=True)
        assert names(await source.refresh()) == ["d"]
        git(remote.path, "reset", "--quiet", "--hard", good)
        assert names(await source.refresh()) == ["a", "b"], "back again is rewritten, too"


@played
async def test_history_that_was_restored_is_followed_again(remote: Remote, cache: Path) -> None:
    remote.push()
    good = remote.revision
    async with following(remote.path, cache) as source:
        await source.start()
        remote.push("x", amend=True)
        with pytest.raises(HistoryRewrittenError):
            await source.refresh()
        git(remote.path, "reset", "--quiet", "--hard", good)
        assert await source.refresh() is None
        remote.push("c")
        assert names(await source.refresh()) == ["c"]


@pytest.mark.parametrize("when", ["at the start", "later"])
@played
async def test_a_revision_that_was_refused_may_be_taken_back(when: str, remote: Remote, cache: Path) -> None:
    """What was never in effect was never followed: to remove it is no rewriting."""
    good = remote.revision
    async with following(remote.path, cache) as source:
        if when == "later":
            await source.start()
        remote.push("bad")
        with pytest.raises(InvalidJobError):
            await (source.refresh() if when == "later" else source.start())
        git(remote.path, "reset", "--quiet", "--hard", good)
        remote.push("c")
        assert names(await source.refresh()) == ["c"]

        remote.push("d", amend=True)
        with pytest.raises(HistoryRewrittenError):
            await source.refresh()


@played
async def test_a_refused_revision_that_is_taken_back_leaves_no_error(remote: Remote, cache: Path) -> None:
    good = remote.revision
    async with following(remote.path, cache) as source:
        await source.start()
        bad = remote.push("bad")
        with pytest.raises(InvalidJobError):
            await source.refresh()
        git(remote.path, "reset", "--quiet", "--hard", good)
        assert await source.refresh() is None
        assert source.status.error is None

        git(remote.path, "reset", "--quiet", "--hard", bad)
        with pytest.raises(InvalidJobError):
            await source.refresh()


@played
async def test_a_branch_that_was_renamed_is_followed_and_one_that_is_gone_is_told(
    remote: Remote, cache: Path
) -> None:
    async with following(remote.path, cache) as source:
        await source.start()
        git(remote.path, "branch", "--move", "trunk")
        remote.push("c")
        assert names(await source.refresh()) == ["c"]
        assert git(cache / source.layout.slug, "symbolic-ref", "HEAD") == "refs/heads/trunk"

        git(remote.path, "symbolic-ref", "HEAD", "refs/heads/nowhere")
        git(remote.path, "branch", "-D", "trunk")
        with pytest.raises(GitError, match="the branch trunk is gone"):
            await source.refresh()


@played
async def test_another_branch_that_is_checked_out_is_not_followed(remote: Remote, cache: Path) -> None:
    async with following(remote.path, cache) as source:
        await source.start()
        git(remote.path, "checkout", "--quiet", "-b", "experiment")
        remote.push("x")
        assert await source.refresh() is None
        git(remote.path, "checkout", "--quiet", "--detach")
        assert await source.refresh() is None


@played
async def test_a_start_of_the_host_makes_the_snapshots_anew(remote: Remote, cache: Path) -> None:
    """What was written shortly before a power cut may never have reached the disk."""
    async with following(remote.path, cache) as source:
        await source.start()
        first = source.snapshots.enter(a_run("a")).path
    note = first.parent.parent / "set.json"
    note.write_text(note.read_text().replace('"boot": "', '"boot": "another-'))
    (first / "turn").write_text("")
    remote.hide()

    async with following(remote.path, cache) as source:
        await source.start()
        assert source.snapshots.enter(a_run("a")).path != first
        assert shown(source, "a") == "1"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
@pytest.mark.req("OWN-20")
@played
async def test_a_repository_of_another_user_is_read_if_the_operator_trusts_it(
    remote: Remote, cache: Path
) -> None:
    for path in (remote.path, *remote.path.rglob("*")):
        os.chown(path, 12_345, -1, follow_symlinks=False)

    async with following(remote.path, cache) as source:
        with pytest.raises(RemoteUnavailableError, match="dubious ownership") as caught:
            await source.start()
    assert caught.value.hint is not None
    assert "--trust-path" in caught.value.hint

    async with following(remote.path, cache, trusted=(str(remote.path),)) as source:
        assert (await source.start()).revision
