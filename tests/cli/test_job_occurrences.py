"""`foliot job occurrences`: the ledger, on a store with a past: see `shop`."""

from __future__ import annotations

import pytest

from cli.shop import Shop


def test_the_ledger_tells_what_became_of_each_occurrence(shop: Shop) -> None:
    shop.call("job", "pause", "refresh")
    started = "attempt 1 succeeded on node n1, started {} s after its time"
    paused = "unless that changes: it is paused since 2026-03-02T08:00:05Z"
    assert shop.call("job", "occurrences", "refresh").out.splitlines() == [
        "OCCURRENCE                   UTC               STATE     WHY",
        f"Mon 2026-03-02 08:00 +01:00  2026-03-02 07:00  ran       {started.format('0.000')}",
        f"Mon 2026-03-02 09:00 +01:00  2026-03-02 08:00  ran       {started.format('-2.000')}",
        f"Mon 2026-03-02 10:00 +01:00  2026-03-02 09:00  will_not  {paused}",
    ]


def test_the_ledger_in_json_names_the_runs(shop: Shop) -> None:
    document = shop.call("job", "occurrences", "billing/report", "--last", "2", "-ojson").json()
    ran, planned = document["occurrences"]
    assert (document["job"], document["next"]) == ("billing/report", None)
    assert (ran["fate"], ran["outcome"], ran["run"]) == (
        "ran", "failed", "billing/report@2026-03-02T07:00:00Z",
    )  # fmt: skip
    assert (planned["fate"], planned["at"], planned["run"]) == ("planned", "2026-03-03T07:00:00+00:00", None)


def test_a_time_is_of_the_zone_of_the_job(shop: Shop) -> None:
    words = ("job", "occurrences", "refresh", "--from", "2026-03-02T08:00", "--to", "2026-03-02T09:00")
    found = shop.call(*words, "-ojson").json()["occurrences"]
    assert [fact["wall"] for fact in found] == ["2026-03-02T08:00:00+01:00", "2026-03-02T09:00:00+01:00"]


def test_a_long_ledger_says_where_to_go_on(shop: Shop) -> None:
    result = shop.call("job", "occurrences", "refresh", "--from", "2026-01-01")
    assert len(result.out.splitlines()) == 1001
    assert result.err == "note: there are more: --from 2026-02-11T15:00:00+00:00\n"


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("refrsh",), 4, "did you mean billing/refresh?"),
        (("refresh", "--from", "2026-03-02", "--last", "2"), 2, "it excludes --from"),
        (("refresh", "--from", "2026-03-02T07:01Z", "--to", "2026-03-02T07:02Z"), 0, "No occurrences.\n"),
    ],
)
def test_other_answers(shop: Shop, words: tuple[str, ...], code: int, text: str) -> None:
    result = shop.call("job", "occurrences", *words)
    assert result.code == code
    assert text in result.out + result.err
