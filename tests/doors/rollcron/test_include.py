"""`include`: jobs in more files of the repository. One error anywhere, and none of them counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from daemon.repositories import CONFIG, Repository
from doors.rollcron.test_door import MINUTE, House, living
from foliot.doors.rollcron import read_config
from foliot.doors.rollcron.door import Rollcron
from foliot.errors import ConfigInvalidError, ConfigProblem
from foliot.sources.git.beside import LARGEST_ALL, MOST_FILES, Noted, bundle, files_below, pick, unbundle
from sources.git.scene import played

TOP = """
include: [jobs/*.yaml]
calendars: {own: {dates: [2026-12-24]}}
channels: {ops: {webhook: env:OPS}}
defaults: {timeout: 1h}
jobs:
  one: {schedule: "@daily", run: x}
"""
A = """
defaults: {timeout: 5m, notify: ops}
jobs:
  two: {schedule: "@daily", run: x, except: own}
"""
DAILY, THERE = "{schedule: '@daily', run: x}", "in the file that includes this one"
B = "jobs: {three: {schedule: '@daily', run: x}}"
TREE = {"jobs/b.yaml": B, "jobs/a.yaml": A, "jobs/deep/c.yaml": "bad", "jobs/a.txt": "bad"}


def files_of(tree: Mapping[str, str]) -> Noted:
    def read(patterns: Sequence[str]) -> Mapping[str, bytes]:
        names = pick(((name, len(text)) for name, text in tree.items()), patterns)
        return {name: tree[name].encode() for name in names}

    return Noted(read)


def problems(top: str, tree: Mapping[str, str]) -> list[ConfigProblem]:
    with pytest.raises(ConfigInvalidError) as caught:
        read_config(top, source="s", files=files_of(tree))
    return list(caught.value.problems)


def test_the_jobs_of_all_files_come_in_the_order_of_their_names() -> None:
    jobs = read_config(TOP, source="s", files=files_of(TREE))
    assert [job.name for job in jobs] == ["one", "two", "three"]


def test_each_file_has_its_own_defaults_and_all_share_channels_and_calendars() -> None:
    one, two, three = read_config(TOP, source="s", files=files_of(TREE))
    assert [job.policy.timeout for job in (one, two, three)] == [
        timedelta(hours=1), timedelta(minutes=5), timedelta(seconds=10),
    ]  # fmt: skip
    assert two.policy.notify is not None
    assert two.policy.notify.to == ("s.ops",)
    assert str(two.schedule) == "@daily except own"


def test_a_file_may_consist_of_what_it_includes() -> None:
    assert [job.name for job in read_config("include: [jobs/b.yaml]", source="s", files=files_of(TREE))] == [
        "three"
    ]


def test_all_errors_of_all_files_are_told_with_their_file_and_line() -> None:
    found = problems(
        TOP.replace("run: x", "run: true"),
        {"jobs/a.yaml": A.replace("5m", "5"), "jobs/b.yaml": "jobs:\n  x: {schedule: '@daily', ru: x}\n"},
    )
    assert [(one.file, one.line, one.field) for one in found] == [
        ("rollcron.yaml", 7, "run"),
        ("jobs/a.yaml", 2, "defaults.timeout"),
        ("jobs/b.yaml", 2, "run"),
        ("jobs/b.yaml", 2, "ru"),
    ]


@pytest.mark.parametrize(
    ("tree", "message", "hint"),
    [
        ({"jobs/a.yaml": f"jobs: {{one: {DAILY}}}"}, "stands here and in line 7 of rollcron.yaml", None),
        ({"jobs/a.yaml": f"jobs: {{ONE: {DAILY}}}"}, "differs from one in line 7 of rollcron.yaml", None),
        ({"jobs/a.yaml": "jobs: {}\nchannels: {}"}, "there is no such field", THERE),
        ({"jobs/a.yaml": "jobs: {}\ninclude: [x]"}, "there is no such field", THERE),
        ({"jobs/a.yaml": "defaults: {}"}, "is missing", "write jobs:"),
        ({"jobs/a.yaml": ""}, "the file is empty", None),
        ({"jobs/a.yaml": "jobs: ["}, "", None),
        ({"x.yaml": B}, "no file matches jobs/*.yaml", "paths count from the top"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_included_file(tree: dict[str, str], message: str, hint: str | None) -> None:
    (found,) = problems(TOP, tree)
    assert message in found.message
    assert hint is None or hint in (found.hint or "")


@pytest.mark.parametrize("value", ["jobs/*.yaml", "[]", "['/etc/*.yaml']", "[../x.yaml]", "[3]", "{a: b}"])
def test_a_wrong_list_is_refused(value: str) -> None:
    (found,) = problems(f"include: {value}\njobs: {{}}", TREE)
    assert (found.line, found.field) == (1, "include")


def test_files_and_bytes_are_bounded() -> None:
    many = {f"jobs/{n}.yaml": "jobs: {}" for n in range(MOST_FILES + 1)}
    assert "at most 200" in problems(TOP, many)[0].message
    large = {f"jobs/{n}.yaml": "#" * (LARGEST_ALL // 5) for n in range(6)}
    assert "at most 5,000,000" in problems(TOP, large)[0].message


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("jobs/*.yaml", ["jobs/a.yaml", "jobs/b.yaml"]),
        ("**/*.yaml", ["jobs/a.yaml", "jobs/b.yaml", "jobs/deep/c.yaml"]),
        ("jobs/?.txt", ["jobs/a.txt"]),
        ("jobs/a.yaml", ["jobs/a.yaml"]),
        ("jobs", []),
        ("jobs/[ab].yaml", []),
        ("**/**/c.yaml", ["jobs/deep/c.yaml"]),
        ("jobs/**/b.yaml", ["jobs/b.yaml"]),
        ("*/*/*", ["jobs/deep/c.yaml"]),
        ("j*b*/*.y*m*l", ["jobs/a.yaml", "jobs/b.yaml"]),
        ("jobs/*a*a*", ["jobs/a.yaml"]),
        ("jobs/*a*a*a*", []),
        ("**", []),
        ("jobs/**", ["jobs/a.txt", "jobs/a.yaml", "jobs/b.yaml"]),
    ],
)
def test_globs(pattern: str, expected: list[str]) -> None:
    assert pick(((name, 1) for name in TREE), [pattern]) == expected


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("*a" * 30 + "x", "a" * 200),
        ("**/" * 30 + "x", "a/" * 100 + "y"),
        ("**/*a*a/" * 12 + "x", "aaaa/" * 50 + "y"),
    ],
)
def test_no_glob_takes_long(pattern: str, name: str) -> None:
    """Going back and forth would take years."""
    assert pick([(name, 1)], [pattern]) == []


def test_only_plain_files_of_a_directory_count(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("a.yaml", ".git/b.yaml"):
        (tmp_path / name).write_text("jobs: {}")
    (tmp_path / "link.yaml").symlink_to("/etc/passwd")
    assert dict(files_below(tmp_path)(["**/*.yaml"])) == {"a.yaml": b"jobs: {}"}


def test_a_config_is_kept_with_what_it_was_read_with() -> None:
    noted = files_of(TREE)
    noted(["jobs/b.yaml"])
    kept = bundle(b"\xff top", noted)
    config, files = unbundle(kept, files_of({}))
    assert (config, dict(files(["jobs/b.yaml"]))) == (b"\xff top", {"jobs/b.yaml": B.encode()})
    assert unbundle(b"plain", noted) == (b"plain", noted)
    assert unbundle(b"#foliot-bundle is a comment", noted)[0].startswith(b"#foliot-bundle")


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_followed_repository_declares_included_jobs(tmp_path: Path, *, is_plain: bool) -> None:
    repository = Repository(tmp_path)
    repository.push({CONFIG: TOP, **TREE})
    place = tmp_path / "plain"
    if is_plain:
        place.mkdir()
        for name, text in {CONFIG: TOP, **TREE}.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)

    @played
    async def play() -> None:
        house = House()
        address = str(place if is_plain else repository.remote)
        for _ in range(2):  # the second start finds all in the cache
            door = Rollcron(address, cache=tmp_path / "cache", interval=MINUTE)
            async with living(door, house):
                assert {"one", "two", "three"} <= await house.names()
        if is_plain:
            (place / "jobs/b.yaml").write_text("bad")
        else:
            repository.remote.rename(tmp_path / "away.git")
        empty = House()  # what was good last is recalled, with its files
        door = Rollcron(address, cache=tmp_path / "cache", interval=MINUTE)
        async with living(door, empty):
            assert {"one", "two", "three"} <= await empty.names()

    play()
