"""Errors are short, printable, and survive the way to another process."""

from __future__ import annotations

import copy
import inspect
import pickle  # noqa: TID251 - users' process pools pickle what is raised
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from typing import Any

import pytest

from foliot import Cron, errors, errors_access
from foliot.errors import (
    ConfigProblem,
    FoliotError,
    InvalidCronExpressionError,
    InvalidScheduleError,
    shorten,
)

_SAMPLES: dict[str, Any] = {
    "message": "a message",
    "expression": "* *",
    "field": "minute",
    "field_name": "minute",
    "field_value": "61",
    "reason": "a reason",
    "cause": ValueError("a cause"),
    "timeout": timedelta(seconds=90),
    "days": "30",
    "months": "2",
    "problems": [
        ConfigProblem(file="a", line=1, column=1, job="b", field="c", message="is wrong", hint="write d")
    ],
}
CLASSES = [
    cls
    for module in (errors, errors_access)
    for cls in vars(module).values()
    if inspect.isclass(cls) and issubclass(cls, FoliotError) and cls.__module__ == module.__name__
]


def sample(cls: type[FoliotError]) -> FoliotError:
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    facts = [_SAMPLES.get(p.name, "a fact") for p in parameters if p.default is inspect.Parameter.empty]
    return cls(*facts)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_survives_a_copy_and_a_pickle(cls: type[FoliotError]) -> None:
    error = sample(cls)

    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301 - our own value
        assert type(again) is cls
        assert str(again) == str(error) == error.message
        assert again.hint == error.hint
        assert repr(again.details) == repr(error.details)
        assert getattr(again, "__notes__", None) == getattr(error, "__notes__", None)


def test_a_process_pool_raises_our_error_and_lives_on() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(InvalidCronExpressionError) as caught:
            pool.submit(Cron, "*/0 * * * *").result()

        assert caught.value.position == 2
        assert pool.submit(Cron, "0 9 * * *").result() == Cron("0 9 * * *")


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError


def nested(depth: int) -> list[Any]:
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep]
    return deep


def build(value: Any) -> Cron:
    options: dict[str, Any] = {"dialect": value} if isinstance(value, str) else {}
    return Cron("* * * * *" if options else value, **options)


@pytest.mark.parametrize(
    "value",
    [10**5000, bytes(1_000_000), [0] * 1_000_000, nested(100_000), Unspeakable(), "x" * 10**6, "\x1b[31m\n"],
    ids=["digits", "bytes", "list", "nested", "unspeakable", "text", "controls"],
)
def test_any_value_is_shown_briefly_on_one_line(value: Any) -> None:
    assert len(shorten(value)) < 300
    assert shorten(value).isprintable()
    with pytest.raises((InvalidCronExpressionError, InvalidScheduleError)):
        build(value)
