"""What cannot be right is refused where it is written, and nothing is changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.scene import NEVER, play
from foliot import Event, Every, Foliot
from foliot.clock import SystemClock
from foliot.errors import (
    AppStateError,
    CommandRefusedError,
    FoliotError,
    InvalidJobError,
    InvalidPolicyError,
    InvalidStoreError,
)
from foliot.executors.python import JobRun
from foliot.model.job import Action

# -- what cannot be right --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("store", "reason"),
    [
        ("jobs.db", "has no scheme"),
        ("mysql://u:secret@h/db", "unknown scheme 'mysql'"),
        ("mongodb://u:secret@h/db.jobs", "a database is named by"),
        ("mongodb://u:secret@h/db?prefix=a b", "a prefix is made of"),
        ("mongodb://u:secret@h/db?w=1", "w must be majority"),
        ("mongodb://u:secret@h/db?readPreference=secondary", "readPreference must be primary"),
        ("mongodb://u:secret@h/db?journal=false", "journal must be true"),
        ("mongodb://u:secret@h/db?timeoutMS=100", "timeoutMS is set by the store itself"),
        ("mongodb://u:se@cret@h/db", "cannot be read"),
        ("mongodb://u:se%zzcret@h/db", "cannot be read"),
        ("redis://u:secret@h/db", "cannot be read"),
        ("redis://u:secret@h?namespace=a b", "a namespace is named by"),
        ("redis://u:secret@h?retry=1", "unknown option 'retry'"),
        ("postgresql://u:secret@h/db?schema=No", "a schema is named by"),
        ("postgresql://u:se%zzcret@h/db", "cannot be read"),
        ("sqlite://", "names no file"),
        ("postgresql://u:[secret@h/db", "cannot be read"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite://host/path", "names no file"),
    ],
)
def test_a_store_that_cannot_be_is_refused_at_once_and_keeps_its_secret(store: str, reason: str) -> None:
    with pytest.raises(InvalidStoreError, match=reason) as caught:
        Foliot(store)
    assert "secret" not in str(caught.value) + str(caught.value.details)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"overlap": "sometimes"}, "overlap"),
        ({"misfire": "ignore"}, "misfire"),
        ({"timeout": "-1s"}, "duration"),
        ({"timeout": 5}, "timeout"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_options_that_cannot_be_are_refused_where_they_are_written(options: Any, what: str) -> None:
    app = Foliot("memory://")
    with pytest.raises((InvalidPolicyError, ValueError), match=what):
        app.job("@hourly", name="x", **options)(lambda: None)


WRONG_OPTIONS: list[tuple[str, Any, str]] = [
    ("retry", 5, "Retry(max=5)"),
    ("keep", 5, "Keep(last=5)"),
    ("overlap", 5, "parallel(5)"),
    ("misfire", 5, "one of: skip, once, all"),
    ("on_lost", 5, "one of: restart, give_up"),
    ("on_change", True, "one of: now, last"),
    ("first_seen", None, "one of: wait"),
    ("enabled", "no", "True or False"),
    ("auto_remove", 1, "True or False"),
    ("before_first_run", "yes", "True or False"),
    ("timeout", True, '"30s"'),
    ("timeout", "soon", '"30s"'),
    ("grace", 5, '"30s"'),
    ("queue", 5, "printable text"),
    ("repeat_until", "tomorrow", "datetime"),
    ("retries", 3, "did you mean retry?"),
    ("overlaps", "skip", "did you mean overlap?"),
    ("tz", "UTC", "did you mean timezone?"),
    ("max_instances", 3, "did you mean overlap=parallel"),
    ("colour", "red", "one of: queue, group"),
]


@pytest.mark.parametrize(("option", "value", "right"), WRONG_OPTIONS)
@pytest.mark.parametrize("name", ["nightly", None])
def test_a_wrong_option_is_refused_by_the_names_of_job_and_option(
    option: str, value: Any, right: str, name: str | None
) -> None:
    app = Foliot("memory://")

    def work() -> None: ...

    with pytest.raises(InvalidJobError, match=rf"^job {name or 'work'}: .*{option}") as caught:
        app.job("@hourly", name=name, **{option: value})(work)
    assert right in f"{caught.value} {caught.value.hint}"
    assert caught.value.details["job"] == (name or "work")

    async def scene() -> None:
        app.action(work)
        with pytest.raises(InvalidJobError, match=rf"^job x: .*{option}"):
            await app.schedule("x", NEVER, work, **{option: value})
        assert await app.jobs() == []

    play(scene)
    app.close()


ODD: list[Any] = [5, True, 2.5, b"x", [], "", "\ud800", "a\0b", "x" * 1000, object(), 10**5000]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_odd_values_give_errors_of_ours_wherever_they_stand(app: Foliot, odd: Any) -> None:
    app.action(lambda **_: None, name="work")

    async def scene() -> None:
        await app.schedule("there", NEVER, "work")
        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "name": lambda: app.schedule(odd, NEVER, "work"),
            "schedule": lambda: app.schedule("x", odd, "work"),
            "action": lambda: app.schedule("x", NEVER, odd),
            "payload": lambda: app.schedule("x", NEVER, "work", payload=odd),
            "payload key": lambda: app.schedule("x", NEVER, "work", payload={_hashable(odd): {1, 2}}),
            "timezone": lambda: app.schedule("x", "@daily", "work", timezone=odd),
            "many": lambda: app.schedule_many([odd]),
            "trigger": lambda: app.trigger(odd),
            "request": lambda: app.trigger("there", request=odd),
            "pause": lambda: app.pause(odd),
            "cancel": lambda: app.cancel(odd),
            "unschedule": lambda: app.unschedule(odd),
            "history": lambda: app.history(odd),
            "log": lambda: app.log(odd),
            "why": lambda: app.why(odd),
            "at": lambda: app.why("there", odd),
        }
        for call in calls.values():
            with pytest.raises(FoliotError):
                await call()
        if odd != 5:
            with pytest.raises(FoliotError):
                await app.history(limit=odd)
        assert [status.name for status in await app.jobs()] == ["there"]

    play(scene)


def _hashable(odd: Any) -> Any:
    return "list" if isinstance(odd, list) else odd


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_odd_values_in_code_give_errors_of_ours(odd: Any) -> None:
    app = Foliot("memory://")
    for call in (
        lambda: app.job(odd),
        lambda: app.job("@daily", name=odd)(lambda: None),
        lambda: app.action(odd),
        lambda: app.action(lambda: None, name=odd),
        lambda: app.attach(odd),
        lambda: Foliot(odd),
        lambda: Foliot("memory://", name=odd),
        lambda: Foliot("memory://", clock=odd),
        lambda: Foliot("memory://", slots=odd if odd != 5 else {5: 5}),
        lambda: Foliot("memory://", lease=odd),
        lambda: Foliot("memory://", metrics=odd),
    ):
        with pytest.raises(FoliotError):
            call()


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (partial(print), "has no name of its own"),
        (Unhashable(), "has no name of its own"),
        (dict, "does not tell its arguments"),
    ],
)
def test_functions_that_cannot_be_jobs_are_refused_by_name(function: Any, reason: str) -> None:
    with pytest.raises(InvalidJobError, match=reason) as caught:
        Foliot("memory://").job("@daily")(function)
    assert caught.value.hint


def test_a_function_that_cannot_be_told_from_others_is_refused() -> None:
    with pytest.raises(InvalidJobError, match=r"job x: .*told from others"):
        Foliot("memory://").job("@daily", name="x")(Unhashable())


def test_definitions_that_cannot_be_are_refused_and_nothing_is_changed() -> None:
    app = Foliot("memory://")

    @app.action
    async def remind(run: JobRun, user_id: int) -> None: ...

    async def scene() -> None:
        app.job(NEVER, name="taken")(lambda: None)
        with pytest.raises(InvalidJobError, match=r"payload .*does not fit remind"):
            await app.schedule("x", NEVER, remind, payload={"user": 1})
        with pytest.raises(InvalidJobError, match="is not registered"):
            await app.schedule("x", NEVER, scene)
        with pytest.raises(InvalidJobError, match="declared in the code"):
            await app.schedule("taken", NEVER, remind, payload={"user_id": 1})
        with pytest.raises(
            InvalidJobError, match=r"is the name of two functions: .*remind.* and .*<lambda>.*line"
        ):
            app.action(lambda: None, name="remind")
        with pytest.raises(InvalidPolicyError, match="timezone"):
            app.job(Every("1s"), timezone="UTC")
        with pytest.raises(InvalidJobError, match="source"):
            Foliot("memory://", name="a/b")
        async with app:
            with pytest.raises(CommandRefusedError, match="declared in the code"):
                await app.unschedule("taken")
            assert [status.name for status in await app.jobs()] == ["taken"]

    play(scene)
    app.close()


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"drian": "1m"}, "drian"),
        ({"slots": 0}, "slots"),
        ({"slots": "5"}, "slots"),
        ({"slots": {}}, "slots"),
        ({"slots": True}, "slots"),
        ({"slots": 10**400}, "slots"),
        ({"slots": {"slow": 2.5}}, "slots"),
        ({"slots": {5: 5}}, "slots"),
        ({"lease": "0s"}, "lease"),
        ({"lease": "1ms"}, "lease 1ms: must lie between 1s and"),
        ({"lease": timedelta.max}, "lease"),
        ({"poll": "1us"}, "poll 1us: must lie between 10ms and"),
        ({"drain": 5}, "drain"),
        ({"metrics": 5}, "metrics"),
        ({"clock": 5}, "clock"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: Any, what: str) -> None:
    with pytest.raises(InvalidPolicyError, match=what) as caught:
        Foliot("memory://", **settings)
    assert caught.value.hint


def test_a_decorator_without_parentheses_is_refused() -> None:
    app = Foliot("memory://")

    def work() -> None: ...

    with pytest.raises(InvalidJobError, match="is no schedule"):
        app.job(work)  # type: ignore[arg-type] # what people write by mistake


def test_what_cannot_be_stored_is_refused_on_every_store(app: Foliot) -> None:
    async def scene() -> None:
        app.action(lambda at: at, name="noop")
        with pytest.raises(InvalidJobError, match="payload"):
            await app.schedule("x", NEVER, "noop", payload={"at": SystemClock().now()})

    play(scene)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/nowhere/jobs.db")

    async def scene() -> None:
        with pytest.raises(InvalidStoreError, match=r"there is no folder .*nowhere"):
            await app.jobs()

    play(scene)
    app.close()


def test_a_listener_that_waits_for_the_engine_is_told_that_it_cannot() -> None:
    app = Foliot("memory://")
    errors: list[AppStateError] = []

    @app.listen
    def listener(_: Event) -> None:
        work = app.trigger("work")
        try:
            app.wait(work)
        except AppStateError as error:
            errors.append(error)
        finally:
            work.close()

    @app.job(NEVER)
    def work() -> None: ...

    async def scene() -> None:
        async with app:
            await app.trigger("work")
            while not errors:
                await SystemClock().wait(timedelta(milliseconds=5))

    play(scene)
    app.close()
    assert "cannot wait for itself" in str(errors[0])


def _declare_in(module: str, app: Foliot) -> None:
    space: dict[str, object] = {"__name__": module, "app": app}
    code = compile("@app.job('@daily')\ndef clean() -> None: ...\n", f"{module}.py", "exec")
    exec(code, space)  # noqa: S102 - a module, as an import would run it


def test_two_functions_of_one_name_in_two_modules_are_refused_with_both_places() -> None:
    app = Foliot("memory://")
    _declare_in("shop_jobs", app)
    _declare_in("shop_jobs", app)  # a cell that is run again
    with pytest.raises(InvalidJobError) as refused:
        _declare_in("mail_jobs", app)
    for place in ("job clean", "shop_jobs.clean (shop_jobs.py, line 1)", "mail_jobs.clean (mail_jobs.py"):
        assert place in str(refused.value)


def test_the_name_of_a_function_that_is_not_here_is_refused_where_it_is_written() -> None:
    app = Foliot("memory://")
    app.action(lambda: None, name="typo")

    async def scene() -> None:
        with pytest.raises(
            InvalidJobError, match=r"job x: .*tpyo.* is no function of this program"
        ) as refused:
            await app.schedule("x", NEVER, "tpyo")
        assert refused.value.hint is not None
        assert refused.value.hint.startswith("did you mean typo?")
        async with app:
            await app.schedule("x", NEVER, Action(kind="python:elsewhere"))
            assert [status.name for status in await app.jobs()] == ["x"]

    play(scene)
    app.close()
