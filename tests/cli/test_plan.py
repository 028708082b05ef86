"""`foliot plan`: two sides compared, in text, JSON and Markdown; and which exit code tells what."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest

from cli.calls import call
from cli.plan_scene import AFTER, BEFORE, NOON, Scene
from foliot.engine.change import Code
from sources.git.scene import git

pytestmark = pytest.mark.req("OWN-16")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


# -- revisions and files ---------------------------------------------------------------------------


def test_the_work_tree_is_compared_with_a_revision(scene: Scene) -> None:
    scene.write(AFTER)
    result = scene.plan("--base", "main", "--at", NOON)
    assert result.err == ""
    assert result.out == dedent(f"""\
        Plan for {scene.source}: main ({scene.first[:7]}) → working tree
        effective Mon 2026-11-16 12:00 Europe/Berlin, runs until Mon 2026-11-23 12:00

          ~ backup   schedule   30 1 * * *  →  0 23 * * *
                     env        KEY  →  KEY*
                     runs       7 → 7; each moves 2 h 30 min earlier
                     first      Mon 2026-11-16 23:00 (was: Tue 2026-11-17 01:30)
                     !          today has two runs: 01:30 (past) and 23:00 [twice-a-day]
          ~ import   timeout    30m  →  5m
                     runs       672 → 672; none moves
          + cleanup  runs       7 runs, first Mon 2026-11-16 12:30
          - legacy   runs       168 runs go; history stays 30 days
            1 job unchanged

        At the switch: 0 runs start at once, 0 are dropped, 0 skips recorded, 0 go on.
        Herd: busiest minute Tue 2026-11-17 04:00, 3 → 2 starts.
        Warnings: 1. Plan: 1 to add, 2 to change, 1 to remove.
        """)
    assert result.code == 0


def test_two_revisions_and_two_files_give_the_same(scene: Scene, tmp_path: Path) -> None:
    scene.commit(AFTER)
    files = [tmp_path / "before.yaml", tmp_path / "after.yaml"]
    for file, text in zip(files, (BEFORE, AFTER), strict=True):
        file.write_text(text)
    by_revision = scene.plan("--base", "HEAD~1", "--head", "HEAD", "--at", NOON, "-ojson").json()
    by_file = scene.plan("--base", str(files[0]), "--head", str(files[1]), "--at", NOON, "-ojson").json()
    assert by_revision["jobs"] == by_file["jobs"]
    assert by_revision["summary"]["jobs"]["changed"] == 2


def test_lines_are_no_longer_than_80_columns(scene: Scene) -> None:
    scene.write(
        AFTER.replace("./cleanup.sh", "./cleanup.sh " + "--with many words " * 20).replace("0 23", "30 2")
    )
    for words in ((), ("--job", "backup")):
        out = scene.plan("--base", "main", *words).out
        assert max(map(len, out.splitlines())) <= 80


def test_the_same_text_is_not_even_read(scene: Scene) -> None:
    scene.commit("jobs: [this is, no file\n")
    result = scene.plan("--base", "HEAD")
    assert (result.code, "no job changes" in result.out) == (0, True)


def test_files_that_differ_are_told_with_the_jobs_that_mention_them(scene: Scene) -> None:
    (scene.tree / "backup.sh").write_text("echo more")
    (scene.tree / "README").write_text("new")
    facts = scene.plan("--base", "main", "-ojson").json()
    (effect,) = facts["effects"]
    assert effect["code"] == "files-only"
    assert effect["text"] == "no run moves; 2 files differ; run of backup mentions them"


def test_a_base_without_the_file_declares_nothing(scene: Scene) -> None:
    git(scene.tree, "rm", "--quiet", "rollcron.yaml")
    git(scene.tree, "commit", "--quiet", "--message=gone")
    scene.write(BEFORE)
    assert scene.plan("--base", "HEAD", "-ojson").json()["summary"]["jobs"]["added"] == 4


def test_files_that_are_included_are_compared_at_their_revisions(scene: Scene) -> None:
    (scene.tree / "jobs").mkdir()
    inner = scene.tree / "jobs" / "more.yaml"
    inner.write_text('jobs:\n  inner: {schedule: "0 3 * * *", run: ./x, timezone: UTC}\n')
    scene.commit("include: [jobs/*.yaml]\n" + BEFORE)
    inner.write_text('jobs:\n  inner: {schedule: "0 4 * * *", run: ./x, timezone: UTC}\n')
    facts = scene.plan("--base", "HEAD", "-ojson").json()
    assert [(job["job"], job["runs"]["moved_by"]) for job in facts["jobs"]] == [("inner", 3600.0)]


def test_calendars_and_jobs_without_a_schedule_are_compared_by_their_runs(scene: Scene) -> None:
    job = '  a: {schedule: "0 3 * * *", run: x, timezone: UTC}\n'
    text = f"calendars: {{free: {{dates: [2026-11-18]}}}}\njobs:\n{job}"
    scene.commit(text)
    more = "  b: {after: a, run: y}\n"
    scene.write(text.replace("timezone: UTC", "timezone: UTC, except: free") + more)
    facts = scene.plan("--base", "HEAD", "--at", NOON, "-ojson").json()
    assert [(job["job"], job["runs"]["before"], job["runs"]["after"]) for job in facts["jobs"]] == [
        ("a", 7, 6),
        ("b", 0, 0),
    ]


def test_a_head_without_the_file_is_no_plan_to_remove_all(scene: Scene) -> None:
    git(scene.tree, "rm", "--quiet", "--cached", "rollcron.yaml")
    git(scene.tree, "commit", "--quiet", "--message=gone")
    result = scene.plan("--base", "HEAD~1", "--head", "HEAD")
    assert (result.code, "there is no rollcron.yaml at HEAD" in result.err) == (4, True)


def test_one_job_in_full(scene: Scene) -> None:
    scene.write(AFTER)
    out = scene.plan("--base", "main", "--job", "backup", "--at", NOON).out
    assert "Tue 2026-11-17 01:30  →  Mon 2026-11-16 23:00" in out
    assert "legacy" not in out
    assert scene.plan("--base", "main", "--job", "same").code == 4


# -- exit codes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "what", "code"),
    [
        (AFTER, "changes", 9),
        (AFTER, "warnings", 9),
        (AFTER, "removals", 9),
        (BEFORE, "changes", 0),
        (BEFORE.replace("./same.sh", "./other.sh"), "warnings", 0),
        (BEFORE.replace("./same.sh", "./other.sh"), "removals", 0),
        (BEFORE.replace("legacy", "renamed"), "removals", 9),
    ],
)
def test_what_to_fail_on(scene: Scene, after: str, what: str, code: int) -> None:
    scene.write(after)
    assert scene.plan("--base", "main", "--fail-on", what, "--at", NOON).code == code


def test_a_head_with_errors_tells_all_of_them(scene: Scene) -> None:
    scene.write('jobs:\n  a: {schedule: "61 * * * *", run: x}\n  b: {run: x}\n')
    result = scene.plan("--base", "main")
    assert result.code == 3
    assert "has 2 errors" in result.err
    assert scene.plan("--base", "main", "-ojson").json()["error"]["type"] == "ConfigInvalidError"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--base", "nowhere"), 4, "there is no revision 'nowhere'"),
        (("--base", "main", "--head", "nowhere"), 4, "there is no revision"),
        (("--store", "sqlite:////nowhere/at/all.db"), 6, "there is no file"),
        (("--base", "main", "--horizon", "1m"), 2, "between 1h and 400d"),
        (("--base", "main", "--state", "x.json"), 2, "give one"),
        (("--state", "x.json"), 4, "there is no"),
        (("--base", "main", "--local", "Moon/Base"), 3, "no such IANA time zone"),
    ],
)
def test_what_cannot_be_planned(scene: Scene, words: tuple[str, ...], code: int, said: str) -> None:
    result = scene.plan(*words)
    assert said in result.err
    assert result.code == code


def test_without_git_revisions_cannot_be_read(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = scene.plan("--base", "main")
    assert (result.code, "the git program does not start" in result.err) == (6, True)


# -- which source it is ----------------------------------------------------------------------------


def test_the_source_is_found_by_the_path(scene: Scene) -> None:
    scene.declare()
    scene.write(AFTER)
    facts = scene.against_store("-ojson").json()
    assert facts["source"] == scene.source
    assert facts["summary"]["jobs"] == {"added": 1, "changed": 2, "removed": 1, "renamed": 0, "unchanged": 1}
    assert facts["base"] == scene.first[:12]


def test_a_checkout_elsewhere_is_found_by_its_remote(scene: Scene, tmp_path: Path) -> None:
    scene.declare()
    git(tmp_path, "clone", "--quiet", str(scene.tree), "runner")
    (tmp_path / "runner" / "rollcron.yaml").write_text(AFTER)
    result = call("plan", str(tmp_path / "runner"), "--store", scene.url, "-ojson")
    assert result.json()["source"] == scene.source


def test_a_source_that_is_not_there_is_told_with_those_that_are(scene: Scene, tmp_path: Path) -> None:
    scene.declare()
    (tmp_path / "oops").mkdir()
    (tmp_path / "oops" / "rollcron.yaml").write_text(AFTER)
    result = call("plan", str(tmp_path / "oops"), "--store", scene.url)
    assert result.code == 4
    assert f"did you mean --source {scene.source}?" in result.err
    named = call("plan", str(tmp_path / "oops"), "--store", scene.url, "--source", scene.source)
    assert named.code == 0


# -- the zone of the daemon's host -----------------------------------------------------------------

LOCAL = 'jobs:\n  a: {schedule: "30 1 * * *", run: x}\n  b: {schedule: "0 5 * * *", run: y}\n'


def test_a_zone_that_nobody_wrote_is_that_of_the_store(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    scene.declare(LOCAL, "elsewhere")
    monkeypatch.setenv("TZ", "UTC")
    scene.write(LOCAL.replace("30 1", "30 2") + '  c: {schedule: "0 6 * * *", run: z}\n')
    facts = scene.against_store("-ojson").json()
    assert [(job["job"], job["timezone"]) for job in facts["jobs"]] == [
        ("a", "Asia/Tokyo"),
        ("c", "Asia/Tokyo"),
    ]
    assert facts["effects"] == []


def test_a_zone_that_is_guessed_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    scene.commit(LOCAL)
    scene.write(LOCAL.replace("30 1", "30 2"))
    (effect,) = scene.plan("--base", "HEAD", "-ojson").json()["effects"]
    assert (effect["code"], effect["severity"]) == ("zone-guessed", "warning")
    assert "a, b" in effect["text"]
    facts = scene.plan("--base", "HEAD", "--local", "Europe/Berlin", "-ojson").json()
    assert (facts["effects"], facts["timezone"]) == ([], "Europe/Berlin")


def test_a_job_that_loses_its_own_zone_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    scene.declare(LOCAL + '  c: {schedule: "0 6 * * *", run: z, timezone: Asia/Tokyo}\n', "elsewhere")
    scene.write(LOCAL + '  c: {schedule: "0 6 * * *", run: z}\n')
    facts = scene.against_store("-ojson").json()
    assert [effect["code"] for effect in facts["effects"]] == ["zone-guessed"]
    assert [job["fields"] for job in facts["jobs"]] == [
        [{"field": "timezone", "before": "Asia/Tokyo", "after": "Europe/Berlin"}]
    ]


# -- what the store knows --------------------------------------------------------------------------


def test_durations_of_the_past_are_looked_at(scene: Scene) -> None:
    scene.run_often("import", timedelta(minutes=11))
    scene.declare()
    scene.write(AFTER)
    facts = scene.against_store("-ojson").json()
    (job,) = (job for job in facts["jobs"] if job["job"] == "import")
    (told,) = (effect["text"] for effect in job["effects"] if effect["code"] == "timeout-short")
    assert told == "20 of its last 20 successful runs took longer than the new timeout (p95 11 min)"


def test_a_state_file_gives_the_same_plan_and_holds_no_value_of_a_variable(
    scene: Scene, tmp_path: Path
) -> None:
    scene.run_often("import", timedelta(minutes=11))
    scene.declare()
    exported = call("source", "export", scene.source, "--store", scene.url)
    assert exported.code == 0
    assert "hush" not in exported.out
    (tmp_path / "state.json").write_text(exported.out)
    scene.write(AFTER)
    at = ("--at", "2199-01-01T12:00Z", "-ojson")
    by_store, by_file = (
        scene.against_store(*at).json(),
        scene.plan("--state", str(tmp_path / "state.json"), *at).json(),
    )
    assert by_store["jobs"] == by_file["jobs"]
    assert by_store["switch"] == by_file["switch"]
    assert "env-changed" in {effect["code"] for job in by_file["jobs"] for effect in job["effects"]}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"export_version": 99}', "\x00", '{"export_version": 1, "jobs": [1]}']
)
def test_a_state_file_that_is_none_is_refused(scene: Scene, tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    result = scene.plan("--state", str(tmp_path / "state.json"))
    assert result.code == 1
    assert result.err.startswith("error: ")


def test_a_program_is_compared_with_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = """
from foliot import Foliot
app = Foliot("sqlite:///shop.db", name="shop")
@app.job("0 3 * * *")
def nightly(): ...
"""
    (tmp_path / "shop_of_plans.py").write_text(program)
    assert call("store", "migrate", "--store", "sqlite:///shop.db").code == 0
    result = call("plan", "--app", "shop_of_plans:app", "-ojson")
    assert result.json()["summary"]["jobs"]["added"] == 1
    assert [job["job"] for job in result.json()["jobs"]] == ["nightly"]


# -- JSON ------------------------------------------------------------------------------------------


def test_the_keys_of_the_document_are_stable(scene: Scene) -> None:
    scene.write(AFTER)
    facts = scene.plan("--base", "main", "-ojson").json()
    assert facts["plan_version"] == 1
    assert list(facts) == [
        "plan_version", "source", "base", "head", "at", "until", "timezone", "summary", "jobs", "switch",
        "herd", "effects", "warnings", "truncated",
    ]  # fmt: skip
    assert list(facts["jobs"][0]) == [
        "job", "change", "renamed_from", "timezone", "fields", "runs", "next_at", "first_difference",
        "sample", "effects", "findings",
    ]  # fmt: skip
    assert {effect["code"] for job in facts["jobs"] for effect in job["effects"]} <= {
        code.value for code in Code
    }
    assert "hush" not in json.dumps(facts)
