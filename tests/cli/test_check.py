"""`foliot check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.calls import Result, call, command, on_a_terminal, run

GOOD = """\
jobs:
  build:
    name: Build Project
    schedule: {cron: "0 * * * *", timezone: UTC}
    run: |
      make
      make install
    timeout: 5m
    concurrency: wait
  report:
    description: For the shop.
    schedule: "30 2 * * *"
    timezone: Europe/Berlin
    run: ./report
    retry: {max: 3, delay: 30s}
    misfire: {mode: all, limit: 5}
  old:
    schedule: {cron: "@daily", timezone: UTC}
    run: "true"
    enabled: false
    misfire: once
"""
BAD = """\
jobs:
  build:
    schedule: {cron: "0 24 * * *"}
    run: true
    timeout: 5m
"""
NO_TIMEOUT = (
    "warning: no timeout is said, so a run is ended after 10s: "
    "write timeout: 10m, or timeout: none for no limit"
)
START = ("--from", "2026-03-27")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(folder: Path, text: str | bytes, name: str = "rollcron.yaml") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def test_shows_each_job_with_its_next_runs_and_what_may_surprise(repository: Path) -> None:
    put(repository, GOOD)
    result = call("check", "-n", "2", *START)

    assert result == Result(0, result.out, "")
    assert result.out == (
        "ok: rollcron.yaml has 3 jobs\n"
        "\n"
        "job       build\n"
        "name      Build Project\n"
        "schedule  0 * * * *\n"
        "meaning   every hour, UTC\n"
        "zone      UTC\n"
        "command   make …\n"
        "policy    timeout 5m, concurrency wait\n"
        "next      Fri 2026-03-27 01:00 +00:00 (in 1 h)\n"
        "          Fri 2026-03-27 02:00 +00:00 (in 2 h)\n"
        "\n"
        "job       report\n"
        "about     For the shop.\n"
        "schedule  30 2 * * *\n"
        "meaning   at 02:30 every day, Berlin time\n"
        "zone      Europe/Berlin\n"
        "command   ./report\n"
        "policy    timeout 10s, concurrency skip, retry up to 3x after 30s, misfire all up to 5\n"
        "next      Fri 2026-03-27 02:30 +01:00 (in 2 h 30 min)\n"
        "          Sat 2026-03-28 02:30 +01:00 (in 1 d 2 h)\n"
        "warning: 02:30 on 29 March 2026 does not exist in Berlin (the clocks go forward at 02:00): "
        "it will not run that day; 5 such times in the next 5 years\n"
        "warning: 02:30 comes twice on 25 October 2026 in Berlin (the clocks go back at 03:00): "
        "it will run twice; 5 such times in the next 5 years\n"
        f"{NO_TIMEOUT}\n"
        "\n"
        "job       old\n"
        "state     disabled: it does not run by its schedule\n"
        "schedule  @daily\n"
        "meaning   at 00:00 every day, UTC\n"
        "zone      UTC\n"
        "command   true\n"
        "policy    timeout 10s, concurrency skip, misfire once\n"
        f"{NO_TIMEOUT}\n"
    )


def test_a_time_without_an_offset_is_in_each_jobs_zone(repository: Path) -> None:
    put(repository, GOOD)
    jobs = call("check", "-n", "1", "--from", "2026-06-01T02:29", "-o", "json").json()["jobs"]

    assert [job["occurrences"][0]["in_seconds"] for job in jobs[:2]] == [31 * 60, 60]


def test_jobs_that_share_a_rule_are_warned_of_each(repository: Path) -> None:
    job = '{run: x, schedule: "30 2 * * *", timezone: Europe/Berlin}'
    put(repository, f"jobs: {{a: {job}, b: {job}}}")
    jobs = call("check", *START, "-o", "json").json()["jobs"]

    assert [job["job"] for job in jobs] == ["a", "b"]
    assert jobs[0]["findings"] == jobs[1]["findings"] != []


def test_errors_are_shown_with_their_lines_and_what_would_be_right(repository: Path) -> None:
    put(repository, BAD + "  two words: {}\n")

    assert call("check") == Result(
        3,
        "",
        'error: rollcron.yaml:3:25: job build, schedule.cron: Invalid cron expression "0 24 * * *": '
        "hour field value 24 out of range (0-23)\n"
        '      schedule: {cron: "0 24 * * *"}\n'
        "                          ^\n"
        "hint: use 0 for midnight\n"
        "\n"
        "error: rollcron.yaml:4:10: job build, run: must be a text, not true or false\n"
        "      run: true\n"
        "           ^\n"
        'hint: put it in quotes: "true"\n'
        "\n"
        "error: rollcron.yaml:6:3: job two words: is no id of a job\n"
        "    two words: {}\n"
        "    ^\n"
        "hint: an id has letters, digits, _ and - only\n"
        "\n"
        "error: rollcron.yaml:6:3: job two words, schedule.cron: is missing\n"
        "    two words: {}\n"
        "    ^\n"
        'hint: write schedule: {cron: "0 2 * * *"}\n'
        "\n"
        "error: rollcron.yaml:6:3: job two words, run: is missing\n"
        "    two words: {}\n"
        "    ^\n"
        "hint: write run: and the command\n"
        "\n"
        "rollcron.yaml has 5 errors\n",
    )


def test_an_error_without_a_line_of_its_own_has_no_caret(repository: Path) -> None:
    put(repository, "")
    assert call("check").err == (
        "error: rollcron.yaml:1:1: the file is empty\n"
        "hint: write jobs: and the jobs under it\n"
        "\n"
        "rollcron.yaml has 1 error\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe",
        b"# \x1b[31m\njobs: {}",
        b"jobs:\n  " + b"a" * 500 + b": *b\n",
        "jobs:\n  日本: {run: x, schedule: y}\n".encode(),
        b"jobs: [" * 40,
        b"#" * 2_000_000,
        b"jobs: {a: {run: [",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_whatever_a_file_holds_the_answer_is_short_printable_and_invalid(
    repository: Path, text: bytes, encoding: str
) -> None:
    put(repository, text)
    result = call("check", encoding=encoding)

    assert (result.code, result.out) == (3, "")
    assert all(line.isprintable() and len(line) < 400 for line in result.err.splitlines())


def test_errors_in_json(repository: Path) -> None:
    put(repository, BAD)
    result = call("check", "-o", "json")

    assert (result.code, result.err) == (3, "")
    error = result.json()["error"]
    assert error["type"] == "ConfigInvalidError"
    assert error["details"]["file"] == "rollcron.yaml"
    assert error["details"]["problems"][1] == {
        "file": "rollcron.yaml",
        "line": 4,
        "column": 10,
        "job": "build",
        "field": "run",
        "message": "must be a text, not true or false",
        "hint": 'put it in quotes: "true"',
    }


def test_jobs_in_json(repository: Path) -> None:
    put(repository, GOOD)
    facts = call("check", "-n", "1", *START, "-o", "json").json()

    assert (facts["ok"], facts["file"]) == (True, "rollcron.yaml")
    build, report, old = facts["jobs"]
    assert build == {
        "job": "build",
        "name": "Build Project",
        "description": None,
        "enabled": True,
        "schedule": "0 * * * *",
        "timezone": "UTC",
        "explanation": "every hour, UTC",
        "run": "make\nmake install\n",
        "timeout": "5m",
        "concurrency": "wait",
        "occurrences": [
            {
                "at": "2026-03-27T01:00:00+00:00",
                "utc": "2026-03-27T01:00:00+00:00",
                "in_seconds": 3600.0,
                "second_pass": False,
            }
        ],
        "findings": [],
    }
    assert [finding["code"] for finding in report["findings"]] == [
        "dst-gap",
        "dst-overlap",
        "default-timeout",
    ]
    assert not old["enabled"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (GOOD, 9),
        ("jobs: {a: {run: x, schedule: {cron: '0 9 * * *', timezone: UTC}}}", 9),
        ("jobs: {a: {run: x, timeout: none, schedule: {cron: '0 9 * * *', timezone: UTC}}}", 0),
        ("{defaults: {timeout: 1m}, jobs: {a: {run: x, schedule: '0 9 * * *', timezone: UTC}}}", 0),
        (
            "jobs: {a: {run: x, timeout: 1m, schedule: {cron: '*/7 * * * *', timezone: UTC}}}",
            0,
        ),  # a note is no warning
        ("jobs: {}", 9),
        (BAD, 3),
    ],
)
def test_strict_turns_a_warning_into_findings(repository: Path, text: str, code: int) -> None:
    put(repository, text)

    assert call("check", "--strict", *START).code == code
    assert call("check", *START).code == (0 if code == 9 else code)


def test_a_file_without_jobs_is_warned_of(repository: Path) -> None:
    put(repository, "jobs: {}")
    assert call("check").out == (
        "ok: rollcron.yaml has 0 jobs\n"
        "warning: the file declares no job: nodes that follow this repository will run nothing\n"
    )


def test_a_path_is_the_file_or_its_directory(repository: Path) -> None:
    (repository / "jobs").mkdir()
    put(repository / "jobs", GOOD)
    put(repository, BAD, "other.yaml")

    assert call("check", "jobs").out.startswith("ok: jobs/rollcron.yaml has 3 jobs\n")
    assert call("check", "jobs/rollcron.yaml").code == call("check", str(repository / "jobs")).code == 0
    assert call("check", "other.yaml").code == 3


@pytest.mark.parametrize("path", [".", "nowhere", "nowhere/rollcron.yaml"])
def test_no_file_is_not_found(repository: Path, path: str) -> None:
    assert repository.is_dir()
    result = call("check", path)

    assert (result.code, result.out) == (4, "")
    name = "rollcron.yaml" if path == "." else path
    assert result.err == (
        f"error: there is no {name}\nhint: give the directory that has a rollcron.yaml, or the file\n"
    )
    assert call("check", path, "-o", "json").json()["error"]["type"] == "ConfigNotFoundError"


def test_a_loop_of_links_is_an_error(repository: Path) -> None:
    (repository / "rollcron.yaml").symlink_to("rollcron.yaml")
    result = call("check")

    assert result.code == 1
    assert result.err.startswith("error: rollcron.yaml cannot be read: ")


def test_a_process_of_its_own_says_the_same(repository: Path) -> None:
    put(repository, BAD)

    assert run(command("foliot", "check")) == call("check")


@pytest.mark.parametrize("text", [GOOD, BAD, "jobs: {a: {run: " + "x " * 200 + "}}"])
def test_on_a_terminal_no_line_is_wider_than_80_columns(repository: Path, text: str) -> None:
    put(repository, text)
    with on_a_terminal(command("foliot", "check", *START), 80) as screen:
        screen.read_to_end()

    assert "\x1b[" in screen.written
    assert max(map(len, screen.lines)) <= 80


def test_no_color_means_none(repository: Path) -> None:
    put(repository, BAD)
    with on_a_terminal(command("foliot", "check"), 80, NO_COLOR="1") as screen:
        assert screen.read_to_end() == 3

    assert "\x1b[" not in screen.written


def test_help_has_examples_and_exit_codes_in_80_columns() -> None:
    result = call("check", "--help")

    assert result.code == 0
    assert result.out.startswith("Usage: foliot check [OPTIONS] [PATH]\n")
    for word in (
        "Examples:",
        "3  the file has errors",
        "4  there is no such file",
        "9  a warning, with --strict",
    ):
        assert word in result.out
    assert max(map(len, result.out.splitlines())) <= 80


@pytest.mark.parametrize("words", [("-n", "0"), ("-n", "101"), ("--from", "soon"), ("a", "b")])
def test_wrong_usage(words: tuple[str, ...]) -> None:
    assert call("check", *words).code == 2


def test_what_a_job_names_and_is_not_there_is_a_warning(tmp_path: Path) -> None:
    lines = ['jobs: {a: {schedule: "@daily", run: x, timeout: 1m, env_file: .env, working_dir: sub}}']
    (tmp_path / "rollcron.yaml").write_text("\n".join(lines))
    missing = call("check", str(tmp_path), "--strict")
    assert missing.code == 9
    assert "warning: env_file .env is not there: the job will fail to start" in missing.out
    assert "warning: working_dir sub is not there" in missing.out
    (tmp_path / ".env").touch()
    (tmp_path / "sub").mkdir()
    assert call("check", str(tmp_path), "--strict").code == 0


def test_a_list_is_shown_as_a_shell_would_read_it(repository: Path) -> None:
    put(repository, 'jobs: {a: {schedule: "@daily", run: [printf, "a b"], timeout: none}}')

    assert "command   printf 'a b'\npolicy    timeout none, concurrency skip\n" in call("check").out
    (job,) = call("check", "-o", "json").json()["jobs"]
    assert (job["run"], job["timeout"], job["findings"]) == (["printf", "a b"], None, [])


def test_the_schema_is_json() -> None:
    facts = call("schema").json()
    assert facts["properties"]["jobs"]["additionalProperties"]["required"] == ["run"]
