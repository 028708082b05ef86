"""What the entries of a Celery application become, and what is refused by name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from celery.beat import BeatLazyFunc
from celery.schedules import BaseSchedule, crontab, schedule, solar

from doors.celery_beat.beat_stage import carried, entry, make_app, refused
from foliot.doors.celery_beat.errors import BeatSettingError, EntriesRefusedError
from foliot.doors.celery_beat.translate import translate_all
from foliot.model.frozen import thaw
from foliot.model.policy import FirstSeen, Misfire, MisfireMode
from foliot.model.presets import BEAT
from foliot.schedules import Cron, Every


class Lunar(BaseSchedule):  # type: ignore[misc] # Celery has no types
    """A schedule class of a project's own."""


class Nightly(crontab):  # type: ignore[misc] # Celery has no types
    """One that inherits, and may ask something else in its is_due()."""


def sunset() -> Any:
    """A solar schedule as Celery has it; to make one properly, Celery wants ephem."""
    made = object.__new__(solar)
    made.event, made.nowfun, made._app = "sunset", None, None
    return made


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (crontab(), "* * * * *"),
        (crontab(minute=0, hour=4), "0 4 * * *"),
        (crontab(minute="*/15"), "*/15 * * * *"),
        (crontab(minute={0, 30}, hour=[8, 9, 10]), "0,30 8-10 * * *"),
        (crontab(0, "22-2"), "0 0-2,22,23 * * *"),
        (crontab(0, 9, day_of_week="fri-mon"), "0 9 * * 0,1,5,6"),
        (crontab(0, 9, day_of_month="1-7", day_of_week="monday"), "0 9 1-7 * 1"),
        (crontab(0, 0, month_of_year="*/3", day_of_month=1), "0 0 1 */3 *"),
    ],
)
def test_a_crontab_becomes_a_rule_of_the_dialect_celery(given: Any, expected: str) -> None:
    (translated,) = carried(make_app({"a": entry(given)}, timezone="Europe/Berlin")).values()

    assert translated.job.schedule == Cron(expected, timezone="Europe/Berlin", dialect="celery")
    assert translated.note == ""


@pytest.mark.parametrize("given", [300, 300.0, timedelta(minutes=5), schedule(300)])
def test_an_interval_becomes_a_grid_and_its_phase_is_noted(given: Any) -> None:
    (translated,) = carried(make_app({"a": entry(given)})).values()

    assert translated.job.schedule == Every("5m")
    assert "each multiple of 5m" in translated.note


def test_the_action_has_exactly_what_the_executor_reads() -> None:
    options = {
        "queue": "mail",
        "priority": 3,
        "expires": datetime(2030, 1, 1, tzinfo=UTC),
        "headers": {"a": 1},
    }
    app = make_app({"a": entry(60, args=(2, [3]), kwargs={"deep": {"x": (1,)}}, options=options)})

    action = carried(app)["a"].job.action

    assert action.kind == "celery"
    assert thaw(action.data) == {
        "task": "proj.tasks.add",
        "args": [2, [3]],
        "kwargs": {"deep": {"x": [1]}},
        "options": {
            "queue": "mail",
            "priority": 3,
            "expires": "2030-01-01T00:00:00+00:00",
            "headers": {"a": 1},
        },
    }


def test_jobs_behave_as_entries_of_celery_do() -> None:
    jobs = {name: one.job for name, one in carried(make_app({"a": entry(crontab()), "b": entry(60)})).items()}

    for job in jobs.values():
        assert job.policy.first_seen is FirstSeen.WAIT
        assert job.policy.misfire.mode is MisfireMode.ONCE
        assert (job.policy.overlap, job.policy.retry) == (BEAT.overlap, BEAT.retry)
        assert job.key == f"proj/{job.name}"


def test_a_deadline_of_crontabs_skips_what_is_later() -> None:
    app = make_app({"a": entry(crontab()), "b": entry(60)}, beat_cron_starting_deadline=90)

    jobs = {name: one.job for name, one in carried(app).items()}

    assert jobs["a"].policy.misfire == Misfire(mode=MisfireMode.SKIP, grace=timedelta(seconds=90))
    assert jobs["b"].policy.misfire.mode is MisfireMode.ONCE


@pytest.mark.parametrize("deadline", [-1, "60", True])
def test_a_deadline_that_is_no_number_of_seconds_is_refused(deadline: Any) -> None:
    with pytest.raises(BeatSettingError, match="beat_cron_starting_deadline is"):
        carried(make_app({"a": entry(crontab())}, beat_cron_starting_deadline=deadline))


def test_entries_that_modules_add_are_there() -> None:
    app = make_app()

    def add(sender: Any, **_: Any) -> None:
        sender.add_periodic_task(30.0, sender.signature("proj.tasks.ping", args=(1,)), name="ping")

    app.on_after_finalize.connect(add)

    assert carried(app)["ping"].job.schedule == Every("30s")


def test_the_entry_that_celery_adds_itself_is_there(tmp_path: Path) -> None:
    app = Celery("proj", broker="memory://", backend=f"file://{tmp_path}", set_as_current=False)

    translated, refusals = translate_all(app, "proj")

    assert refusals == []
    assert [(one.entry.name, str(one.job.schedule)) for one in translated] == [
        ("celery.backend_cleanup", "0 4 * * *")
    ]
    assert thaw(translated[0].job.action.data)["options"] == {"expires": 43200}


def test_an_entry_of_that_name_is_the_users_own(tmp_path: Path) -> None:
    app = Celery("proj", broker="memory://", backend=f"file://{tmp_path}", set_as_current=False)
    app.conf.beat_schedule = {"celery.backend_cleanup": entry(crontab(0, 5), "celery.backend_cleanup")}

    assert str(carried(app)["celery.backend_cleanup"].job.schedule) == "0 5 * * *"


@pytest.mark.parametrize(
    ("given", "reason", "hint"),
    [
        (entry(sunset()), "solar('sunset') is not supported", "there are no schedules by the sun yet"),
        (entry(Lunar()), "its schedule is of the class doors.celery_beat.test_", "write a crontab"),
        (entry(Nightly()), "its schedule is of the class", "write a crontab"),
        (entry(0.5), "an interval of 0.5 s is no whole number", "write 1.0"),
        (entry(7.5), "an interval of 7.5 s is no whole number", "write 8.0"),
        (entry(0), "an interval of 0 s", "write 1.0"),
        (entry(None), "it has no schedule", "such as crontab"),
        ({"task": "a"}, "it has no schedule", "such as crontab"),
        ({"task": "a", "schedul": 5}, "Celery cannot read it", "it needs task and schedule"),
        (entry(5, None), "its task None is no name of a task", "proj.tasks.add"),
        (entry(5, args=5), "args is of the type int", "a single argument is (5,)"),
        (entry(5, args=[b"x"]), "args[0] is of the type bytes, which is no JSON", "let the task read it"),
        (entry(5, args=[datetime(2026, 1, 1)]), "args[0] is of the type datetime", "isoformat()"),
        (entry(5, args=[float("nan")]), "args[0] is of the type float", "let the task read it"),
        (entry(5, kwargs={"a": {1: 2}}), "kwargs['a'] is not the same after JSON", "keys of an object"),
        (entry(5, kwargs={"f": BeatLazyFunc(list)}), "kwargs['f'] is a BeatLazyFunc", "let the task itself"),
        (entry(5, kwargs={3: 4}), "kwargs has the key 3, which is no text", ""),
        (entry(5, options={"link": object()}), "options['link'] is of the type object", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_over_is_refused_by_name(given: Any, reason: str, hint: str) -> None:
    found = refused(make_app({"good": entry(60), "bad one": given}))

    assert list(found) == ["bad one"]
    assert found["bad one"].message.startswith(f"entry bad one: {reason}")
    assert hint in (found["bad one"].hint or "")


@pytest.mark.parametrize("name", ["a\nb", "x" * 201, ""])
def test_a_name_that_no_job_can_have_is_refused(name: str) -> None:
    assert list(refused(make_app({name: entry(60)}))) == [name]


def test_all_that_is_refused_is_told_at_once_with_what_to_write() -> None:
    error = EntriesRefusedError(list(refused(make_app({"a": entry(0.5), "b": entry(None)})).values()))

    assert "2 entries cannot be carried over" in error.message
    assert "entry a: an interval of 0.5 s" in error.message
    assert "(such as crontab(minute=0), or 300.0)" in error.message
    assert "foliot_skip_refused" in (error.hint or "")


def test_a_schedule_that_is_no_mapping_is_refused() -> None:
    app = make_app()
    app.conf.beat_schedule = ["a"]

    with pytest.raises(BeatSettingError, match="beat_schedule must be a mapping"):
        translate_all(app, "proj")
