"""What a source can say of a revision that somebody else knows."""

from __future__ import annotations

from pathlib import Path

from sources.git.scene import Remote, following, played


@played
async def test_it_tells_whether_what_it_pulled_goes_on_from_what_others_know(tmp_path: Path) -> None:
    remote = Remote(tmp_path / "project")
    first, second = remote.revision, remote.push("a")
    async with following(remote.path, tmp_path / "cache") as source:
        await source.start(first)
        assert source.goes_on

        for base, goes_on in (
            (second, True),
            (None, False),
            ("f" * 40, False),
            ("HEAD", False),
            ("--help", False),
        ):
            assert await source.refresh(base) is None
            assert source.goes_on is goes_on, base

        third = remote.push("b")
        await source.refresh(second)
        assert (source.snapshots.revision, source.goes_on) == (third, True)
