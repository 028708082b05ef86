"""The proof: what is equal is said to be, and what is not has its cause and the field that removes it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foliot.importers.against_log import compare, read_log
from foliot.importers.crontab import Setting, read_crontab
from foliot.importers.crontab_rule import translate_rule
from foliot.importers.draft import Draft, When
from foliot.importers.model.numbers import UnreadableError
from foliot.importers.proof import Proof, prove
from foliot.importers.refused import RefusedError
from foliot.importers.registry import Registry
from foliot.importers.report import proof_words
from foliot.schedules.around import Dst
from foliot.schedules.cron_syntax import Dialect

START = datetime(2026, 11, 17, tzinfo=UTC)


def proof_of(rule: str, zone: str = "Europe/Berlin", dialect: Dialect = "vixie", dst: Dst = "cron") -> Proof:
    made = translate_rule(rule, "debian", zone)
    when = When(rule, zone, dialect, dst)
    found = prove(
        Draft(id="x", source="s", place="p", written=rule, when=when, original=made.original), START, 100
    )
    assert found is not None
    return found


@pytest.mark.req("OWN-17")
@pytest.mark.parametrize(
    "rule", ["30 2 * * *", "*/15 * * * *", "5 0-23 * * *", "0 3 */2 * 1", "@hourly", "0 0 1 * 1"]
)
def test_what_the_import_writes_is_equal(rule: str) -> None:
    proof = proof_of(rule)
    assert proof.is_equal
    assert proof.compared == proof.equal >= 100
    assert proof.changes >= 2


@pytest.mark.parametrize(
    ("rule", "dialect", "dst", "code", "remedy"),
    [
        ("30 2 * * *", "vixie", "exact", {"dst-gap-late", "dst-fold-once"}, "dst: cron"),
        ("0 3 */2 * 1", "standard", "cron", {"day-rule"}, "dialect: vixie"),
        ("0,30 2 * * *", "vixie", "cron", {"gap-coalesced"}, "none: two runs"),
        ("5 * * * *", "vixie", "systemd", {"dst-fold-once"}, "dst: exact"),
        ("5-59/15 * * * *", "vixie", "once", {"dst-range-extra", "dst-fold-once"}, "dst: exact"),
    ],
)
@pytest.mark.req("OWN-17")
def test_a_difference_has_its_cause_and_the_field_that_removes_it(
    rule: str, dialect: Dialect, dst: Dst, code: set[str], remedy: str
) -> None:
    proof = proof_of(rule, dialect=dialect, dst=dst)
    assert {one.code for one in proof.differences} == code
    assert all(1 <= len(one.times) <= 3 for one in proof.differences)
    assert any(one.remedy.startswith(remedy) or "cron" in one.remedy for one in proof.differences)


_field = st.sampled_from(["*", "*/2", "*/7", "0", "1-5", "2,4", "3"])


@given(
    st.tuples(
        st.sampled_from(["0", "30", "0,30", "*/20", "15-45/15", "*"]),
        st.sampled_from(["2", "*", "1-3", "*/2", "0-23", "3"]),
        st.sampled_from(["*", "1", "1-7", "*/2", "28-31"]),
        st.sampled_from(["*", "3,10", "*/3"]),
        st.sampled_from(["*", "0", "1-5", "*/2", "7"]),
    ),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "UTC"]),
)
@settings(max_examples=40, deadline=None)
def test_the_model_and_our_rule_agree_but_for_runs_at_once_after_a_gap(
    words: tuple[str, ...], zone: str
) -> None:
    try:
        proof = proof_of(" ".join(words), zone)
    except (RefusedError, UnreadableError):
        return
    assert {one.code for one in proof.differences} <= {"gap-coalesced"}


def test_the_words_of_a_proof_are_plain() -> None:
    (line,) = proof_words(proof_of("30 2 * * *"))
    assert line.startswith("equal: 400 of 400 (until 2027-12-22), 2 clock changes included")


LOG = b"""\
Nov 16 02:30:01 web CRON[812]: (ann) CMD (backup)
2026-11-17T02:30:02+01:00 web CRON[900]: (ann) CMD (backup)
Nov 17 04:00:01 web CRON[901]: (ann) CMD (somebody else's)
Nov 17 04:00:01 web systemd[1]: Started something.
"""


def test_a_log_tells_what_was_seen_and_what_no_entry_explains() -> None:
    setting = Setting(name="t", zone="Europe/Berlin")
    table = b"30 2 * * * backup\n0 3 * * * forgotten\n"
    drafts = read_crontab(table, setting, Registry()).drafts
    seen = read_log(LOG, "Europe/Berlin", datetime(2026, 11, 17, 12, tzinfo=UTC))
    words, count = compare(drafts, seen)
    assert words[0] == "2 of 4 seen; 1 in the log that no entry explains"
    assert "not in the log: forgotten at 2026-11-16 02:00 UTC" in words[1]
    assert count == 3


def test_a_log_without_cron_is_said_to_be_none() -> None:
    assert compare([], read_log(b"nothing\n\xff\n", "UTC", START))[0][0].startswith("the log has no line")
