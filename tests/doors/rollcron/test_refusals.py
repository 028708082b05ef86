"""What is wrong in a rollcron.yaml is told with job, field, place and hint, and all of it at once."""

from __future__ import annotations

import pytest

from doors.rollcron.files import FIRST_LINE, SEED, only_problem, problems_of, with_field
from doors.rollcron.test_alert_fields import WRONG_ALERTS
from doors.rollcron.wrong_values import WRONG_LATER
from foliot.doors.rollcron import read_config
from foliot.doors.rollcron.fields import FIELDS
from foliot.doors.rollcron.job_reader import LONGEST_ID
from foliot.doors.rollcron.report import MOST_PROBLEMS
from foliot.doors.rollcron.value import LONGEST_ARGUMENT
from foliot.errors import ConfigInvalidError

WRONG_VALUES = [
    # timeout
    ("timeout: 10", "timeout", 14, '"10" is no duration', "write 10s, 10m or 10h"),
    ("timeout: 30m1h", "timeout", 14, '"30m1h" is no duration', "write 1h30m"),
    ("timeout: 1.5h", "timeout", 14, '"1.5h" is no duration', "write 1h30m"),
    ("timeout: 5 m", "timeout", 14, '"5 m" is no duration', "write 5m"),
    ("timeout: 1w", "timeout", 14, '"1w" is no duration', "write whole numbers"),
    ("timeout: None", "timeout", 14, '"None" is no duration', "write whole numbers"),
    ("timeout: 0", "timeout", 14, "0 must be positive", "write timeout: none"),
    ("timeout: 00h", "timeout", 14, "00h must be positive", "write timeout: none"),
    ("timeout: 1h0", "timeout", 14, '"1h0" is no duration', "write whole numbers"),
    ("timeout: 5M", "timeout", 14, '"5M" is no duration', "write whole numbers with d, h, m or s"),
    ("timeout: 500ms", "timeout", 14, '"500ms" is no duration', "write whole numbers with d, h, m or s"),
    ("timeout: -5s", "timeout", 14, '"-5s" is no duration', "write whole numbers"),
    ("timeout: ٣s", "timeout", 14, '"٣s" is no duration', "write whole numbers"),
    ("timeout: 5 minutes", "timeout", 14, '"5 minutes" is no duration', "write whole numbers"),
    ("timeout: soon", "timeout", 14, '"soon" is no duration', "write whole numbers"),
    ('timeout: ""', "timeout", 14, "is empty", "write whole numbers"),
    ("timeout:", "timeout", 13, "is empty", "write whole numbers"),
    ("timeout: [5m]", "timeout", 14, "must be a single value, not a list", "in quotes"),
    ("timeout: {m: 5}", "timeout", 14, "must be a single value, not a mapping", "in quotes"),
    ("timeout: 0s", "timeout", 14, "0s must be positive", "write timeout: none"),
    ("timeout: 900000h", "timeout", 14, "900000h must be at most a hundred years", None),
    ("timeout: 999999999999h", "timeout", 14, "999999999999h is too long", None),
    ("splay: 0s", "splay", 12, "0s must lie between 1s and 1d", None),
    ("splay: 25h", "splay", 12, "25h must lie between 1s and 1d", None),
    ("splay: soon", "splay", 12, '"soon" is no duration', "write whole numbers"),
    # concurrency
    ("concurrency: skp", "concurrency", 18, "skp is not known", "did you mean skip?"),
    ("concurrency: Wait", "concurrency", 18, "Wait is not known", "did you mean wait?"),
    ("concurrency: 2", "concurrency", 18, "2 is not known", "one of: skip, wait, replace, parallel"),
    ("concurrency:", "concurrency", 17, "is empty", "one of: skip, wait, replace, parallel"),
    ("concurrency: [skip]", "concurrency", 18, "must be a single value, not a list", "in quotes"),
    # name, description
    ("name: 010", "name", 11, "must be a text, not a number", 'put it in quotes: "010"'),
    ("name: 0o17", "name", 11, "must be a text, not a number", 'put it in quotes: "0o17"'),
    ("name: 1e3", "name", 11, "must be a text, not a number", 'put it in quotes: "1e3"'),
    ("name: true", "name", 11, "must be a text, not true or false", 'put it in quotes: "true"'),
    ("name: ~", "name", 11, "is empty", "give it a value, or remove it"),
    ('name: " "', "name", 11, "is empty", "give it a value, or remove it"),
    ('name: "a\\nb"', "name", 11, "must be one line of at most 200 printable", None),
    ('name: "a\\e[31mb"', "name", 11, "must be one line of at most 200 printable", None),
    (f"name: {'x' * 201}", "name", 11, "must be one line of at most 200 printable", None),
    ("description: 1", "description", 18, "must be a text, not a number", 'put it in quotes: "1"'),
    ("description: [a]", "description", 18, "must be a single value, not a list", "in quotes"),
    # timezone
    ("timezone: Europe/Berlim", "timezone", 15, "invalid timezone Europe/Berlim", "Europe/Berlin?"),
    ("timezone: +01:00", "timezone", 15, "there is no such IANA time zone", "write a name such as"),
    ("timezone: 1", "timezone", 15, "must be a text, not a number", 'put it in quotes: "1"'),
    ("timezone:", "timezone", 14, "is empty", "give it a value, or remove it"),
    *WRONG_LATER,
    ("dialect: vixi", "dialect", 14, "vixi is not known", "did you mean vixie?"),
    ("dst: twice", "dst", 10, "twice is not known", "one of: exact, cron, systemd, once"),
    # enabled
    ("enabled: on", "enabled", 14, "must be true or false, not on", "write true"),
    ("enabled: no", "enabled", 14, "must be true or false, not no", "write false"),
    ("enabled: 0", "enabled", 14, "must be true or false, not 0", "write false"),
    ("enabled: maybe", "enabled", 14, "must be true or false, not maybe", "write true or false"),
    ('enabled: "false"', "enabled", 14, "must be true or false, not false", "write false, without quotes"),
    ("enabled:", "enabled", 13, "must be true or false, not nothing", "write true or false"),
    ("enabled: [true]", "enabled", 14, "must be a single value, not a list", "in quotes"),
    # retry
    ("retry: 3", "retry", 12, "must be a mapping of fields, not a number", "write retry: {max: 3"),
    ("retry: {}", "retry.max", 12, "is missing", "max: 3"),
    ("retry: {max: 010}", "retry.max", 18, "must be a whole number, not 010", "write 10"),
    ("retry: {max: 0x10}", "retry.max", 18, "must be a whole number, not 0x10", "such as 3"),
    ("retry: {max: 1e1}", "retry.max", 18, "must be a whole number, not 1e1", "such as 3"),
    ('retry: {max: "3"}', "retry.max", 18, "must be a whole number, not 3", "write 3, without quotes"),
    ("retry: {max: 1.5}", "retry.max", 18, "must be a whole number, not 1.5", "such as 3"),
    ("retry: {max: -1}", "retry.max", 18, "-1 must not be negative", None),
    ("retry: {max: }", "retry.max", 18, "must be a whole number, not nothing", "such as 3"),
    (f"retry: {{max: {'9' * 5000}}}", "retry.max", 18, "must be a whole number, not 999", "such as 3"),
    ("retry: {max: 1, delay: 5}", "retry.delay", 28, '"5" is no duration', "write 5s, 5m or 5h"),
    ("retry: {max: 1, delay: 900000h}", "retry.delay", 28, "must be at most a hundred years", None),
    ("retry: {max: 1, backoff: 0.5}", "retry.backoff", 30, "0.5 must be a finite number, at least 1", None),
    ("retry: {max: 1, backoff: .inf}", "retry.backoff", 30, "must be a number, not .inf", "such as 1.5"),
    ("retry: {max: 1, backoff: .}", "retry.backoff", 30, "must be a number, not .", "such as 1.5"),
    ("retry: {max: 1, backoff: 01.5}", "retry.backoff", 30, "must be a number, not 01.5", "write 1.5"),
    ("retry: {max: 1, jitter: 2}", "retry.jitter", 29, "2 must lie between 0 and 1", None),
    ("retry: {max: 1, retries: 2}", "retry.retries", 21, "there is no such field", "the fields are max"),
    ("retry: {max: 1, count: 2}", "retry.count", 21, "there is no such field", "did you mean max?"),
    *WRONG_ALERTS,
    # on_lost
    ("on_lost: again", "on_lost", 14, "again is not known", "one of: restart, give_up"),
    # misfire
    ("misfire: never", "misfire", 14, "never is not known", "one of: skip, once, all"),
    ("misfire: [once]", "misfire", 14, "must be a mapping of fields, not a list", "write misfire: once"),
    ("misfire: {}", "misfire.mode", 14, "is missing", "one of: skip, once, all"),
    ("misfire: {mode: al}", "misfire.mode", 21, "al is not known", "did you mean all?"),
    ("misfire: {mode: all, limit: 0}", "misfire.limit", 33, "0 must be at least 1", None),
    ("misfire: {mode: all, grace: 1}", "misfire.grace", 33, '"1" is no duration', "write 1s, 1m or 1h"),
    # env
    ("env: [A=b]", "env", 10, "must be a mapping of variables, not a list", "write NAME: value under env"),
    ("env: A=b", "env", 10, "must be a mapping of variables, not a text", "write NAME: value under env"),
    ("env:", "env", 9, "must be a mapping of variables, not nothing", "write NAME: value under env"),
    ("env: {A: }", "env.A", 14, "is empty", 'write "" if the variable is to be empty'),
    ("env: {A: [b]}", "env.A", 14, "must be a single value, not a list", "in quotes"),
    ("env: {A-B: c}", "env.A-B", 11, "is no name of a variable", "letters, digits and _ only"),
    ("env: {1A: c}", "env.1A", 11, "is no name of a variable", "letters, digits and _ only"),
    ("env: {FOLIOT_KEY: c}", "env.FOLIOT_KEY", 11, "FOLIOT_ are Foliot's own", "rename it"),
    ('env: {A: "\\0"}', "env.A", 14, "has a NUL character in it", "remove it"),
    (f"env: {{A: {'x' * (LONGEST_ARGUMENT + 1)}}}", "env.A", 14, "has 131,072 bytes", "into a file"),
    # paths
    ("working_dir: ../other", "working_dir", 18, "../other does not stay inside", "from the top"),
    ("working_dir: a/../../b", "working_dir", 18, "does not stay inside", "from the top of the repository"),
    ("working_dir: /srv", "working_dir", 18, "/srv does not stay inside", "from the top of the repository"),
    ('working_dir: "a\\nb"', "working_dir", 18, "does not stay inside", "from the top of the repository"),
    ("working_dir: ~", "working_dir", 18, "is empty", "give it a value, or remove it"),
    ("env_file: /etc/environment", "env_file", 15, "/etc/environment does not stay", "from the top"),
    ("env_file: [a]", "env_file", 15, "must be a single value, not a list", "in quotes"),
    # what the command is run by, and what it is given
    ("shell: zsh", "shell", 12, "zsh is no shell", "write bash, or an absolute path"),
    ("shell: bin/zsh", "shell", 12, "bin/zsh is no shell", "write bash, or an absolute path"),
    ("stdin: 5", "stdin", 12, "must be a text, not a number", 'put it in quotes: "5"'),
    (f"stdin: {'x' * 65_537}", "stdin", 12, "has 65,537 bytes, and 65,536 are allowed", "cmd < file"),
    ("secrets: ../shop", "secrets", 14, "../shop is no name of secrets", "letters, digits"),
    ("secrets: [shop]", "secrets", 14, "must be a single value, not a list", "in quotes"),
    ("pass_env: DB_URL", "pass_env", 15, "must be a list of variables, not a text", "such as [DB_URL]"),
    ("pass_env: []", "pass_env", 15, "is empty", "such as [DB_URL]"),
    ("pass_env: [A-B]", "pass_env", 16, "A-B is no name to pass on", "letters, digits and _ only"),
    ("pass_env: [FOLIOT_KEY]", "pass_env", 16, "FOLIOT_KEY is no name to pass on", "letters"),
    # what exit codes mean
    ("exit_codes: 3", "exit_codes", 17, "must be a mapping of fields, not a number", "{ok: [0, 3]"),
    ("exit_codes: {ok: 3}", "exit_codes.ok", 22, "must be a list of exit codes", "such as [0, 3]"),
    ("exit_codes: {ok: [256]}", "exit_codes.ok", 23, "256 must lie between 0 and 255", None),
    ("exit_codes: {skip: [x]}", "exit_codes.skip", 25, "must be a whole number, not x", "such as 3"),
    ("exit_codes: {okay: [1]}", "exit_codes.okay", 18, "there is no such field", "did you mean ok?"),
    # queue, labels, keep
    ("queue: a b", "queue", 12, "a b is no name of a queue", "letters, digits"),
    ("queue: 5", "queue", 12, "must be a text, not a number", 'put it in quotes: "5"'),
    ("labels: [a]", "labels", 13, "must be a mapping of labels, not a list", "name: value"),
    ("labels: {a b: c}", "labels.a b", 14, "is no name of a label", "letters, digits"),
    ("labels: {a: 1}", "labels.a", 17, "must be a text, not a number", 'put it in quotes: "1"'),
    ("keep: 5", "keep", 11, "must be a mapping of fields, not a number", "write keep: {last"),
    ("keep: {last: 0}", "keep.last", 18, "0 must be at least 1", None),
    ("keep: {days: 40000}", "keep.days", 18, "40000 must be at most 36525", None),
    ("keep: {problems_only: yes}", "keep.problems_only", 27, "must be true or false", "write true"),
    # fields that are not there
    ("tiemout: 5s", "tiemout", 5, "there is no such field", "did you mean timeout?"),
    ("Timeout: 5s", "Timeout", 5, "there is no such field", "did you mean timeout?"),
    ("command: x", "command", 5, "there is no such field", "did you mean run?"),
    ("cron: '@daily'", "cron", 5, "there is no such field", 'write schedule: {cron: "0 2 * * *"}'),
    ("zzz: x", "zzz", 5, "there is no such field", f"the fields are {', '.join(FIELDS)}"),
    ("<<: {a: b}", "<<", 5, "there is no such field", "merge key"),
]  # fmt: skip


@pytest.mark.req("ROLL-03", "ROLL-24")
@pytest.mark.parametrize(("lines", "field", "column", "message", "hint"), WRONG_VALUES)
def test_a_wrong_value_is_told_with_job_field_place_and_what_is_right(
    lines: str, field: str, column: int, message: str, hint: str | None
) -> None:
    problem = only_problem(with_field(lines))

    assert (problem.job, problem.field) == ("build", field)
    assert (problem.line, problem.column) == (FIRST_LINE, column)
    assert message in problem.message
    assert problem.hint is None if hint is None else hint in (problem.hint or "")
    assert str(problem).startswith(f"rollcron.yaml:{FIRST_LINE}:{column}: job build, {field}: ")


def test_every_field_has_a_wrong_value_in_the_table_but_those_that_are_required() -> None:
    assert {field.partition(".")[0] for _, field, *_ in WRONG_VALUES} >= set(FIELDS) - {"schedule", "run"}


@pytest.mark.req("ROLL-24")
@pytest.mark.parametrize(
    ("fields", "field", "column", "message"),
    [
        ("{run: x}", "schedule.cron", 3, "is missing"),
        ("{run: x, schedule: {}}", "schedule.cron", 25, "is missing"),
        ("{run: x, schedule: {timezone: UTC}}", "schedule.cron", 25, "is missing"),
        ("{run: x, schedule: }", "schedule", 25, "is empty"),
        ("{run: x, schedule: 5}", "schedule", 25, "must be a text, not a number"),
        ("{run: x, schedule: ['@daily']}", "schedule", 25, "must be a mapping of fields, not a list"),
        ("{run: x, schedule: {cron: }}", "schedule.cron", 32, "is empty"),
        ("{run: x, schedule: {cron: [1]}}", "schedule.cron", 32, "must be a single value, not a list"),
        ("{run: x, schedule: {cron: '@daily', tz: UTC}}", "schedule.tz", 42, "there is no such field"),
        ("{schedule: '@daily'}", "run", 3, "is missing"),
        ("{schedule: '@daily', run: }", "run", 32, "is empty"),
        ("{schedule: '@daily', run: ''}", "run", 32, "is empty"),
        ("{schedule: '@daily', run: true}", "run", 32, "must be a text, not true or false"),
        ("{schedule: '@daily', run: 1}", "run", 32, "must be a text, not a number"),
        ("{schedule: '@daily', run: [ -f x ]}", "run", 34, "-f x is no program"),
        ("{schedule: '@daily', run: []}", "run", 32, "is empty"),
        ("{schedule: '@daily', run: [x, [y]]}", "run", 36, "must be a single value, not a list"),
        ("{schedule: '@daily', run: [x, ~]}", "run", 36, "is empty"),
        ("{schedule: '@daily', shell: bash, run: [x]}", "shell", 34, "a list needs no shell"),
        ("{schedule: '@daily', run: {a: b}}", "run", 32, "must be a single value, not a mapping"),
        ('{schedule: "@daily", run: "a\\0b"}', "run", 32, "has a NUL character in it"),
        (f"{{schedule: '@daily', run: {'ä' * 65_536}}}", "run", 32, "has 131,072 bytes"),
    ],
)
def test_every_job_needs_a_schedule_and_a_command(fields: str, field: str, column: int, message: str) -> None:
    problem = only_problem(f"jobs:\n  a: {fields}\n")

    assert (problem.job, problem.field, problem.line, problem.column) == ("a", field, 2, column)
    assert message in problem.message
    assert problem.hint


@pytest.mark.parametrize(
    ("written", "expression", "column", "hint"),
    [
        ('"0 9 * * 8"', "0 9 * * 8", 24, "weekdays are numbers from 0 to 6"),
        ("'0 9 * * 8'", "0 9 * * 8", 24, "weekdays are numbers from 0 to 6"),
        ("0 9 * * 8", "0 9 * * 8", 23, "weekdays are numbers from 0 to 6"),
        ('"\\x30 9 * * 8"', "0 9 * * 8", 15, "weekdays are numbers from 0 to 6"),
        (">-\n      0 9\n      * * 8", "0 9 * * 8", 15, "weekdays are numbers from 0 to 6"),
        ('"@dayly"', "@dayly", 16, "did you mean @daily?"),
        ('"0 0 30 2 *"', "", 15, "name a date that some year has"),
        ('"* * * * * *"', "* * * * * *", 26, "five fields"),
        (f'"{"1," * 600}1 * * * *"', "1,1,1", 1040, "no schedule needs as much"),
    ],
)
def test_a_wrong_expression_is_told_by_the_cron_language_at_the_bad_character(
    written: str, expression: str, column: int, hint: str
) -> None:
    problem = only_problem(f"jobs:\n  a:\n    run: x\n    schedule: {written}\n")

    assert (problem.job, problem.field, problem.line, problem.column) == ("a", "schedule", 4, column)
    assert problem.message.startswith(
        f'Invalid cron expression "{expression}' if expression else "Failed to calculate next occurrence"
    )
    assert hint in (problem.hint or "")


def test_a_zone_that_is_given_twice_is_refused() -> None:
    text = "jobs: {a: {run: x, timezone: UTC, schedule: {cron: '@daily', timezone: UTC}}}"
    assert only_problem(text).field == "schedule.timezone"


@pytest.mark.req("ROLL-24")
@pytest.mark.parametrize(
    "id_",
    [
        "../x",
        "a/b",
        ".",
        "a b",
        "a.b",
        '""',
        "ä",
        "日本",
        "a\u202eb",
        "😀",
        "café",
        "a:b",
        "a\u0301",
        "nul\\0",
    ],
)
def test_an_id_has_ascii_letters_digits_underscores_and_hyphens_only(id_: str) -> None:
    problem = only_problem(f'jobs:\n  {id_}: {{schedule: "@daily", run: x}}\n')

    assert problem.job == id_.strip('"')
    assert (problem.line, problem.column, problem.message) == (2, 3, "is no id of a job")


@pytest.mark.parametrize("id_", ["a", "A-b_1", "-", "_", "010", "on", "null", "CON", "x" * LONGEST_ID])
def test_any_other_id_is_fine(id_: str) -> None:
    assert not problems_of(f'jobs:\n  {id_}: {{schedule: "@daily", run: x}}\n')


def test_a_long_id_is_refused_because_it_names_a_directory() -> None:
    problem = only_problem(f'jobs:\n  {"x" * (LONGEST_ID + 1)}: {{schedule: "@daily", run: x}}\n')
    assert "101 characters" in problem.message


def test_ids_that_differ_by_case_alone_are_refused_because_they_name_directories() -> None:
    job = '{schedule: "@daily", run: x}'
    problem = only_problem(f"jobs:\n  build: {job}\n  Build: {job}\n")

    assert (problem.job, problem.line) == ("Build", 3)
    assert "differs from build in line 2" in problem.message


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("", None, "the file is empty"),
        ("# nothing\n", None, "the file is empty"),
        ("---\n", None, "must be a mapping of fields, not nothing"),
        ("[]", None, "must be a mapping of fields, not a list"),
        ("build", None, "must be a mapping of fields, not a text"),
        ("{}", "jobs", "is missing"),
        ("jobs:", "jobs", "must be a mapping of jobs by their ids, not nothing"),
        ("jobs: []", "jobs", "must be a mapping of jobs by their ids, not a list"),
        ("jobs: {}\nversion: 2", "version", "there is no such field"),
    ],
)
def test_a_file_without_jobs_is_refused_so_that_no_slip_removes_them_all(
    text: str, field: str | None, message: str
) -> None:
    problem = only_problem(text)

    assert (problem.job, problem.field, problem.message) == (None, field, message)
    assert problem.hint


@pytest.mark.parametrize(("value", "said"), [("", "nothing"), ("make", "a text"), ("[]", "a list")])
def test_a_job_is_a_mapping(value: str, said: str) -> None:
    problem = only_problem(f"jobs: {{a: {value}}}")
    assert (problem.job, problem.message) == ("a", f"must be a mapping of fields, not {said}")


def test_all_errors_are_told_at_once_in_the_order_of_lines_and_none_of_the_file_counts() -> None:
    text = SEED + (
        "  report:\n"
        "    timeout: 10\n"
        "    retry: {backoff: 0.5, jitter: 2, max: x}\n"
        "    run: 5\n"
        '    schedule: "0 24 * * *"\n'
        "    timezone: Mars\n"
        "  other: {run: x}\n"
    )
    with pytest.raises(ConfigInvalidError) as caught:
        read_config(text, source="repo", file="jobs/rollcron.yaml")

    found = [(problem.line, problem.job, problem.field) for problem in caught.value.problems]
    assert found == [
        (16, "report", "timeout"),
        (17, "report", "retry.backoff"),
        (17, "report", "retry.jitter"),
        (17, "report", "retry.max"),
        (18, "report", "run"),
        (19, "report", "schedule"),
        (20, "report", "timezone"),
        (21, "other", "schedule.cron"),
    ]
    assert str(caught.value) == (
        'jobs/rollcron.yaml:16:14: job report, timeout: "10" is no duration (and 7 more errors)'
    )
    assert caught.value.hint == "write 10s, 10m or 10h"
    assert caught.value.details["problems"][0]["line"] == 16


def test_one_error_is_told_without_a_count() -> None:
    with pytest.raises(ConfigInvalidError) as caught:
        read_config(with_field("timeout: 10"), source="repo")

    assert str(caught.value) == 'rollcron.yaml:5:14: job build, timeout: "10" is no duration'


def test_after_a_thousand_errors_reading_ends_and_says_so() -> None:
    found = problems_of("jobs:\n" + "".join(f"  a{n}: {{}}\n" for n in range(2000)))

    assert len(found) == MOST_PROBLEMS
    assert "the rest of the file was not looked at" in found[-1].message


def test_a_secret_in_the_environment_is_in_no_message() -> None:
    text = with_field('env: {TOKEN: "hunter2\\0"}\nenv_file: /x')
    assert len(problems_of(text)) == 2
    assert "hunter2" not in "".join(f"{problem} {problem.hint}" for problem in problems_of(text))
