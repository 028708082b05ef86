"""Crontabs: every line once, the same bytes each time, and nothing hostile gets through."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foliot.doors.rollcron.config import read_config
from foliot.importers.crontab import Setting, read_crontab
from foliot.importers.draft import LineKind, Source
from foliot.importers.model.vixie import Flavour
from foliot.importers.registry import Registry
from foliot.importers.report import account
from foliot.importers.systemd import Unit, read_timer
from foliot.importers.work import conclude, texts

START = datetime(2026, 11, 17, tzinfo=UTC)


def read(text: str | bytes, names: Registry | None = None, **setting: Any) -> Source:
    data = text if isinstance(text, bytes) else text.encode()
    given = {"name": "table", "zone": "Europe/Berlin", "owner": "ann", **setting}
    return read_crontab(data, Setting(**given), names or Registry())


def yaml_of(text: str | bytes, **setting: Any) -> str:
    names = Registry()
    source = read(text, names, **setting)
    return texts(conclude([source], START, 10), names)["rollcron.yaml"]


def fields_of(text: str, **setting: Any) -> dict[str, Any]:
    return read(text, None, **setting).drafts[0].fields


def test_the_account_names_each_kind_of_line() -> None:
    source = read("# a comment\nA=1\n\n0 3 * * * true\n61 3 * * * false\n")
    assert account(source.lines) == "5 lines = 1 job + 1 variable + 1 comment + 1 blank + 1 not translated"
    refused = source.lines[4]
    assert (refused.number, refused.code) == (5, "unreadable")
    assert "61 is out of range" in refused.reason


@pytest.mark.req("OWN-17")
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.sampled_from(
                [b"0 3 * * * x", b"@daily y", b"@reboot z", b"A=1", b"# c", b"", b"22-2 * * * * q",
                 b"MAILTO=a b",
                 b"SHELL=/bin/bash", b"* * * * * cat%in%put", b"5 4 * * * \xff", b"0 0 31 2 * never", b"\x00"]
            ),
        ),
        max_size=12,
    ),
    st.sampled_from(["debian", "cronie", "busybox"]),
)  # fmt: skip
@settings(max_examples=25)
def test_every_line_is_accounted_for_once_and_the_file_is_right(rows: list[bytes], flavour: Flavour) -> None:
    data = b"".join(row.replace(b"\n", b"") + b"\n" for row in rows)
    names = Registry()
    source = read(data, names, flavour=flavour)
    assert [line.number for line in source.lines] == list(range(1, len(rows) + 1))
    kinds = Counter(line.kind for line in source.lines)
    assert kinds[LineKind.JOB] == len(source.drafts)
    assert all(line.code and line.to_do for line in source.lines if line.kind is LineKind.UNTRANSLATED)
    files = texts(conclude([source], START, 10), names)
    assert len(read_config(files["rollcron.yaml"], source="s")) == len(source.drafts)
    again = Registry()
    assert texts(conclude([read(data, again, flavour=flavour)], START, 10), again) == files


def test_variables_count_for_the_lines_below_them() -> None:
    source = read("0 1 * * * a\nX=1\n0 2 * * * b\nX=2\n0 3 * * * c\n")
    envs = [draft.fields["env"] for draft in source.drafts]
    assert [env.get("X") for env in envs] == [None, "1", "2"]


def test_what_all_jobs_share_stands_under_defaults() -> None:
    text = yaml_of("SHELL=/bin/bash\nX=1\nMAILTO=ops@example.org\n0 1 * * * a\n0 2 * * * b\n")
    head = text[: text.index("jobs:")]
    shared = ["shell: /bin/bash", 'X: "1"', "dialect: vixie", "dst: cron", "timezone: Europe/Berlin"]
    shared += ["timeout: none", "concurrency: parallel", "misfire: skip", "mail: ops@example.org"]
    assert [said for said in shared if said not in head] == []
    assert "shell" not in text[text.index("jobs:") :]


@pytest.mark.parametrize(
    ("command", "run", "stdin"),
    [
        (r"pg_dump > a-$(date +\%F)", "cd; pg_dump > a-$(date +%F)", None),
        ("mail ann%hello%world", "cd; mail ann", "hello\nworld\n"),
        (r"echo a\b \\%x", "cd; echo a\\b \\\\", "x\n"),
        ("cat %", "cd; cat", "\n"),
    ],
)
def test_percent_signs_are_taken_apart_as_cron_does(command: str, run: str, stdin: str | None) -> None:
    source = read(f"0 3 * * * {command}\n")
    if stdin == "\n":  # nothing but a line break: rollcron.yaml has no such input
        assert source.lines[0].code == "refused-here"
        return
    assert (source.drafts[0].fields["run"], source.drafts[0].fields.get("stdin")) == (run, stdin)


def test_mail_goes_where_cron_sent_it() -> None:
    source = read('0 1 * * * a\nMAILTO=""\n0 2 * * * b\nMAILTO=x@y.org,z@y.org\n0 3 * * * c\n')
    assert [draft.fields.get("notify") for draft in source.drafts] == [
        {"to": "ann", "on": ["output"]},
        None,
        {"to": "x-y-org", "on": ["output"]},
    ]


def test_a_zone_of_a_table_counts_with_cronie_and_is_told_with_debian() -> None:
    text = "CRON_TZ=Asia/Tokyo\n0 3 * * * a\n"
    cronie, debian = read(text, flavour="cronie"), read(text)
    assert cronie.drafts[0].when is not None
    assert cronie.drafts[0].when.timezone == "Asia/Tokyo"
    assert debian.drafts[0].when is not None
    assert debian.drafts[0].when.timezone == "Europe/Berlin"
    assert "never had an effect" in debian.notes[0].text


def test_cronies_random_minutes_become_a_splay() -> None:
    assert fields_of("5~35 3 * * * a\n", flavour="cronie")["splay"] == "30m"
    assert fields_of("RANDOM_DELAY=45\n0 3 * * * a\n", flavour="cronie")["splay"] == "45m"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("0 22-2 * * * a", "never-fires"),
        ("0 0 30 2 * a", "never-fires"),
        ("0 0 * * fri-sun a", "never-fires"),
        ("5/15 * * * * a", "unreadable"),
        ("@every 5m a", "unknown-macro"),
        ("* * * *", "unreadable"),
        ("FOLIOT_X=1", "variable"),
        ("CONTENT_TYPE=text/plain", "mail-setting"),
    ],
)
def test_what_cannot_be_translated_is_listed_with_its_code(line: str, code: str) -> None:
    assert read(f"{line}\n").lines[0].code == code


def test_cronie_knows_a_range_to_sunday() -> None:
    assert read("0 0 * * fri-sun a\n", flavour="cronie").lines[0].kind is LineKind.JOB


def test_a_line_of_a_megabyte_is_accounted_for() -> None:
    source = read(b"0 3 * * * " + b"x" * 1_000_000 + b"\n")
    assert len(source.lines) == 1


def test_ids_come_of_the_program_and_are_used_once() -> None:
    text = """
0 1 * * * /usr/bin/php /srv/shop/artisan schedule:run
0 2 * * * cd /srv && nice -n 10 flock -n /tmp/lock ./backup.sh --all
0 3 * * * [ $(date +\\%u) = 1 ] && first-monday
0 4 * * * X=1 sleep 5; rsync -a a b
0 5 * * * rsync c d
"""
    ids = [draft.id for draft in read(text).drafts]
    assert ids == ["artisan", "backup", "first-monday", "rsync", "rsync-2"]


def test_a_comment_above_a_line_describes_the_job() -> None:
    source = read("# old\n\n# the shop\n# at night\n0 3 * * * a\n")
    assert source.drafts[0].fields["description"] == "the shop at night"


def test_the_users_of_a_system_table_are_kept() -> None:
    source = read("17 * * * * www-data  cd / && run-parts --report /etc/cron.hourly\n", is_system=True)
    assert source.drafts[0].fields["user"] == "www-data"
    assert source.drafts[0].notes[0].needs_person


def test_a_table_without_a_last_line_break_is_told_of() -> None:
    assert read("0 3 * * * a").notes[0].code == "no-newline"


def test_a_bad_address_refuses_its_own_line_and_no_other() -> None:
    names = Registry()
    table = "0 1 * * * bob one\n0 2 * * * -rf two\n0 3 * * * bob three\n0 4 * * * eve four\n"
    source = read(table, names, is_system=True)
    assert [line.number for line in source.lines if line.kind is LineKind.UNTRANSLATED] == [2]
    assert [draft.id for draft in source.drafts] == ["one", "three", "four"]
    assert list(names.channels) == ["bob", "eve"]


def test_the_channels_of_a_table_do_not_count_for_a_timer() -> None:
    names = Registry()
    names.channel_for({"mail": "-rf"})
    timer, service = b"[Timer]\nOnCalendar=daily\n", b"[Service]\nExecStart=/bin/true\n"
    timed, _ = read_timer(Unit("x.timer", timer), Unit("x.service", service), "UTC", names, "bob")
    assert [draft.id for draft in timed.drafts] == ["x"]
