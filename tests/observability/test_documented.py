"""The reference names every line, field and metric, and its numbers are those of the code."""

from __future__ import annotations

import inspect
import logging
import re
from pathlib import Path

import pytest

from foliot.observability import Metrics, configure_logging, lines, log
from foliot.observability.log_format import FORMATS
from observability.test_metrics import NAMES

PAGE = (Path(__file__).parent.parent.parent / "docs/reference/observability.md").read_text()
ALERTS = (Path(__file__).parent.parent.parent / "docs/how-to/watch-it.md").read_text()
OF_THE_API = {
    "foliot_api_requests_total",
    "foliot_api_refused_total",
    "foliot_api_streams",
}  # see tests/api
SETTINGS = {"foliot_skip_refused"}  # of a Celery application


@pytest.mark.parametrize(("event", "level"), lines.LINES.items())
def test_each_line_is_documented_with_its_level(event: str, level: int) -> None:
    [row] = [row for row in PAGE.splitlines() if re.match(rf"\| \w+ \| .*`{event}`", row)]

    assert row.startswith(f"| {logging.getLevelName(level).lower()} |")


@pytest.mark.parametrize(("name", "kind", "labels"), [(name, *what) for name, what in NAMES.items()])
def test_each_metric_is_documented_with_its_kind_and_labels(name: str, kind: str, labels: str) -> None:
    expected = f"`{labels}`" if labels else ""

    assert re.search(rf"^\| `{name}` \| {kind} \| {expected}", PAGE, re.MULTILINE)


def test_no_metric_is_promised_that_is_not_there() -> None:
    promised = set(re.findall(r"foliot_\w+?(?=_bucket|\b)", PAGE + ALERTS)) - SETTINGS

    assert promised - OF_THE_API == set(NAMES)
    assert promised >= OF_THE_API


def test_formats_arguments_and_thresholds_are_documented() -> None:
    for name in (
        *FORMATS,
        *inspect.signature(configure_logging).parameters,
        *inspect.signature(Metrics).parameters,
    ):
        assert re.search(rf"[`(, *]{name}[`=]", PAGE)
    assert log.LATE.total_seconds() == 10
    assert "ten seconds or more after its time" in PAGE
    assert log.WRONG_CLOCK.total_seconds() == 2
    assert "two seconds or more" in PAGE
