"""`--split`: a directory of run-parts as one job for each script, one at a time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from foliot.importers.against_log import Seen, compare
from foliot.importers.anacron import read_anacrontab
from foliot.importers.crontab import Setting, read_crontab
from foliot.importers.draft import LineKind, Source
from foliot.importers.registry import Registry
from foliot.importers.report import account
from foliot.importers.work import conclude

START = datetime(2026, 11, 17, tzinfo=UTC)
HOURLY = "17 * * * * root cd / && run-parts --report /etc/cron.hourly\n"
GUARDED = "25 6 * * * root test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.hourly )\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "etc/cron.hourly"
    (folder / "a-directory").mkdir(parents=True)
    (tmp_path / "etc/empty").mkdir()
    for name in ("tidy", "0anacron", "backup.sh", "old~", ".placeholder", "README"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o644 if name == "README" else 0o755)
    return tmp_path


def setting(root: Path, **more: Any) -> Setting:
    return Setting(name="table", zone="Europe/Berlin", is_system=True, split=True, root=root, **more)


def read(text: str, root: Path) -> Source:
    return read_crontab(text.encode(), setting(root), Registry())


@pytest.mark.req("OWN-17")
def test_each_script_is_a_job_and_the_line_counts_once(root: Path) -> None:
    source = read("# c\n" + HOURLY, root)
    assert account(source.lines) == "2 lines = 1 job + 1 comment"
    assert [draft.id for draft in source.drafts] == ["0anacron", "tidy"]
    assert [draft.place for draft in source.drafts] == ["line 2, 0anacron", "line 2, tidy"]
    assert source.drafts[1].fields["run"] == "cd; cd / && /etc/cron.hourly/tidy"
    proofs = conclude([source], START, 10).proofs
    assert all(proof is not None and proof.is_equal for proof in proofs.values())


def test_the_scripts_run_one_at_a_time_and_may_wait_until_the_next_run(root: Path) -> None:
    for draft in read(HOURLY, root).drafts:
        assert draft.fields["group"] == "cron-hourly"
        assert draft.fields["misfire"] == {"mode": "skip", "grace": "60m"}
    assert read(GUARDED, root).drafts[0].fields["misfire"]["grace"] == "720m"


def test_what_stands_around_the_call_stays(root: Path) -> None:
    run = read(GUARDED, root).drafts[1].fields["run"]
    assert run == "cd; test -x /usr/sbin/anacron || ( cd / && /etc/cron.hourly/tidy )"
    line = "@daily root nice /usr/bin/run-parts -v /etc/cron.hourly/ >> /var/log/parts 2>&1\n"
    assert read(line, root).drafts[1].fields["run"] == "cd; nice /etc/cron.hourly/tidy >> /var/log/parts 2>&1"


def test_files_that_run_parts_ignores_are_told_with_the_reason(root: Path) -> None:
    (note,) = [note for note in read(HOURLY, root).notes if note.code == "run-parts-ignores"]
    assert note.needs_person
    for words in ("backup.sh (its name has a dot", "old~ (its name has '~'", "README (it is not executable)"):
        assert words in note.text
    assert "a-directory" not in note.text


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("run-parts --report /etc/none", "cannot be read"),
        ("run-parts /etc/empty", "finds no script"),
        ("run-parts --regex=x /etc/cron.hourly", "option --regex=x"),
        ("run-parts /etc/cron.hourly; run-parts /etc/cron.hourly", "twice"),
    ],
)
def test_what_cannot_be_split_stays_one_job_and_says_why(root: Path, line: str, why: str) -> None:
    source = read(f"0 1 * * * root {line}\n", root)
    assert [draft.fields["run"] for draft in source.drafts] == [f"cd; {line}"]
    assert why in source.notes[0].text
    assert source.notes[0].needs_person


def test_without_split_a_line_is_one_job_named_like_its_directory(root: Path) -> None:
    plain = Setting(name="table", zone="UTC", is_system=True, root=root)
    source = read_crontab((HOURLY + GUARDED).encode(), plain, Registry())
    assert [draft.id for draft in source.drafts] == ["cron-hourly", "cron-hourly-2"]
    assert source.notes == ()


def test_a_line_of_anacron_is_split_too(root: Path) -> None:
    source = read_anacrontab(
        b"1 5 cron.daily run-parts /etc/cron.hourly\n", setting(root, user="root"), Registry()
    )
    assert [line.kind for line in source.lines] == [LineKind.JOB]
    assert [draft.fields["run"] for draft in source.drafts] == [
        "/etc/cron.hourly/0anacron", "/etc/cron.hourly/tidy",
    ]  # fmt: skip
    assert {draft.fields["misfire"] for draft in source.drafts} == {"once"}


def test_the_log_has_one_line_for_the_whole_directory(root: Path) -> None:
    command = "cd / && run-parts --report /etc/cron.hourly"
    seen = [Seen(datetime(2026, 11, 17, hour, 17, 1, tzinfo=UTC), command) for hour in (3, 4, 5)]
    words, trouble = compare(read(HOURLY, root).drafts, seen)
    assert (words[0], trouble) == ("3 of 3 seen; 0 in the log that no entry explains", 0)
