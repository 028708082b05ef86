"""What a good rollcron.yaml becomes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from doors.rollcron.files import SEED, job_of, jobs_of, with_field
from foliot import Cron
from foliot.doors.rollcron.config import read_config, read_file
from foliot.doors.rollcron.value import LONGEST_ARGUMENT
from foliot.errors import ConfigInvalidError
from foliot.model.frozen import thaw
from foliot.model.policy import Keep, Misfire, MisfireMode, OnLost, Overlap, OverlapMode, Retry
from foliot.model.presets import ROLLCRON
from foliot.schedules.zone import resolve_timezone

WAIT = Overlap(mode=OverlapMode.WAIT)
LOCAL = resolve_timezone("local")


@pytest.mark.req("ROLL-02")
def test_the_example_of_the_seed_is_read_with_its_defaults() -> None:
    build, health = jobs_of(SEED, revision="abc")

    assert (build.source, build.name, build.key, build.revision) == ("repo", "build", "repo/build", "abc")
    assert build.schedule == Cron("0 * * * *", timezone="local")
    assert build.action.kind == "shell:repo"
    assert thaw(build.action.data) == {"name": "Build Project", "run": "cargo build --release"}
    assert build.policy == replace(ROLLCRON, timeout=timedelta(minutes=5), overlap=WAIT)

    assert thaw(health.action.data) == {"name": "health-check", "run": "curl -f http://localhost/health"}
    assert health.policy == ROLLCRON
    assert health.policy.timeout == timedelta(seconds=10)
    assert health.policy.overlap.mode is OverlapMode.SKIP
    assert build.enabled
    assert health.enabled


def test_jobs_come_in_the_order_of_the_file() -> None:
    job = '{schedule: "@daily", run: x}'
    assert [each.name for each in jobs_of(f"jobs: {{b: {job}, a: {job}, 10: {job}}}")] == ["b", "a", "10"]


def test_a_file_may_say_that_there_are_no_jobs() -> None:
    assert jobs_of("jobs: {}") == ()


@pytest.mark.req("ROLL-03")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("1h", 3600), ("1s", 1), ("05m", 300), ('"90s"', 90), ("876600h", 3155760000),
     ("1h30m", 5400), ("2d", 172_800), ("1d1h1m1s", 90_061)],
)  # fmt: skip
def test_durations_are_days_hours_minutes_and_seconds(text: str, seconds: int) -> None:
    assert job_of(f"timeout: {text}").policy.timeout == timedelta(seconds=seconds)


@pytest.mark.req("ROLL-04")
@pytest.mark.parametrize(
    "expression",
    [
        "*/5 * * * *",
        "0 2 * * *",
        "0 0 * * 0",
        "0,30 9-17 * * 1-5",
        "1-59/2 */3 1,15 1-6 *",
        "@daily",
        "@every 90s",
    ],
)
@pytest.mark.parametrize("shape", ['{{cron: "{}"}}', '"{}"', "\n      cron: '{}'"])
def test_a_schedule_is_a_cron_expression_plain_or_under_cron(expression: str, shape: str) -> None:
    (job,) = jobs_of(f"jobs:\n  a:\n    run: x\n    schedule: {shape.format(expression)}\n")

    assert job.schedule == Cron(expression, timezone="local", dialect="standard")


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ('schedule: "0 2 * * *"', LOCAL),
        ('schedule: "0 2 * * *"\n    timezone: Europe/Berlin', "Europe/Berlin"),
        ('schedule: {cron: "0 2 * * *", timezone: Asia/Tokyo}', "Asia/Tokyo"),
        ('timezone: Asia/Tokyo\n    schedule: {cron: "0 2 * * *"}', "Asia/Tokyo"),
        ('timezone: local\n    schedule: {cron: "0 2 * * *"}', LOCAL),
        ('schedule: "CRON_TZ=Asia/Tokyo 0 2 * * *"', "Asia/Tokyo"),
    ],
)
def test_the_zone_is_the_hosts_unless_it_is_given(text: str, zone: str) -> None:
    (job,) = jobs_of(f"jobs:\n  a:\n    run: x\n    {text}\n")

    assert isinstance(job.schedule, Cron)
    assert job.schedule.timezone == zone


@pytest.mark.parametrize("mode", OverlapMode)
def test_every_strategy_of_concurrency_is_a_policy(mode: OverlapMode) -> None:
    assert job_of(f"concurrency: {mode}").policy.overlap == Overlap(mode=mode)


@pytest.mark.parametrize(
    ("text", "retry"),
    [
        ("{max: 3}", Retry(3)),
        ("{max: 0}", Retry(0)),
        ("{max: 3, delay: 30s}", Retry(3, "30s")),
        ("{max: 3, delay: 1m, backoff: 2, jitter: 0.5}", Retry(3, "1m", backoff=2, jitter=0.5)),
        ("{max: 3, backoff: 1.5, jitter: .25}", Retry(3, backoff=1.5, jitter=0.25)),
    ],
)
def test_retries(text: str, retry: Retry) -> None:
    assert job_of(f"retry: {text}").policy == replace(ROLLCRON, retry=retry)


@pytest.mark.parametrize(
    ("text", "misfire"),
    [
        ("skip", Misfire(mode=MisfireMode.SKIP)),
        ("once", Misfire(mode=MisfireMode.ONCE)),
        ("all", Misfire(mode=MisfireMode.ALL)),
        ("{mode: once}", Misfire(mode=MisfireMode.ONCE)),
        (
            "{mode: all, limit: 24, grace: 5m}",
            Misfire(mode=MisfireMode.ALL, limit=24, grace=timedelta(minutes=5)),
        ),
    ],
)
def test_misfires(text: str, misfire: Misfire) -> None:
    assert job_of(f"misfire: {text}").policy == replace(ROLLCRON, misfire=misfire)


@pytest.mark.parametrize(
    ("text", "enabled"), [("true", True), ("false", False), ("True", True), ("FALSE", False)]
)
def test_a_job_can_be_switched_off(text: str, enabled: bool) -> None:  # noqa: FBT001 - a column of the table
    assert job_of(f"enabled: {text}").enabled is enabled


@pytest.mark.parametrize(
    ("lines", "data"),
    [
        ("description: What it does.", {"description": "What it does."}),
        ("description: |\n  One.\n  Two.", {"description": "One.\nTwo.\n"}),
        ("working_dir: tools/nightly", {"working_dir": "tools/nightly"}),
        ("working_dir: .", {"working_dir": "."}),
        ("working_dir: ...", {"working_dir": "..."}),
        ("env_file: config/.env", {"env_file": "config/.env"}),
        ("shell: bash", {"shell": "bash"}),
        ("shell: /usr/bin/zsh", {"shell": "/usr/bin/zsh"}),
        ("stdin: |\n  one\n  two", {"stdin": "one\ntwo\n"}),
        ("exit_codes: {ok: [0, 3], skip: [75]}", {"exit_codes": {"ok": [0, 3], "skip": [75]}}),
        ("secrets: shop", {"secrets": "shop"}),
        ("pass_env: [DB_URL, TOKEN]", {"pass_env": ["DB_URL", "TOKEN"]}),
        ("labels: {team: shop, cost/center: a b}", {"labels": {"team": "shop", "cost/center": "a b"}}),
        ("labels: {}", {"labels": {}}),
        ("env_file: none", {}),
        ('env_file: "none"', {"env_file": "none"}),
        ("env: {}", {"env": {}}),
        ("env: {A: b, _C1: d e}", {"env": {"A": "b", "_C1": "d e"}}),
        ('env: {A: "", B: 010, C: on, D: 1.10, E: true, F: 12:30}',
         {"env": {"A": "", "B": "010", "C": "on", "D": "1.10", "E": "true", "F": "12:30"}}),
        ("name: Größe 日本", {"name": "Größe 日本"}),
        ('name: "010"', {"name": "010"}),
        ("name: on", {"name": "on"}),
        ("name: yes", {"name": "yes"}),
        ("name: 12:30", {"name": "12:30"}),
        ("name: 2026-11-15", {"name": "2026-11-15"}),
        ("name: 1_000", {"name": "1_000"}),
        ("name: build # the rest is a comment", {"name": "build"}),
    ],
)  # fmt: skip
def test_what_the_command_is_given(lines: str, data: dict[str, Any]) -> None:
    assert thaw(job_of(lines).action.data) == {"name": "build", "run": "make"} | data


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("make all", "make all"),
        ("'a: b'", "a: b"),
        ('"tab\\tnewline\\n"', "tab\tnewline\n"),
        ("|\n      a\n      b", "a\nb\n"),
        (">-\n      a\n      b", "a b"),
        ('"true"', "true"),
        ("x" * LONGEST_ARGUMENT, "x" * LONGEST_ARGUMENT),
        ('[./report, -n, 5, 1.10, true, ""]', ["./report", "-n", "5", "1.10", "true", ""]),
    ],
)
def test_a_command_is_taken_as_it_is(text: str, command: str | list[str]) -> None:
    (job,) = jobs_of(f'jobs:\n  a:\n    schedule: "@daily"\n    run: {text}\n')

    assert thaw(job.action.data)["run"] == command


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_say_nothing(end: str, mark: str) -> None:
    text = mark + SEED.replace("\n", end)

    assert jobs_of(text) == jobs_of(text.encode()) == jobs_of(SEED)


def test_a_file_may_declare_that_it_is_yaml_1_2() -> None:
    assert jobs_of(f"%YAML 1.2\n---\n{SEED}...\n") == jobs_of(SEED)


def test_jobs_that_say_the_same_share_their_rules_and_policies() -> None:
    body = '{schedule: "@daily", run: x, timeout: 1m, retry: {max: 1}}'
    one, other = jobs_of(f"jobs: {{a: {body}, b: {body}}}")

    assert one.schedule is other.schedule
    assert one.policy is other.policy


def test_the_same_file_says_the_same_at_another_revision() -> None:
    text = with_field("env: {A: b}")
    (one,), (other,) = jobs_of(text, revision="1"), jobs_of(text, revision="2")

    assert one.says_the_same(other)
    assert other.revision == "2"


def test_a_run_whose_daemon_was_killed_is_given_up_or_started_again() -> None:
    assert job_of("enabled: true").policy.on_lost is OnLost.GIVE_UP
    assert job_of("on_lost: restart").policy == replace(ROLLCRON, on_lost=OnLost.RESTART)


def test_a_timeout_may_be_none() -> None:
    assert job_of("timeout: none").policy == replace(ROLLCRON, timeout=None)


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("{last: 1000}", Keep(last=1000)),
        ("{last: none, days: 90}", Keep(last=None, days=90)),
        ("{days: none, problems_only: true}", Keep(days=None, problems_only=True)),
    ],
)
def test_how_much_history_is_kept(text: str, keep: Keep) -> None:
    assert job_of(f"keep: {text}").policy == replace(ROLLCRON, keep=keep)


def test_a_job_has_a_queue() -> None:
    assert (job_of("queue: db").queue, job_of("enabled: true").queue) == ("db", "default")


DEFAULTS = """\
defaults:
  timezone: Asia/Tokyo
  timeout: 1h
  env: {A: default, B: default}
  retry: {max: 3, delay: 30s}
  queue: db
jobs:
  plain: {schedule: "@daily", run: x}
  own:
    schedule: {cron: "@daily", timezone: Europe/Berlin}
    run: x
    timeout: 5m
    env: {B: own, C: own}
    retry: {max: 1}
    queue: none
  bare: {schedule: "@daily", run: x, timezone: none, timeout: none, env: none, retry: none}
"""


def test_defaults_hold_for_every_job_that_says_nothing_else() -> None:
    plain, own, bare = jobs_of(DEFAULTS)

    assert plain.schedule == Cron("@daily", timezone="Asia/Tokyo")
    assert plain.policy == replace(ROLLCRON, timeout=timedelta(hours=1), retry=Retry(3, "30s"))
    assert thaw(plain.action.data)["env"] == {"A": "default", "B": "default"}
    assert plain.queue == "db"

    assert own.schedule == Cron("@daily", timezone="Europe/Berlin")
    assert own.policy == replace(
        ROLLCRON, timeout=timedelta(minutes=5), retry=Retry(1)
    )  # replaced as a whole
    assert thaw(own.action.data)["env"] == {"A": "default", "B": "own", "C": "own"}  # merged by name
    assert own.queue == "default"

    assert bare.schedule == Cron("@daily", timezone=LOCAL)
    assert bare.policy == replace(ROLLCRON, timeout=None)
    assert "env" not in bare.action.data


def test_it_is_known_which_jobs_say_nothing_about_their_timeout() -> None:
    file = 'jobs: {a: {schedule: "@daily", run: x}, b: {schedule: "@daily", run: x, timeout: none}}'

    assert read_file(file, source="repo").untimed == {"a"}
    assert not read_file(f"defaults: {{timeout: 10s}}\n{file}", source="repo").untimed


def test_the_defaults_may_say_that_no_run_has_a_limit() -> None:
    text = """
defaults: {timeout: none}
jobs:
  a: {schedule: "@daily", run: "true"}
  b: {schedule: "@daily", run: "true", timeout: 5m}
"""
    jobs = read_config(text, source="s")
    assert [job.policy.timeout for job in jobs] == [None, timedelta(minutes=5)]


def test_dialect_and_dst_stand_under_defaults_at_a_job_or_in_its_schedule() -> None:
    text = """
defaults: {timezone: Europe/Berlin, dialect: vixie, dst: cron}
jobs:
  a: {schedule: "0 3 */2 * 1", run: "true"}
  b: {schedule: {cron: "0 3 * * *", dst: once}, run: "true"}
  c: {schedule: "0 0 3 * * *", dialect: seconds, dst: none, run: "true"}
"""
    rules = [job.schedule for job in read_config(text, source="s")]
    assert [(rule.dialect, rule.dst) for rule in rules if isinstance(rule, Cron)] == [
        ("vixie", "cron"), ("vixie", "once"), ("seconds", "exact"),
    ]  # fmt: skip


def test_a_dialect_that_is_given_twice_is_refused() -> None:
    text = 'jobs:\n  a: {schedule: {cron: "@daily", dst: cron}, dst: once, run: "true"}\n'
    with pytest.raises(ConfigInvalidError, match="the dst is given twice"):
        read_config(text, source="s")
