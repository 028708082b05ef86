"""What YAML allows and a rollcron.yaml does not; and that no file costs much."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from doors.rollcron.files import SEED, jobs_of, only_problem, problems_of, with_field
from doors.rollcron.test_refusals import WRONG_VALUES
from foliot.doors.rollcron import yaml_tree
from foliot.doors.rollcron.yaml_tree import DEEPEST, LARGEST_FILE, MOST_NODES, Scalar

JOB = '{schedule: "@daily", run: x}'
# From FAULTS: nine times nine times nine … texts.
BOMB = "jobs: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "where", "message", "hint"),
    [
        # aliases, anchors, tags, directives, documents, keys
        ("jobs: &all {}", (None, "jobs", 1, 7), "the anchor &all is not read", "begins with & needs quotes"),
        ("jobs:\n  a: *b", ("a", None, 2, 6), "the alias *b is not read", 'quotes: "*b"'),
        (with_field("name: *b"), ("build", "name", 5, 11), "the alias *b is not read", 'quotes: "*b"'),
        (with_field("name: &b x"), ("build", "name", 5, 11), "the anchor &b is not read", "remove it"),
        (with_field("env: {A: *b}"), ("build", "env.A", 5, 14), "the alias *b is not", "write the value"),
        (with_field("name: !x y"), ("build", "name", 5, 11), "the tag !x is not read", "needs quotes"),
        (with_field("name: ! y"), ("build", "name", 5, 11), "the tag ! is not read", "remove it"),
        (with_field("name: !!str 5"), ("build", "name", 5, 11), "tag:yaml.org,2002:str is not", "remove it"),
        (with_field("name: !!python/object/apply:os.system [x]"), ("build", "name", 5, 11),
         "the tag tag:yaml.org,2002:python/object/apply:os.system is not read", "remove it"),
        (f"%YAML 1.1\n---\n{SEED}", (None, None, 1, 1), "directives are not read", "begin with %"),
        (f"%TAG !e! tag:e,2000:\n---\n{SEED}", (None, None, 1, 1), "directives are not read", "begin with %"),
        (f"{SEED}---\n{SEED}", (None, None, 15, 1), "a second document begins here", "into one"),
        (with_field("? [a]\n: b"), ("build", None, 5, 7), "a key must be a text", "and a colon"),
        (with_field("? {a: b}\n: c"), ("build", None, 5, 7), "a key must be a text", "and a colon"),
        # keys that stand twice
        (f"jobs:\n  a: {JOB}\n  b: {JOB}\n  a: {JOB}\n", ("a", None, 4, 3), "in line 2", "keep one"),
        (f'jobs:\n  1: {JOB}\n  "1": {JOB}\n', ("1", None, 3, 3), "stands here and in line 2", "one"),
        (with_field("run: x"), ("build", "run", 5, 5), "stands here and in line 4", "keep one"),
        (with_field("env:\n  A: x\n  A: x"), ("build", "env.A", 7, 7), "stands here and in line 6", "one"),
        (f"jobs: {{a: {JOB}}}\njobs: {{}}", (None, "jobs", 2, 1), "stands here and in line 1", "keep one"),
        # characters
        ("jobs: {}\n# \x07", (None, None, 2, 3), "the character \\x07 has no place here", "escape"),
        ("jobs: {}\r\n#\u2028", (None, None, 2, 2), "the character \\u2028 has no place here", "escape"),
        ("jobs: {}\r#\x85", (None, None, 2, 2), "the character \\x85 has no place here", "escape"),
        ("jobs: {} \ud800", (None, None, 1, 10), "the character \\ud800 has no place here", "escape"),
        (b"jobs: {}\n#\xc3\xa4\xff", (None, None, 2, 3), "the file is not UTF-8 from here on", "save it"),
        ("jobs: {}".encode("utf-16"), (None, None, 1, 1), "the file is not UTF-8 from here on", "save it"),
        # size and depth
        ("[" * 100_000, (None, None, 1, DEEPEST + 1), "nested more than 32 levels deep", None),
        ("- " * 100_000, (None, None, 1, 2 * DEEPEST + 1), "nested more than 32 levels deep", None),
        ("{a: " * 100_000, (None, None, 1, 4 * DEEPEST + 1), "nested more than 32 levels deep", None),
        (f"jobs: [{'a,' * 400_000}]", (None, None, 1, 2 * MOST_NODES + 2), "more than 150,000 values", None),
        ("#" * (LARGEST_FILE + 1), (None, None, 1, 1), "larger than 1,000,000 bytes", "scripts"),
        (b"#" * (LARGEST_FILE + 1), (None, None, 1, 1), "larger than 1,000,000 bytes", "scripts"),
        ("ä" * (LARGEST_FILE // 2 + 1), (None, None, 1, 1), "larger than 1,000,000 bytes", "scripts"),
    ],
)  # fmt: skip
def test_what_yaml_has_and_a_list_of_jobs_does_not_need_is_refused(
    text: bytes | str, where: tuple[str | None, str | None, int, int], message: str, hint: str | None
) -> None:
    problem = problems_of(text)[-1]

    assert (problem.job, problem.field, problem.line, problem.column) == where
    assert message in problem.message
    assert problem.hint is None if hint is None else hint in (problem.hint or "")


@pytest.mark.parametrize(
    ("text", "field", "place", "hint"),
    [
        ("schedule: * * * * *", "schedule", (3, 15), 'begins with * needs quotes: "*/5 * * * *"'),
        ("schedule: */5 * * * *", "schedule", (3, 15), 'begins with * needs quotes: "*/5 * * * *"'),
        ("schedule: {cron: */5 * * * *}", "schedule.cron", (3, 22), "begins with * needs quotes"),
        ("schedule: @daily", "schedule", (3, 15), "begins with @ needs quotes"),
        ("run: `date`", "run", (3, 10), "begins with ` needs quotes"),
        ("run: %x", "run", (3, 10), "needs quotes"),
        ("run: echo a: b", None, (3, 16), "a colon and a space in it needs quotes"),
        ('run: "a" b', None, (3, 14), "check the indentation and the quotes"),
        ('run: "a', "run", (3, 10), "a quote is opened here and never closed"),
        ("run: 'it's'", None, (3, 14), "check the indentation and the quotes"),
        ('run: "\\d"', "run", (3, 10), "a backslash begins an escape"),
        ("run: [a", "run", (4, 1), "check the indentation and the quotes"),
        ("\trun: a", None, (3, 5), "indent with spaces, not with tabs"),
        ("run: a\n   schedule: b", "jobs", (4, 4), "check the indentation"),
    ],
)
def test_a_syntax_error_says_what_the_author_may_have_meant(
    text: str, field: str | None, place: tuple[int, int], hint: str
) -> None:
    problem = only_problem(f"jobs:\n  a:\n    {text}\n")

    assert problem.message.startswith("not valid YAML: ")
    assert (problem.line, problem.column) == place
    assert problem.field == field
    assert hint in (problem.hint or "")


def test_the_errors_before_a_syntax_error_are_told_with_it() -> None:
    found = problems_of("jobs:\n  a: {run: x}\n  b: {run: 5}\n  c:\n    run: x\n   schedule: y\n")

    assert [(problem.line, problem.job, problem.field) for problem in found] == [
        (2, "a", "schedule.cron"),
        (3, "b", "schedule.cron"),
        (3, "b", "run"),
        (6, None, "jobs"),
    ]


def test_nothing_is_said_of_what_a_syntax_error_hides() -> None:
    assert [problem.line for problem in problems_of("jobs:\n  a:\n    run: x\n  @b: {}\n")] == [4]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((word, "text") for word in ("on", "off", "yes", "no", "y", "n", "On", "NO", "tRUE", "nULL")),
        *(
            (word, "text")
            for word in ("12:30", "12:30:45", "1_000", "0b11", "2026-11-15", "=", "<<", "1.2.3")
        ),
        *((word, "text") for word in ("0x", "0o8", "+0x1", "1e", ".", "-", "+.nan", "e3", "٣")),
        *(
            (word, "number")
            for word in ("0", "10", "010", "-3", "+3", "0o17", "0xfF", "1.5", ".5", "5.", "1e3")
        ),
        *((word, "number") for word in (".inf", "-.INF", "+.Inf", ".nan", ".NaN", "-1.5E-3")),
        *((word, "boolean") for word in ("true", "True", "TRUE", "false", "False", "FALSE")),
        *((word, "nothing") for word in ("", "~", "null", "Null", "NULL")),
    ],
)
def test_plain_scalars_are_what_the_core_schema_of_yaml_1_2_says(text: str, kind: str) -> None:
    assert Scalar(1, 1, text, is_plain=True).kind == kind
    assert Scalar(1, 1, text, is_plain=False).kind == "text"


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All events that were taken from the library."""
    events: list[Any] = []
    library = yaml_tree._events

    def counted(text: str) -> Iterator[Any]:
        for event in library(text):
            events.append(event)
            yield event

    monkeypatch.setattr(yaml_tree, "_events", counted)
    return events


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (BOMB, 250),  # a bomb costs what is written, not what it would become
        ("[" * 900_000, DEEPEST + 10),
        ("{a: " * 200_000, 2 * DEEPEST + 10),
        ("? " * 400_000, DEEPEST + 10),
        (f"jobs: [{'a,' * 490_000}]", MOST_NODES + 10),
        (f"jobs: [{'*a,' * 300_000}]", 1010),
        ("jobs:\n" + " a: {}\n" * 140_000, 3100),
        ("---\n" * 200_000, 10),
    ],
    ids=["bomb", "lists", "mappings", "keys", "values", "aliases", "duplicates", "documents"],
)
def test_no_more_is_read_than_the_bounds_allow(taken: list[Any], text: str, most: int) -> None:
    assert problems_of(text)
    assert len(taken) <= most


_MEASURE = """
import sys
from pathlib import Path
from foliot.doors.rollcron import read_config
from foliot.errors import ConfigInvalidError
try:
    print(len(read_config(sys.stdin.read(), source="repo")))
except ConfigInvalidError as error:
    print(len(error.problems))
status = Path("/proc/self/status").read_text()
print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)  # ru_maxrss would count the parent
"""


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("jobs: {" + "".join(f'{n:x}: {{schedule: "@daily", run: x}},' for n in range(24_000)) + "}", 24_000),
        ("jobs:\n a:\n" + "".join(f"  k{n:x}: 1\n" for n in range(70_000)), 1000),
    ],
    ids=["as many jobs as fit", "as many errors as fit"],
)
def test_the_largest_files_need_less_than_100_megabytes(text: str, count: int) -> None:
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _MEASURE], input=text, capture_output=True, text=True, check=True
    )
    found, megabytes = map(int, done.stdout.split())

    assert found == count
    assert megabytes < 100


def test_a_hundred_thousand_jobs_are_refused_by_their_size() -> None:
    text = "jobs:\n" + "".join(f" a{n}: {JOB}\n" for n in range(100_000))
    assert "larger than" in only_problem(text).message


@pytest.mark.parametrize("lines", ["name: x", *(row[0] for row in WRONG_VALUES), "name: *b", "name: !x y"])
def test_without_libyaml_the_same_is_said(monkeypatch: pytest.MonkeyPatch, lines: str) -> None:
    expected = problems_of(with_field(lines))
    monkeypatch.setattr(yaml_tree, "_LOADER", yaml.SafeLoader)
    found = problems_of(with_field(lines))

    assert [problem._replace(column=0) for problem in found] == [
        problem._replace(column=0)
        for problem in expected  # the two disagree where nothing stands
    ]


def test_without_libyaml_half_a_character_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_tree, "_LOADER", yaml.SafeLoader)

    assert jobs_of(SEED)
    assert only_problem(with_field('name: "\\ud800"')).message == "has half a character in it"
