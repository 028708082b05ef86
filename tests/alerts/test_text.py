from __future__ import annotations

import json
import unicodedata
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.sample import AT, FAILURE, HOSTILE, RECOVERY, many
from foliot.alerts.formats import FORMATS
from foliot.alerts.message import Alert, AlertKind, Digest, Message, as_message
from foliot.alerts.text import (
    check_template,
    clean,
    escape_discord,
    escape_slack,
    fill,
    text_of,
    title_of,
)
from foliot.errors import InvalidChannelError


def read(format_: str, message: Message, template: str | None = None) -> Any:
    return json.loads(FORMATS[format_](message, template))


def test_a_message_for_people() -> None:
    assert text_of(FAILURE).splitlines() == [
        "Backup failed (2 in a row)",
        "all 3 attempts failed",
        "error: disk full",
        "exit code: 3",
        "run: ops/backup@2026-11-16T02:00:00Z, attempt 3",
        "since: 2026-11-16 02:00 UTC",
        "node: n1",
        "revision: 3f2a91c",
    ]
    assert (
        title_of(FAILURE._replace(is_test=True, reminder=2)) == "TEST: Backup failed (2 in a row), reminder 2"
    )


@pytest.mark.parametrize("kind", list(AlertKind))
def test_every_kind_has_words(kind: AlertKind) -> None:
    assert title_of(FAILURE._replace(kind=kind)).startswith("Backup ")


def test_a_digest_lists_the_first_ten() -> None:
    lines = text_of(as_message(many(12))).splitlines()

    assert lines[0] == "12 alerts since 2026-11-16 02:00 UTC: 12 failure"
    assert lines[1] == "2026-11-16 02:00 UTC job 0 failed (2 in a row)"
    assert lines[-1] == "and 2 more"
    assert len(lines) == 12
    assert Digest(tuple(many(12))).names.endswith("job 9 and 2 more")


def test_the_id_of_a_digest_is_that_of_its_alerts() -> None:
    assert Digest(tuple(many(3))).id == Digest(tuple(many(3))).id != Digest(tuple(many(4))).id


@given(st.text())
def test_a_clean_text_is_one_line_without_hidden_characters(text: str) -> None:
    cleaned = clean(text, 50)

    assert len(cleaned) <= 50
    assert not any(unicodedata.category(c)[0] == "C" or c in "\u2028\u2029" for c in cleaned)
    assert clean(cleaned, 50) == cleaned


@given(st.text(alphabet="@<>&!everyonehrcal#|\\`*_~[]() ", max_size=60))
def test_no_value_mentions_anybody_or_makes_a_mark(text: str) -> None:
    slack, discord = escape_slack(text), escape_discord(text)

    assert "<" not in slack
    assert ">" not in slack
    for word in ("@everyone", "@here", "@all", "@channel"):
        assert word not in slack
        assert word not in discord
    assert _unescaped(slack) == text
    assert _without_backslashes(discord).replace("\u200b", "") == text


def _unescaped(text: str) -> str:
    return text.replace("\u200b", "").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _without_backslashes(text: str) -> str:
    kept, is_escaped = [], False
    for character in text:
        if character == "\\" and not is_escaped:
            is_escaped = True
            continue
        if character in "*_~`|>#[]()<-\\":
            assert is_escaped, text
        kept.append(character)
        is_escaped = False
    return "".join(kept)


@given(st.text(max_size=300), st.sampled_from(sorted(FORMATS)), st.booleans())
def test_no_value_breaks_a_format(text: str, format_: str, is_digest: bool) -> None:  # noqa: FBT001
    alert = FAILURE._replace(title=text, error=text, why=text, run=text, output=text, job=text)
    message = as_message([alert, alert] if is_digest else [alert])

    body = FORMATS[format_](message, "$job $error")

    assert not any(unicodedata.category(c) in ("Cs", "Cc") for c in body.decode())
    json.loads(body)


def test_slack() -> None:
    text = read("slack", HOSTILE)["text"]

    assert "<" not in text
    assert "@everyone" not in text
    assert len(text) <= 3000


def test_discord_notifies_nobody() -> None:
    body = read("discord", HOSTILE)

    assert body["allowed_mentions"] == {"parse": []}
    assert "@everyone" not in body["content"]
    assert len(body["content"]) <= 2000


def test_an_alertmanager_gets_alerts_that_last_until_the_next_reminder() -> None:
    (entry,) = read("alertmanager", FAILURE)

    assert entry["labels"] == {"alertname": "FoliotFailure", "job": "ops/backup"}
    assert entry["annotations"]["summary"] == "Backup failed (2 in a row)"
    assert (entry["startsAt"], entry["endsAt"]) == ("2026-11-16T02:00:00Z", "2026-11-17T03:00:00Z")


def test_a_recovery_ends_what_an_alertmanager_has_open() -> None:
    at = AT + timedelta(hours=1)
    entries = read("alertmanager", RECOVERY._replace(at=at))

    (failure,) = (e for e in entries if e["labels"]["alertname"] == "FoliotFailure")
    assert failure["labels"] == read("alertmanager", FAILURE)[0]["labels"]
    assert failure["endsAt"] == "2026-11-16T03:00:00Z"
    names = {e["labels"]["alertname"] for e in entries}
    assert {"FoliotLate", "FoliotMissed", "FoliotSlow", "FoliotSilent"} <= names


def test_a_text_of_the_configuration() -> None:
    text = "$job: $why ($error, ${run}, $since, $kind) costs $$5"

    assert check_template(text, "text") == text
    assert fill(text, FAILURE) == (
        "Backup: all 3 attempts failed (disk full, ops/backup@2026-11-16T02:00:00Z, 2026-11-16 02:00 UTC, "
        "failure) costs $5"
    )
    assert (
        read("slack", FAILURE._replace(title="<!channel>"), "<!here> $job")["text"]
        == "<!here> &lt;!channel&gt;"
    )
    assert read("json", FAILURE, "$job!")["text"] == "Backup!"
    assert "text" not in read("json", FAILURE)


def test_values_are_not_templates_themselves() -> None:
    assert fill("$job", FAILURE._replace(title="$error ${why} $nonsense")) == "$error ${why} $nonsense"


def test_a_test_says_so_in_every_text() -> None:
    alert = FAILURE._replace(is_test=True)

    assert text_of(alert, template="$job").startswith("TEST: ")
    assert read("json", alert)["is_test"] is True
    assert read("alertmanager", alert)[0]["labels"]["test"] == "true"


@pytest.mark.parametrize(
    "text", ["$jobs", "${job.__class__}", "costs $5", "$", "", "  ", "x" * 2001, None, 5]
)
def test_texts_that_are_refused(text: object) -> None:
    with pytest.raises(InvalidChannelError) as caught:
        check_template(text, "channels.ops.text")

    assert caught.value.details["field"] == "channels.ops.text"
    assert "$job, $kind, $why" in (caught.value.hint or "")


def test_an_alert_without_details() -> None:
    bare = Alert("a", AT, AlertKind.SOURCE, "ops")

    assert text_of(bare) == "ops has a problem"
    for format_ in FORMATS:
        assert read(format_, bare)
