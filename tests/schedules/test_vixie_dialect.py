"""The dialect `vixie`: what Debian's own `crontab` takes, we take; what its cron runs, we run."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from foliot.errors import FoliotError, InvalidCronExpressionError
from foliot.schedules import Cron
from foliot.schedules.explain import explain

_CRONTAB = shutil.which("crontab") or "crontab"
START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_day_field_that_begins_with_a_star_must_match_beside_the_other() -> None:
    both, either = Cron("0 3 */2 * 1", dialect="vixie"), Cron("0 3 */2 * 1")
    end = START + timedelta(days=400)
    assert (both.count(START, end), either.count(START, end)) == (29, 232)
    assert "if that is a Monday" in explain(both)


@pytest.mark.parametrize("text", ["0 3 1-31/2 * 1", "0 3 5,* * 1", "0 0 1 * 1-5"])
def test_a_star_that_does_not_begin_the_field_changes_nothing(text: str) -> None:
    fields = Cron(text, dialect="vixie").fields
    assert fields is not None
    assert fields.either_day


@pytest.mark.parametrize("text", ["0 0 ? * *", "5/15 * * * *", "0 22-2 * * *", "0 0 * * 5-1", "0 0 L * *"])
def test_what_cron_does_not_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidCronExpressionError):
        Cron(text, dialect="vixie")


def test_a_range_may_end_on_sunday() -> None:
    fields = Cron("0 0 * * fri-sun", dialect="vixie").fields
    assert fields is not None
    assert fields.weekdays == 0b1100001


_items = st.builds(
    "{}{}".format,
    st.one_of(
        st.just("*"),
        st.integers(0, 61).map(str),
        st.tuples(st.integers(0, 60), st.integers(0, 60)).map(lambda pair: f"{pair[0]}-{pair[1]}"),
        st.sampled_from(["mon", "Sun", "jan", "dec", "mon-fri", "7", "0-7", "?", ""]),
    ),
    st.sampled_from(["", "", "/2", "/0", "/90"]),
)
_words = st.lists(_items, min_size=1, max_size=3).map(",".join)


@given(st.tuples(*[_words] * 5).map(" ".join))
def test_the_canonical_spelling_means_the_same(text: str) -> None:
    try:
        rule = Cron(text, dialect="vixie")
    except FoliotError:
        return
    assert Cron(rule.canonical, dialect="vixie").fields == rule.fields


@pytest.mark.prove
@pytest.mark.skipif(shutil.which("crontab") is None, reason="needs Debian's crontab")
@given(st.integers(0, 4), _words)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_debians_crontab_judges_each_field_as_we_do(tmp_path: Path, place: int, word: str) -> None:
    backward = [item for item in re.findall(r"(\d+)-(\d+)", word) if int(item[0]) > int(item[1])]
    assume(not backward)  # Debian's cron takes such a range, and never runs
    words = ["*"] * 5
    words[place] = word
    text = " ".join(words)
    try:
        Cron(text, dialect="vixie")
        is_right = bool(word)
    except InvalidCronExpressionError:
        is_right = False
    table = tmp_path / "table"
    table.write_text(f"{text} true\n")
    asked = [_CRONTAB, "-n", str(table)]
    done = subprocess.run(asked, check=False, capture_output=True)  # noqa: S603 - the system's own, and it changes nothing
    assert (done.returncode == 0) == is_right, (text, done.stderr)
