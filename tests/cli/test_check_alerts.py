"""What `foliot check` says of channels, and what it does not show."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.calls import call

GOOD = """\
channels: {ops: {mail: root}}
jobs:
  backup: {schedule: "0 3 * * *", run: x, timeout: 1h, notify: [ops, pager], ping: env:HC}
  often: {schedule: "@every 20s", run: x, timeout: 1m, notify: ops, ping: env:HC}
  seldom: {schedule: "@every 30s", run: x, timeout: 1m, ping: env:HC}
"""
BAD = """\
channels:
  ops: {webhook: "https://hooks.slack.com/services/T0/B0/hunter2", format: slack}
jobs:
  a: {schedule: "@daily", run: x, timeout: soon, ping: "https://hc-ping.com/hunter3"}
  b: {schedule: "@daily", run: x, timeout: never}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rollcron.yaml"


def test_a_channel_of_the_operator_and_a_ping_that_is_told_too_often_are_warned_of(file: Path) -> None:
    file.write_text(GOOD)
    jobs = call("check", str(file), "-o", "json").json()["jobs"]
    found = {job["job"]: [finding["code"] for finding in job["findings"]] for job in jobs}
    assert found == {"backup": ["unknown-channel"], "often": ["ping-often"], "seldom": []}
    assert "notify names pager, which the file does not define" in call("check", str(file)).out
    assert call("check", str(file), "--strict").code == 9


@pytest.mark.req("OWN-05")
def test_no_line_with_a_secret_is_shown(file: Path) -> None:
    file.write_text(BAD)
    result = call("check", str(file))
    assert result.code == 3
    assert (
        f"{file}:2:18: channels.ops.webhook: https://hooks.slack.com/… is a URL with a secret in it"
        in result.err
    )
    assert "hint: write where it is: env:NAME" in result.err
    assert "hunter" not in result.err + call("check", str(file), "-o", "json").out
    assert "timeout: never}" in result.err, "other lines are shown"
