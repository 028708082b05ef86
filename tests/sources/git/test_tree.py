"""Trees that were made to do harm: each is refused whole, and nothing is written outside (R11, G3, G4)."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.sources.git.errors import TreeRefusedError
from foliot.sources.git.tree import BadTreeError, Limits, Tree, stays_inside
from sources.git.scene import Remote, a_run, following, git, played, tidied, tree

LINK, FILE, EXECUTABLE, TREE, SUBMODULE = "120000", "100644", "100755", "040000", "160000"


def blob(place: Path, text: str) -> str:
    return git(place, "hash-object", "-w", "--stdin", given=text.encode())


# Rows of a top tree: mode, name, and the text of a blob or the rows of a tree.
HOSTILE: dict[str, list[tuple[str, str, object]]] = {
    "link to an absolute path": [(LINK, "evil", "/etc")],
    "link to the parent": [(LINK, "evil", "..")],
    "link far up": [(LINK, "evil", "../../../../etc/passwd")],
    "link up from below": [(TREE, "d", [(LINK, "evil", "../../x")])],
    "link down and up": [(LINK, "evil", "d/../../x"), (TREE, "d", [(FILE, "f", "x")])],
    "link through a link": [
        (TREE, "d", [(TREE, "e", [(FILE, "f", "x")])]), (LINK, "l", "d/e"), (LINK, "m", "l/../../.."),
    ],
    "links that go round": [(LINK, "a", "b"), (LINK, "b", "a")],
    "link to a link that leads out": [(LINK, "a", "b"), (LINK, "b", "/usr")],
    "parent": [(TREE, "..", [(FILE, "evil", "x")])],
    "parent below": [(TREE, "d", [(TREE, "..", [(FILE, "evil", "x")])])],
    "dot": [(TREE, ".", [(FILE, "evil", "x")])],
    "git directory": [(TREE, ".git", [(FILE, "config", "x")])],
    "git directory in other letters": [(TREE, ".GiT", [(FILE, "config", "x")])],
    "git directory below": [(TREE, "d", [(TREE, ".git", [(FILE, "config", "x")])])],
    "git file": [(FILE, ".git", "gitdir: /usr")],
    "git link": [(LINK, ".git", "d")],
    "git directory with a dot": [(TREE, ".git.", [(FILE, "config", "x")])],
    "git directory of short names": [(TREE, "git~1", [(FILE, "config", "x")])],
    "git directory with what nobody sees": [(TREE, ".g\u200cit", [(FILE, "config", "x")])],
    "the same name twice": [(FILE, "a", "x"), (FILE, "a", "y")],
    "a file and a directory": [(FILE, "a", "x"), (TREE, "a", [(FILE, "b", "x")])],
    "a link and a directory": [
        (LINK, "a", "d"), (TREE, "a", [(FILE, "b", "x")]), (TREE, "d", [(FILE, "f", "x")]),
    ],
    "slash in a name": [(FILE, "../evil", "x")],
    "gitmodules that is a link": [(LINK, ".gitmodules", "x")],
}  # fmt: skip


def write_rows(place: Path, rows: list[tuple[str, str, object]]) -> str:
    made = []
    for mode, name, what in rows:
        sha = write_rows(place, what) if isinstance(what, list) else blob(place, str(what))
        made.append((mode, name, sha))
    return _raw_tree(place, made)


def _raw_tree(place: Path, rows: list[tuple[str, str, str]]) -> str:
    """By hash-object: mktree refuses some of what a hostile server could send."""
    ordered = sorted(rows, key=lambda row: row[1] + ("/" if row[0] == TREE else ""))
    raw = b"".join(
        f"{mode.lstrip('0')} {name}".encode() + b"\0" + bytes.fromhex(sha) for mode, name, sha in ordered
    )
    return git(place, "hash-object", "-w", "-t", "tree", "--literally", "--stdin", given=raw)


def _commit(remote: Remote, rows: list[tuple[str, str, object]], parent: str) -> None:
    config = (FILE, "rollcron.yaml", "a")
    top = write_rows(remote.path, [config, *rows])
    commit = git(remote.path, "commit-tree", top, "-p", parent, "-m", "hostile")
    git(remote.path, "update-ref", "refs/heads/main", commit)


@played
async def test_a_hostile_tree_is_refused_as_a_whole(tmp_path: Path) -> None:
    remote = Remote(tmp_path / "project")
    async with following(remote.path, tmp_path / "cache", follow_rewrites=True) as source:
        good = await source.start()
        await tidied(source)
        before = _outside_git(tmp_path)
        for name, rows in HOSTILE.items():
            _commit(remote, rows, good.revision)
            with pytest.raises(TreeRefusedError):
                await source.refresh()
            assert source.status.revision == good.revision, name
            assert _outside_git(tmp_path) == before, name
        assert source.snapshots.enter(a_run("a")).path.is_dir()


def test_a_hostile_tree_that_git_lets_in_is_refused_by_us(tmp_path: Path) -> None:
    """As an older git would, or one that is told to check nothing."""
    remote = Remote(tmp_path / "project")
    refused = []
    for name, rows in HOSTILE.items():
        top = write_rows(remote.path, rows)
        words = ["git", "-C", str(remote.path), "archive", "--format=tar", top]
        done = subprocess.run(words, capture_output=True, check=False)  # noqa: S603 - the test's own
        if done.returncode:
            continue
        with Tree(tmp_path / "spool", Limits()) as made:
            try:
                made.read(io.BytesIO(done.stdout))
            except BadTreeError:
                refused.append(name)
            else:
                pytest.fail(name)
    assert len(refused) >= 10, "git's own archive refuses the others"


def _outside_git(place: Path) -> dict[str, str | None]:
    return {name: text for name, text in tree(place).items() if ".git" not in Path(name).parts}


HARMLESS: dict[str, list[tuple[str, str, object]]] = {
    "link to a file beside it": [(LINK, "l", "rollcron.yaml")],
    "link up and down inside": [(TREE, "d", [(LINK, "l", "../rollcron.yaml")])],
    "link to nothing": [(LINK, "l", "nothing")],
    "link to the top": [(TREE, "d", [(LINK, "l", "..")])],
    "two names in other letters": [(FILE, "README", "x"), (FILE, "readme", "y")],
    "submodule": [
        (SUBMODULE, "sub", "x"), (FILE, ".gitmodules", '[submodule "sub"]\n\tpath=sub\n\turl=../x\n'),
    ],
    "strange names": [(FILE, "-rf", "x"), (FILE, "a b\nc", "x"), (FILE, "ü", "x"), (FILE, "$(x)", "x")],
    "hooks and filters": [
        (FILE, ".gitattributes", "* filter=evil\nx export-ignore\n"), (FILE, "f", "x"), (FILE, "x", "x"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
@played
async def test_a_tree_that_only_looks_odd_is_taken(name: str, tmp_path: Path) -> None:
    remote = Remote(tmp_path / "project")
    _commit(remote, HARMLESS[name], remote.revision)
    async with following(remote.path, tmp_path / "cache") as source:
        await source.start()
        place = source.snapshots.enter(a_run("a")).path

        written = {row[1] for row in HARMLESS[name]} - ({"x"} if name == "hooks and filters" else set())
        assert {path.name for path in place.iterdir()} == written | {"rollcron.yaml"}
        if name == "submodule":
            assert list((place / "sub").iterdir()) == [], "never fetched"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(files=20), "more than 20 files"),
        (Limits(size=1000), "more than 1000 bytes"),
        (Limits(depth=5), "deeper than 5"),
    ],
)
@played
async def test_a_tree_without_end_is_given_up(limits: Limits, reason: str, tmp_path: Path) -> None:
    """Ten levels of ten names for the same tree: ten thousand million files, of a few hundred bytes."""
    remote = Remote(tmp_path / "project")
    inner = _raw_tree(remote.path, [(FILE, f"f{n}", blob(remote.path, "x" * 100)) for n in range(10)])
    for _ in range(9):
        inner = _raw_tree(remote.path, [(TREE, f"d{n}", inner) for n in range(10)])
    config = (FILE, "rollcron.yaml", blob(remote.path, "a"))
    top = _raw_tree(remote.path, [config, (TREE, "bomb", inner)])
    git(remote.path, "update-ref", "refs/heads/main", git(remote.path, "commit-tree", top, "-m", "bomb"))

    async with following(remote.path, tmp_path / "cache", limits=limits) as source:
        with pytest.raises(TreeRefusedError, match=reason):
            await source.start()
        assert list(source.layout.work.iterdir()) == []


def archive(*members: tuple[bytes, str, str]) -> io.BytesIO:
    """A tar by type, name and link target, as git would never write it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for kind, name, target in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            tar.addfile(member)
    return io.BytesIO(out.getvalue())


@pytest.mark.parametrize(
    "member",
    [
        (tarfile.CHRTYPE, "device", ""),
        (tarfile.BLKTYPE, "device", ""),
        (tarfile.FIFOTYPE, "pipe", ""),
        (tarfile.LNKTYPE, "hard", "/etc/passwd"),
        (tarfile.REGTYPE, "/absolute", ""),
        (tarfile.REGTYPE, "a/../../b", ""),
        (tarfile.REGTYPE, "a//b", ""),
        (tarfile.SYMTYPE, "empty", ""),
    ],
)
def test_members_that_git_never_writes_are_refused(member: tuple[bytes, str, str], tmp_path: Path) -> None:
    with Tree(tmp_path / "spool", Limits()) as made, pytest.raises(BadTreeError):
        made.read(archive(member))


NEVER_WRITABLE = {
    "name": tarfile.TarInfo("d/" + "ü" * 128),
    "path": tarfile.TarInfo("/".join(["x" * 200] * 16)),
    "link": tarfile.TarInfo("l"),
    "date": tarfile.TarInfo("f"),
}
NEVER_WRITABLE["link"].type, NEVER_WRITABLE["link"].linkname = tarfile.SYMTYPE, "x/" * 2048
NEVER_WRITABLE["date"].mtime = 67768036191705600


@pytest.mark.parametrize("what", NEVER_WRITABLE)
def test_what_no_disk_takes_is_refused_for_good(what: str, tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.addfile(NEVER_WRITABLE[what])
    with Tree(tmp_path / "spool", Limits()) as made, pytest.raises(BadTreeError, match=r"too long|no date"):
        made.read(io.BytesIO(out.getvalue()))


@played
async def test_a_commit_with_a_date_that_no_disk_takes_is_refused_in_a_sentence(tmp_path: Path) -> None:
    remote = Remote(tmp_path / "project")
    text = git(remote.path, "cat-file", "commit", "HEAD")
    late = re.sub(r"> \d+ ", "> 67768036191705600 ", text) + "\n"
    words = ("hash-object", "--literally", "-t", "commit", "-w", "--stdin")
    git(remote.path, "update-ref", "refs/heads/main", git(remote.path, *words, given=late.encode()))
    async with following(remote.path, tmp_path / "cache") as source:
        with pytest.raises(TreeRefusedError) as caught:
            await source.start()
    assert "Error(" not in str(caught.value)


@played
async def test_nothing_is_put_into_files_and_no_program_is_started_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`export-subst` could ask gpg whether a commit is signed, and repeat a long message without end."""
    gpg = tmp_path / "bin" / "gpg"
    gpg.parent.mkdir()
    gpg.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    gpg.chmod(0o755)
    monkeypatch.setenv("PATH", f"{gpg.parent}:{os.environ['PATH']}")
    told = "[attr]evil export-subst\n* export-subst\nv evil\n"
    remote = Remote(tmp_path / "project", files={".gitattributes": told, "d/.gitattributes": told})
    remote.push("a", files={"v": "$Format:%H %G?$", "d/v": "$Format:%B%G?$"})
    head, _, rest = git(remote.path, "cat-file", "commit", "HEAD").partition("\n\n")
    armour = "-----BEGIN PGP SIGNATURE-----\n \n iQEz\n =abcd\n -----END PGP SIGNATURE-----"
    signed = f"{head}\ngpgsig {armour}\n\n{rest}\n".encode()
    made = git(remote.path, "hash-object", "-t", "commit", "-w", "--stdin", given=signed)
    git(remote.path, "update-ref", "refs/heads/main", made)

    async with following(remote.path, tmp_path / "cache") as source:
        await source.start()
        place = source.snapshots.enter(a_run("a")).path
        assert (place / "v").read_text() == "$Format:%H %G?$"
        assert (place / "d" / "v").read_text() == "$Format:%B%G?$"
    assert not (tmp_path / "ran").exists()


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    with Tree(tmp_path / "spool", Limits()) as made, pytest.raises(BadTreeError):
        made.read(io.BytesIO(b"x" * 5000))


_NAMES = st.sampled_from(["a", "b", "c"])
_TARGETS = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=6).map("/".join)
_PLACES = st.lists(_NAMES, min_size=1, max_size=3).map(tuple)


@given(links=st.dictionaries(_PLACES, _TARGETS, max_size=6))
def test_a_link_that_is_let_through_stays_inside_on_a_disk(links: dict[tuple[str, ...], str]) -> None:
    """The law, against the kernel."""
    kept = {path: to for path, to in links.items() if not any(path[:n] in links for n in range(1, len(path)))}
    with TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "x" / "root"
        root.mkdir(parents=True)
        for path, target in kept.items():
            root.joinpath(*path).parent.mkdir(parents=True, exist_ok=True)
            root.joinpath(*path).symlink_to(target)
        for path, target in kept.items():
            if stays_inside(path, target, kept):
                real = root.joinpath(*path).resolve()
                assert real == root or root in real.parents
