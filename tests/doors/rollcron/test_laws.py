"""Laws: nothing but a ConfigInvalidError, whatever is read; and what is written is what is read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from doors.rollcron.files import SEED, jobs_of, problems_of
from foliot import Cron
from foliot.doors.rollcron.fields import FIELDS, KEEP_FIELDS, MISFIRE_FIELDS, RETRY_FIELDS, SCHEDULE_FIELDS
from foliot.doors.rollcron.report import split_lines
from foliot.model.frozen import thaw
from foliot.model.job import Job
from foliot.model.policy import TOLD_KINDS, MisfireMode, OverlapMode, Policy
from foliot.model.presets import ROLLCRON
from foliot.schedules.duration import parse_duration

TO_DATA = ("shell", "stdin", "exit_codes", "labels")
WORDS = (*FIELDS, *SCHEDULE_FIELDS, *RETRY_FIELDS, *MISFIRE_FIELDS, *KEEP_FIELDS, "jobs", "build")
VALUES = (
    "none",
    "1h30m",
    "bash",
    "/bin/sh",
    "5m",
    "10",
    "010",
    "on",
    "true",
    "~",
    "skip",
    "@daily",
    "*/5 * * * *",
    "UTC",
    "local",
    "../x",
    "x",
)
SIGNS = st.text("ab01 :-?[]{},#&*!|>'\"%@`~\\\n\t\r=<.", max_size=60)


def check_shape(data: bytes | str) -> None:
    """Jobs, or errors that each have a place in the file, a sentence, and one line."""
    text = data if isinstance(data, str) else data.decode(errors="replace")
    lines = split_lines(text)
    for problem in problems_of(data):
        assert 1 <= problem.line <= len(lines) + 1
        assert problem.column >= 1
        assert problem.message
        assert str(problem).isprintable()
        assert len(str(problem)) < 1000


@given(st.one_of(st.text(), st.binary(), SIGNS))
@example("\ufeff")
@example("jobs: {? }")
@example("- - -\n? \n:")
def test_any_text_is_jobs_or_errors(data: bytes | str) -> None:
    check_shape(data)


@given(st.text(max_size=3), st.integers(0, len(SEED)), st.integers(0, 12))
def test_a_damaged_file_is_jobs_or_errors(inserted: str, position: int, removed: int) -> None:
    check_shape(SEED[:position] + inserted + SEED[position + removed :])


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10), st.sampled_from(VALUES)
)
keys = st.one_of(st.sampled_from(WORDS), st.text(max_size=5), st.integers(0, 20))
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=20,
)
fields = st.dictionaries(st.sampled_from(list(FIELDS)), anything, max_size=8)
documents = st.one_of(
    anything,
    st.fixed_dictionaries({"defaults": fields, "jobs": st.dictionaries(keys, fields, max_size=2)}),
    st.fixed_dictionaries({"jobs": anything | st.dictionaries(keys, fields, max_size=4)}),
)


@given(documents, st.sampled_from([None, '"', "'", "|"]), st.booleans())
def test_any_structure_is_jobs_or_errors(document: Any, style: str | None, flow: bool) -> None:  # noqa: FBT001
    check_shape(yaml.safe_dump(document, default_style=style, default_flow_style=flow, allow_unicode=True))


durations = st.builds("{}{}".format, st.integers(1, 10_000), st.sampled_from("smhd"))
no_nul = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
texts = st.text(no_nul, min_size=1, max_size=30).filter(str.strip)
labels = texts.filter(str.isprintable)
crons = st.sampled_from(["0 2 * * *", "*/5 9-17 * * MON-FRI", "@hourly", "@every 90s"])
zones = st.sampled_from(["UTC", "Europe/Berlin", "local"])
paths = st.from_regex(r"[a-z]{1,5}(/[a-z.]{1,3}x){0,3}", fullmatch=True)
variables = st.dictionaries(
    st.from_regex(r"[A-EG-Z_][A-Z0-9_]{0,5}", fullmatch=True), st.text(no_nul), max_size=3
)
schedules = crons | st.fixed_dictionaries({"cron": crons}, optional={"timezone": zones})
retries = st.fixed_dictionaries(
    {"max": st.integers(0, 100)},
    optional={"delay": durations, "backoff": st.integers(1, 5), "jitter": st.sampled_from([0, 0.25, 0.5, 1])},
)
modes = st.sampled_from([str(mode) for mode in MisfireMode])
misfires = st.fixed_dictionaries({"mode": modes}, optional={"limit": st.integers(1, 100), "grace": durations})
names = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,7}", fullmatch=True).filter(lambda name: name != "none")
notifies = st.fixed_dictionaries(
    {"to": names},
    optional={
        "on": st.lists(st.sampled_from([str(kind) for kind in TOLD_KINDS]), min_size=1),
        "after": st.integers(1, 99),
        "remind": durations | st.just("none"),
    },
)
codes = st.lists(st.integers(0, 255), min_size=1, max_size=3)
good_jobs = st.fixed_dictionaries(
    {"schedule": schedules, "run": texts},
    optional={
        "name": labels,
        "description": texts,
        "timeout": durations,
        "concurrency": st.sampled_from([str(mode) for mode in OverlapMode]),
        "enabled": st.booleans(),
        "env": variables,
        "env_file": paths,
        "working_dir": paths,
        "shell": st.sampled_from(["bash", "/bin/zsh"]),
        "stdin": texts,
        "exit_codes": st.fixed_dictionaries({}, optional={"ok": codes, "skip": codes}),
        "queue": st.from_regex(r"[a-z.-]{1,9}", fullmatch=True),
        "labels": st.dictionaries(st.from_regex(r"[a-z/]{1,5}", fullmatch=True), labels, max_size=2),
        "keep": st.fixed_dictionaries({}, optional={"last": st.integers(1, 9), "days": st.just("none")}),
        "misfire": modes | misfires,
        "retry": retries,
        "notify": names | st.lists(names, min_size=1, max_size=3) | notifies,
        "expect": st.fixed_dictionaries({}, optional={"start_within": durations, "success_every": durations}),
        "ping": st.sampled_from(["env:HC", "https://ping.example.org/x"]),
    },
)
good_files = st.dictionaries(
    st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True), good_jobs, max_size=4
).filter(lambda jobs: len({name.lower() for name in jobs}) == len(jobs))


class Quoting(yaml.SafeDumper):
    """Writes each text in double quotes; what is not ASCII, as an escape."""


Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def written(jobs: dict[str, Any], *, flow: bool = False) -> str:
    return str(yaml.dump({"jobs": jobs}, Dumper=Quoting, sort_keys=False, default_flow_style=flow))


def config_of(job: Job) -> dict[str, Any]:
    """The fields that declare a job."""
    assert isinstance(job.schedule, Cron)
    policy = job.policy
    assert policy.timeout is not None
    return {
        **thaw(job.action.data),
        "schedule": {"cron": job.schedule.expression, "timezone": job.schedule.timezone},
        "timeout": f"{policy.timeout // timedelta(seconds=1)}s",
        "concurrency": str(policy.overlap.mode),
        "queue": job.queue,
        "keep": {"last": policy.keep.last, "days": policy.keep.days or "none"},
        "enabled": job.enabled,
        "retry": {
            "max": policy.retry.max,
            "delay": f"{policy.retry.delay // timedelta(seconds=1)}s",
            "backoff": policy.retry.backoff,
            "jitter": policy.retry.jitter,
        },
        **alert_fields_of(policy),
        "misfire": {
            "mode": str(policy.misfire.mode),
            "limit": policy.misfire.limit,
            "grace": f"{policy.misfire.grace // timedelta(seconds=1)}s",
        },
    }


def alert_fields_of(policy: Policy) -> dict[str, Any]:
    fields: dict[str, Any] = {} if policy.ping is None else {"ping": "env:HC"}
    if (notify := policy.notify) is not None:
        remind = "none" if notify.remind is None else f"{notify.remind // timedelta(seconds=1)}s"
        on = [str(kind) for kind in notify.on]
        fields["notify"] = {"to": list(notify.to), "on": on, "after": notify.after, "remind": remind}
    if (expect := policy.expect) is not None:
        spans = {"start_within": expect.start_within, "success_every": expect.success_every}
        fields["expect"] = {n: f"{s // timedelta(seconds=1)}s" for n, s in spans.items() if s is not None}
    return fields


@given(good_files, st.booleans())
def test_a_good_file_says_what_its_author_wrote(jobs: dict[str, Any], flow: bool) -> None:  # noqa: FBT001
    found = jobs_of(written(jobs, flow=flow))

    assert [job.name for job in found] == list(jobs)
    for job, fields in zip(found, jobs.values(), strict=True):
        kept = {
            name: fields[name]
            for name in (*TO_DATA, "run", "description", "env", "env_file", "working_dir")
            if name in fields
        }
        assert thaw(job.action.data) == {"name": fields.get("name", job.name)} | kept
        assert job.enabled == fields.get("enabled", True)
        assert job.policy.overlap.mode == fields.get("concurrency", "skip")
        timeout = fields.get("timeout")
        assert job.policy.timeout == (parse_duration(timeout) if timeout else ROLLCRON.timeout)


@given(good_files)
def test_what_was_read_can_be_written_and_read_again(jobs: dict[str, Any]) -> None:
    found = jobs_of(written(jobs))
    again = jobs_of(written({job.name: config_of(job) for job in found}))

    assert all(one.says_the_same(other) for one, other in zip(found, again, strict=True))
