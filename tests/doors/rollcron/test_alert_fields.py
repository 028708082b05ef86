"""Channels in `rollcron.yaml` and in an operator's file, and which of them jobs tell."""

from __future__ import annotations

from datetime import timedelta

import pytest

from doors.rollcron.files import only_problem, problems_of
from foliot.alerts.config import read_channels
from foliot.doors.rollcron.config import read_file, read_operator_channels
from foliot.errors import ConfigInvalidError
from foliot.model.policy import Expect, Notify

ALERTS = """\
channels:
  ops:    {webhook: env:OPS_WEBHOOK, format: slack, secret: file:/etc/foliot/ops.key}
  admins: {mail: [ops@example.org]}
defaults:
  notify: {to: [ops], on: [failure, recovery, missed, late]}
jobs:
  backup:
    schedule: "0 3 * * *"
    run: ./backup.sh
    expect: {start_within: 10m, finish_within: 2h, success_every: 26h}
    notify: {to: [ops, admins, pager], after: 2, remind: 12h}
    ping: env:HC_BACKUP
  quiet: {schedule: "@daily", run: x, notify: none}
  short: {schedule: "@daily", run: x, notify: admins, ping: {url: "env:HC", style: cronitor}}
  usual: {schedule: "@daily", run: x}
"""
GOOD_CHANNELS = (
    "{webhook: env:A}",
    "{webhook: 'https://example.org/x', format: discord, text: '$job: $why', secret: credential:x}",
    "{webhook: 'file:/etc/x', rate: {messages: 3, within: 1h}}",
    "{mail: root}",
    "{mail: [a@example.org, root], from: cron@example.org, text: $job}",
    "{command: ./notify.sh, rate: {within: 5m}}",
    "{ping: env:A, style: plain}",
)
# The channel, the field, and parts of the message and of the hint.
WRONG_CHANNELS = (
    ("{}", "", "has no kind", "one of: webhook, mail, command, ping"),
    ("5", "", "must be a mapping of fields, not a number", "such as ops: {webhook"),
    ("{webhook: env:A, mail: root}", "", "is webhook and mail at once", "one of"),
    ("{mail: root, format: slack}", "format", "is no field of a channel by mail", "it has mail"),
    ("{webhook: env:A, fromat: slack}", "fromat", "there is no such field", "did you mean format?"),
    ("{webhook: env:A, format: slak}", "format", "slak is not known", "did you mean slack?"),
    ("{webhook: 'https://hooks.slack.com/services/T/hunter2'}", "webhook", "URL with a secret", "env:NAME"),
    ("{webhook: 'https://example.org/x?token=hunter2'}", "webhook", "URL with a secret", "env:NAME"),
    ("{webhook: hunter2}", "webhook", "*** is no address of the web", "https://"),
    ("{webhook: 5}", "webhook", "must be a text", "env:NAME"),
    ("{webhook: 'http://example.org/x'}", "webhook", "is not encrypted", "use https://"),
    ("{webhook: 'env:1A'}", "webhook", "names no variable", "env:OPS_WEBHOOK"),
    ("{webhook: env:A, secret: hunter2}", "secret", "is the secret itself", "env:NAME"),
    ("{webhook: env:A, text: $nope}", "text", "names $nope, which is not known", "$job"),
    ("{webhook: env:A, rate: 5}", "rate", "must be a mapping of fields", "write rate"),
    ("{webhook: env:A, rate: {messages: 0}}", "rate.messages", "0 must lie between 1", ""),
    ("{webhook: env:A, rate: {within: 0s}}", "rate.within", "0s must be positive", ""),
    ("{mail: two words}", "mail", "two words is no mail address", "such as ops@example.org"),
    ("{mail: []}", "mail", "is empty", "such as"),
    ("{mail: root, server: env:A}", "server", "there is no such field", "operator of the node"),
    ("{apprise: env:A, mail: root}", "apprise", "there is no such field", "operator of the node"),
    ("{command: ''}", "command", "is empty", "give it a value"),
    ("{ping: env:A, style: x}", "style", "x is not known", "one of: healthchecks"),
)  # fmt: skip


# The same as `WRONG_VALUES` of `test_refusals`: lines, field, column, message, hint.
WRONG_ALERTS: list[tuple[str, str, int, str, str | None]] = [
    ("notify: two words", "notify", 13, "two words is no name of a channel", "letters, digits"),
    ("notify: 5", "notify", 13, "must be a text, not a number", 'put it in quotes: "5"'),
    ("notify: []", "notify", 13, "is empty", "such as [ops, admins]"),
    ("notify: [a, 5]", "notify", 17, "must be a text, not a number", 'put it in quotes: "5"'),
    ("notify: {}", "notify.to", 13, "is missing", "to: [ops]"),
    ("notify: {to: [a b]}", "notify.to", 19, "a b is no name of a channel", "letters, digits"),
    ("notify: {to: a, on: fire}", "notify.on", 25, "fire is not known", "did you mean failure?"),
    ("notify: {to: a, on: [ended]}", "notify.on", 26, "ended is not known", "one of: failure, recovery"),
    ("notify: {to: a, after: 0}", "notify.after", 28, "0 must be at least 1", None),
    ("notify: {to: a, remind: 0s}", "notify.remind", 29, "0s must be positive", None),
    ("notify: {to: a, remind: never}", "notify.remind", 29, '"never" is no duration', "such as 30s"),
    ("notify: {to: a, channels: a}", "notify.channels", 21, "there is no such field", "did you mean to?"),
    ("expect: 5m", "expect", 13, "must be a mapping of fields, not a text", "write expect: {start"),
    ("expect: {start_within: 0s}", "expect.start_within", 28, "0s must be positive", None),
    ("expect: {finish_within: 5}", "expect.finish_within", 29, '"5" is no duration', "write 5s"),
    ("expect: {success: 1d}", "expect.success", 14, "there is no such field", "success_every?"),
    ("ping: 5", "ping", 11, "must be a text", "env:NAME"),
    ("ping: hunter2", "ping", 11, "*** is no address of the web", "https://"),
    ("ping: https://hc-ping.com/b2c4", "ping", 11, "is a URL with a secret in it", "env:NAME"),
    ("ping: http://ping.example.org/x", "ping", 11, "is not encrypted", "use https://"),
    ("ping: {}", "ping.url", 11, "is missing", "url: env:HC_BACKUP"),
    ("ping: {url: env:A, style: x}", "ping.style", 31, "x is not known", "one of: healthchecks"),
]  # fmt: skip


def with_channel(entry: str) -> str:
    return f"channels:\n  ops: {entry}\njobs: {{}}\n"


def test_jobs_tell_the_channels_of_their_file_and_those_of_the_operator() -> None:
    jobs, _, channels, *_ = read_file(ALERTS, source="shop-1")
    backup, quiet, short, usual = (job.policy for job in jobs)

    assert backup.notify == Notify(["shop-1.ops", "shop-1.admins", "pager"], after=2, remind="12h")
    hours = timedelta(hours=1)
    assert backup.expect == Expect(start_within=hours / 6, finish_within=2 * hours, success_every=26 * hours)
    assert (backup.ping, short.ping, usual.ping) == ("shop-1.backup.ping", "shop-1.short.ping", None)
    assert (quiet.notify, quiet.is_watched) == (None, False)
    assert short.notify == Notify("shop-1.admins")
    assert usual.notify == Notify("shop-1.ops", on=["failure", "recovery", "missed", "late"])
    assert channels == {
        "shop-1.ops": {
            "webhook": "env:OPS_WEBHOOK",
            "format": "slack",
            "secret": "file:/etc/foliot/ops.key",
        },
        "shop-1.admins": {"mail": ["ops@example.org"]},
        "shop-1.backup.ping": {"ping": "env:HC_BACKUP"},
        "shop-1.short.ping": {"ping": "env:HC", "style": "cronitor"},
    }


@pytest.mark.parametrize("entry", GOOD_CHANNELS)
def test_every_kind_of_channel_can_be_defined(entry: str) -> None:
    (found,) = read_file(with_channel(entry), source="s").channels.values()
    assert read_channels({"ops": found}, trusted=False)


@pytest.mark.req("OWN-05")
@pytest.mark.parametrize(("entry", "field", "message", "hint"), WRONG_CHANNELS)
def test_a_wrong_channel_is_told_with_its_place_and_no_secret(
    entry: str, field: str, message: str, hint: str
) -> None:
    problem = only_problem(with_channel(entry))

    assert problem.field == (f"channels.ops.{field}" if field else "channels.ops")
    assert problem.line == 2
    assert message in problem.message
    assert hint in (problem.hint or "")
    assert "hunter2" not in str(problem) + (problem.hint or "")


def test_the_name_of_a_channel_has_few_characters() -> None:
    assert only_problem("channels: {a.b: {mail: root}}\njobs: {}").message == "is no name of a channel"


def test_a_ping_is_no_default() -> None:
    assert only_problem("defaults: {ping: env:A}\njobs: {}").hint == "each job has its own"


def test_defaults_may_say_whom_to_tell_and_what_is_expected() -> None:
    text = "defaults: {notify: ops, expect: {success_every: 1d}}\njobs: {a: {schedule: '@daily', run: x}}"
    (job,) = read_file(text, source="s").jobs
    assert job.policy.notify == Notify("ops")
    assert job.policy.expect == Expect(success_every=timedelta(days=1))


# -- the operator's file -----------------------------------------------------------------------------


def test_an_operators_channel_may_use_http_a_mail_server_and_apprise() -> None:
    text = """\
channels:
  local: {webhook: "http://localhost:8080/x"}
  admins: {mail: root, server: env:SMTP}
  chat: {apprise: env:CHAT}
"""
    assert sorted(read_channels(read_operator_channels(text, "f"), trusted=True)) == [
        "admins",
        "chat",
        "local",
    ]


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("", "f:1:1", "the file is empty"),
        ("jobs: {}", "f:1:1: jobs", "there is no such field"),
        ("channels: 5", "f:1:11: channels", "must be a mapping of channels"),
        (
            "channels:\n  a: {webhook: 'https://hooks.slack.com/x'}",
            "f:2:16: channels.a.webhook",
            "URL with a secret",
        ),
        ("{}", "f:1:1: channels", "is missing"),
    ],
)
def test_what_is_wrong_with_an_operators_file_is_told(text: str, where: str, message: str) -> None:
    with pytest.raises(ConfigInvalidError) as caught:
        read_operator_channels(text, "f")
    (problem,) = caught.value.problems
    assert str(problem).startswith(where)
    assert message in problem.message


def test_jobs_without_channels_are_as_before() -> None:
    assert problems_of("jobs: {a: {schedule: '@daily', run: x}}") == []
