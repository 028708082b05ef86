"""What may name a repository, what it is called in the cache, and that no secret is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foliot.sources.git.address import Address, parse_address
from foliot.sources.git.errors import InvalidRepositoryError
from sources.git.scene import git, new_source

SECRET = "s3cr3t"  # noqa: S105 - of no server

SAME = [
    ("https://host.example/team/repo.git", "https://host.example/team/repo"),
    ("https://host.example/team/repo.git", "https://HOST.example/team/repo/"),
    ("https://host.example/team/repo", f"https://me:{SECRET}@host.example/team/repo.git"),
    ("https://host.example/team/repo", f"https://{SECRET}@host.example/team/repo"),
    ("HTTPS://host.example/team/repo", "https://host.example/team/repo"),
    ("git@host.example:team/repo.git", "git@host.example:team/repo"),
    ("ssh://git@host.example:2222/team/repo.git/", "ssh://git@host.example:2222/team/repo"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_repository_has_one_name_however_it_is_written(one: str, other: str) -> None:
    assert parse_address(one).slug == parse_address(other).slug
    assert parse_address(one).slug.startswith("repo-")


def test_other_repositories_have_other_names() -> None:
    texts = [
        "https://host.example/a/repo",
        "https://host.example/b/repo",
        "http://host.example/a/repo",
        "https://other.example/a/repo",
        "https://host.example:8443/a/repo",
        "git@host.example:a/repo",
        "ssh://git@host.example/a/repo",
        "ssh://me@host.example/a/repo",
        "git://host.example/a/repo",
        "/a/repo",
    ]
    assert len({parse_address(text).slug for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("https://host.example/x/ünï cödé!.git", "n-c-d"),
        ("https://host.example/", "repo"),
        ("https://host.example/..", "repo"),
        ("https://host.example/" + "long" * 50, "longlonglonglonglonglonglonglo"),
        ("host.example:x/...git", "repo"),
        ("host.example:x/--upload-pack=x", "upload-pack-x"),
    ],
)
def test_a_name_is_a_plain_file_name(text: str, name: str) -> None:
    slug = parse_address(text).slug

    assert slug[:-13] == name
    assert slug.isascii()
    assert "/" not in slug


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / "deep" / "inside").mkdir(parents=True)
    git(place, "init", "--quiet")
    return place


@pytest.mark.req("ROLL-20")
def test_a_path_means_the_top_of_its_work_tree(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "link").symlink_to(repository)
    monkeypatch.chdir(repository / "deep")
    top = parse_address(str(repository))

    texts = (".", "..", "inside", "~/project", "~/project/", "../.git", "../../link", f"file://{repository}")
    assert {text: parse_address(text) for text in texts} == dict.fromkeys(texts, top)
    assert top == Address(str(repository), str(repository), top.slug, is_local=True)
    assert top.slug.startswith("project-")


def test_a_bare_repository_is_itself(tmp_path: Path) -> None:
    bare = tmp_path / "store.git"
    bare.mkdir()
    git(bare, "init", "--quiet", "--bare")

    assert parse_address(str(bare / "refs")).url == str(bare)
    assert parse_address(str(bare)).slug.startswith("store-")


REFUSED = [
    "",
    "-",
    "--upload-pack=touch pwned",
    "-oProxyCommand=touch pwned",
    "ext::sh -c touch% pwned",
    "ext::sh",
    "EXT::sh",
    "fd::17",
    "file::/etc",
    "transport::https://host.example/x",
    "::x",
    "ftp://host.example/x",
    "ftps://host.example/x",
    "rsync://host.example/x",
    "git+ssh://host.example/x",
    "javascript://host.example/x",
    "ext://x",
    "https://",
    "https:///path",
    "https://host.example:notaport/x",
    "ssh://-oProxyCommand=touch/x",
    "ssh://-oProxyCommand=touch@host.example/x",
    "ssh://%2DoProxyCommand=x@host.example/x",
    "-oProxyCommand=x@host.example:x",
    "me@-oProxyCommand=x:path",
    "host.example:-path",
    "host.example:",
    "file://host.example/path",
    "file://relative",
    "file:///a%00b",
    "https://host.example/a\nb",
    "https://host.example/a\x00b",
    "\x1b[31m",
    "~nobody-of-that-name/x",
    "x" * 3000,
    f"https://host.example/x?token={SECRET}",
    f"https://me:{SECRET}/slash@host.example/x",
    f"https://me:{SECRET}@host.example:port/x",
    f"ftp://me:{SECRET}@host.example/x",
    f"ext::https://me:{SECRET}@host.example/x",
    f"ext::sh me:{SECRET}@host.example",
    f"me:{SECRET}@host.example:path",
    f"me:{SECRET}@host.example/path",
    f"me:{SECRET}/slash@host.example:path",
    f"me@company.example:{SECRET}@host.example:path",
    f"https:/me:{SECRET}@host.example/x",
    f"https:me:{SECRET}@host.example/x",
    f"//me:{SECRET}@host.example/x",
    f"file:///me:{SECRET}@host.example/x",
    f"-me:{SECRET}@host.example/x",
    f"https://host.example/x?token=x@{SECRET}",
    f"https://me:{SECRET}?more@host.example/x",
]


@pytest.mark.parametrize(
    "text", ["git@host.example:team/me@home", "host.example:team/a@b", "/nonexistent/at@home"]
)
def test_an_at_sign_alone_is_no_password(text: str) -> None:
    assert parse_address(text).shown == text


def test_a_directory_may_be_called_as_it_likes(tmp_path: Path) -> None:
    place = tmp_path / "a:b@c"
    place.mkdir()
    assert parse_address(str(place)).url == str(place)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_followed_is_refused_before_any_program_is_started(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(InvalidRepositoryError) as caught:
        new_source(text, tmp_path / "cache")

    assert caught.value.hint
    assert str(caught.value).isprintable()
    assert SECRET not in f"{caught.value!r} {caught.value.details} {caught.value.hint}"
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - names are enough


@pytest.mark.parametrize(
    "text",
    [
        f"https://me:{SECRET}@host.example/team/repo#{SECRET}",
        f"http://{SECRET}@host.example/team/repo",
        f"ssh://me:{SECRET}@host.example/team/repo",
        f"git://me:{SECRET}@host.example/team/repo",
    ],
)
def test_no_secret_is_shown(text: str) -> None:
    address = parse_address(text)

    assert SECRET not in f"{address!r} {address}"
    assert SECRET not in address.shown + address.slug
    assert SECRET not in address.url
    assert address.shown.endswith("host.example/team/repo")


def test_a_password_is_for_the_server_alone() -> None:
    address = parse_address("https://me:p%40ss@host.example/repo")

    assert address.url == "https://host.example/repo"
    assert address.authorization == "Basic bWU6cEBzcw=="
