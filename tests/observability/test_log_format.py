"""How lines look, where a program lets Foliot configure its logging."""

from __future__ import annotations

import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from foliot.errors import InvalidPolicyError
from foliot.observability import configure_logging
from foliot.observability.log import tell

LOGGER = logging.getLogger("foliot")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    handlers, level, propagate = list(LOGGER.handlers), LOGGER.level, LOGGER.propagate
    yield
    LOGGER.handlers[:], LOGGER.propagate = handlers, propagate
    LOGGER.setLevel(level)


def _speak() -> None:
    tell("job_paused", job="app/a")
    tell("start_late", run="app/a@2026-05-01T12:00:00Z", late=12.5, reason="two words")
    LOGGER.info("some %s", "words")


def test_json_is_one_object_a_line() -> None:
    stream = io.StringIO()
    configure_logging("json", stream=stream)

    _speak()

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    at = [line.pop("at") for line in lines]
    assert lines == [
        {"level": "info", "event": "job_paused", "job": "app/a"},
        {
            "level": "warning",
            "event": "start_late",
            "run": "app/a@2026-05-01T12:00:00Z",
            "late": 12.5,
            "reason": "two words",
        },
        {"level": "info", "event": "said", "text": "some words"},
    ]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", instant) for instant in at)


def test_pretty_is_for_people() -> None:
    stream = io.StringIO()
    configure_logging("pretty", stream=stream)

    _speak()

    assert [re.sub(r"^\S+ \S+Z ", "", line) for line in stream.getvalue().splitlines()] == [
        "info     job_paused          job=app/a",
        'warning  start_late          run=app/a@2026-05-01T12:00:00Z late=12.5 reason="two words"',
        "info     some words",
    ]


@pytest.mark.parametrize(
    ("stream", "environment", "has_json", "has_colours"),
    [
        (io.StringIO(), {}, True, False),
        (Terminal(), {}, False, True),
        (Terminal(), {"NO_COLOR": "1"}, False, False),
        (Terminal(), {"NO_COLOR": ""}, False, True),
    ],
    ids=["a pipe", "a terminal", "a terminal without colours", "an empty NO_COLOR says nothing"],
)
def test_auto_looks_at_the_stream(
    stream: io.StringIO,
    environment: dict[str, str],
    has_json: bool,  # noqa: FBT001 - a column of the table
    has_colours: bool,  # noqa: FBT001 - a column of the table
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    configure_logging(stream=stream)

    _speak()

    text = stream.getvalue()
    assert text.startswith("{") is has_json
    assert ("\x1b[" in text) is has_colours


@pytest.mark.parametrize("kind", ["json", "pretty"])
def test_a_cause_brings_its_traceback(kind: str) -> None:
    stream = io.StringIO()
    configure_logging(kind, stream=stream)

    tell("engine_failed", ValueError("no"), app="p", error="no")

    assert "ValueError: no" in stream.getvalue()
    assert len(stream.getvalue().splitlines()) == 1 or kind == "pretty"


def test_again_replaces_what_was_configured_before_and_leaves_other_handlers_alone() -> None:
    first, second, other = io.StringIO(), io.StringIO(), logging.NullHandler()
    LOGGER.addHandler(other)
    configure_logging("json", stream=first)
    configure_logging("pretty", stream=second, level="warning")

    _speak()

    assert first.getvalue() == ""
    assert "start_late" in second.getvalue()
    assert "job_paused" not in second.getvalue()
    assert other in LOGGER.handlers


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"format": "xml"}, "invalid log format xml: is not known"),
        ({"level": "loud"}, "invalid log level loud: is not known"),
    ],
)
def test_refusals(arguments: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidPolicyError, match=words) as refused:
        configure_logging(**arguments)  # type: ignore[arg-type] # what a user may get wrong

    assert refused.value.hint


def test_the_library_by_itself_configures_no_logging_and_imports_no_client_of_prometheus() -> None:
    program = """
import logging, sys, foliot, foliot.app, foliot.observability
app = foliot.Foliot("memory://")
app.start(); app.stop()
assert not logging.getLogger("foliot").handlers and not logging.getLogger().handlers
assert "prometheus_client" not in sys.modules
from foliot.observability import Metrics
assert "prometheus_client" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)  # noqa: S603 - our own program


def test_what_is_not_there_is_said_so() -> None:
    import foliot.observability as module  # noqa: PLC0415 - the module itself is what is asked

    with pytest.raises(AttributeError, match="no attribute 'Metric'"):
        module.Metric  # noqa: B018 - asking is the test
