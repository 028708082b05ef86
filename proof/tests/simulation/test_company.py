"""Chains, groups, calendars and boots live through the faults of all seeds, and their laws hold."""

from __future__ import annotations

import os

import pytest

from foliot.app import chains
from foliot.app.follow import follow
from foliot.engine import chaining, plan_command
from foliot.model.watch import Watch
from foliot_proof.history.check import check
from foliot_proof.simulation.company import LIMIT, Company
from foliot_proof.simulation.simulate import simulate

SEEDS = int(os.environ.get("FOLIOT_SEEDS", "500")) // 60
PARTS = 4


@pytest.mark.prove
@pytest.mark.req("OWN-21")
@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("part", range(PARTS))
def test_no_seed_breaks_a_law_of_chains_groups_calendars_and_boots(part: int) -> None:
    for seed in range(part, SEEDS, PARTS):
        simulated = simulate(seed, days=15, has_company=True)
        assert not simulated.company, f"seed {seed}: {simulated.company[0]}"
        violations = check(simulated.history).violations
        assert not violations, f"seed {seed}: {violations[0]}"


@pytest.mark.req("OWN-21")
def test_a_few_days_of_one_seed_hold() -> None:
    assert simulate(1, days=3, has_company=True).company == ()


def test_the_group_is_full_at_times(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    found = Company.violations

    def look(company: Company, attempts: object) -> list[str]:
        seen.append(company.most_of_group)
        return found(company, attempts)  # type: ignore[arg-type] # as it was given

    monkeypatch.setattr(Company, "violations", look)
    simulate(1, days=3, has_company=True)
    assert seen == [LIMIT]


@pytest.mark.prove
@pytest.mark.parametrize("bug", ["forgets rows", "asks anew", "settles first"])
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if bug == "forgets rows":
        monkeypatch.setattr(
            chaining, "_outcome", lambda attempt: attempt.outcome if attempt.number < 2 else None
        )
    elif bug == "asks anew":
        monkeypatch.setattr(Watch, "with_asked", lambda watch, _: watch)
        original = plan_command.Follow
        names = iter(range(10**9))

        def renamed(request: str, *facts: object) -> plan_command.Follow:
            unique = f"{request}-{next(names)}" if request.startswith("after-") else request
            return original(unique, *facts)  # type: ignore[arg-type] # as they were given

        monkeypatch.setattr(chains, "Follow", renamed)
    else:

        async def settle_first(host: object) -> None:
            store = host.store  # type: ignore[attr-defined] # a Workplace
            for channel in sorted(await store.waiting_channels()):
                for row in await store.waiting(channel, 16):
                    await store.settle(channel, [row.alert.id], "sent", await store.now())
                    await follow(host, channel.removeprefix("after:"), chains._command(row))  # type: ignore[arg-type]

        monkeypatch.setattr(chains, "ask_for_followers", settle_first)
    assert any(simulate(seed, days=8, has_company=True).company for seed in range(12))
