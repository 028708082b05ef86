"""Facts about cron expressions, as tables (tables/*.tsv)."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from foliot.errors import CronExpressionInvalidError, InvalidCronExpressionError
from foliot.schedules import Cron
from foliot.schedules.cron_syntax import Dialect

TABLES = Path(__file__).parent / "tables"


def rows(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    table = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [{key: cell.replace("\\t", "\t") for key, cell in row.items()} for row in table]


def rule(row: dict[str, str]) -> Cron:
    return Cron(row["expression"], timezone=row.get("zone", "UTC"), dialect=cast("Dialect", row["dialect"]))


def label(row: dict[str, str]) -> str:
    return "|".join(row.values())


@pytest.mark.req("DECL-10", "ROLL-04", "BAN-05")
@pytest.mark.parametrize("row", rows("next.tsv"), ids=label)
def test_next_occurrence(row: dict[str, str]) -> None:
    found = rule(row).next_after(datetime.fromisoformat(row["start"]))

    assert found is not None
    # In UTC: Python calls a time that comes twice unequal to anything in another zone (PEP 495).
    assert found.astimezone(UTC) == datetime.fromisoformat(row["expected"])


@pytest.mark.req("DECL-10")
@pytest.mark.parametrize("row", rows("previous.tsv"), ids=label)
def test_previous_occurrence(row: dict[str, str]) -> None:
    found = rule(row).previous(datetime.fromisoformat(row["start"]))

    assert found == datetime.fromisoformat(row["expected"])


@pytest.mark.req("DECL-06", "ROLL-04")
@pytest.mark.parametrize("row", rows("matches.tsv"), ids=label)
def test_matching_minute(row: dict[str, str]) -> None:
    assert rule(row).matches(datetime.fromisoformat(row["instant"])) == (row["matches"] == "yes")


@pytest.mark.req("DECL-05", "BAN-04")
@pytest.mark.parametrize("row", rows("accepted.tsv"), ids=label)
def test_accepted_expression(row: dict[str, str]) -> None:
    assert rule(row).expression == row["expression"]


@pytest.mark.req("DECL-05")
@pytest.mark.parametrize("row", rows("refused.tsv"), ids=label)
def test_refused_expression(row: dict[str, str]) -> None:
    with pytest.raises(InvalidCronExpressionError) as caught:
        rule(row)

    error = caught.value
    assert isinstance(error, CronExpressionInvalidError)
    assert row["field"] in ("", error.details["field"])
    assert row["reason"] in error.details["reason"]
    assert str(error) == (
        f'Invalid cron expression "{row["expression"]}": '
        f"{error.details['field']} field {error.details['reason']}"
    )
    assert 0 <= error.position <= len(row["expression"])
