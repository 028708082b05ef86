"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Numbers of jobs, rounds and seconds.

    `jobs` race for us; `fewer` for us and the peers, which are too slow for more; `fewest` for those that
    are slower still. `runs` of the store per round. `herd` at once, and `singles` one second apart.
    `stored` jobs that are not due while `fired` ones are fired, and while nothing happens for `idle` seconds.
    `steady` jobs run with full histories.
    """

    name: str
    rounds: int
    jobs: int
    fewer: int
    fewest: int
    runs: int
    herd: int
    singles: int
    stored: tuple[int, ...]
    fired: int
    idle: float
    steady: int


FULL = Effort(
    name="full",
    rounds=3,
    jobs=100_000,
    fewer=2_000,
    fewest=300,
    runs=20_000,
    herd=10_000,
    singles=30,
    stored=(1_000, 30_000, 300_000),
    fired=5_000,
    idle=20.0,
    steady=2_000,
)
MILLION = replace(
    FULL, name="million", rounds=1, jobs=1_000_000, stored=(1_000, 100_000, 1_000_000), fired=20_000
)
QUICK = replace(
    FULL, name="quick", rounds=1, jobs=5_000, fewer=200, fewest=50, runs=4_000, herd=1_000, singles=3,
    stored=(100, 5_000), fired=500, idle=2.0, steady=100,
)  # fmt: skip
TINY = replace(
    QUICK, name="tiny", jobs=40, fewer=20, fewest=10, runs=40, herd=30, singles=1, stored=(10, 60), fired=20,
    idle=0.2, steady=4,
)  # fmt: skip
EFFORTS = {effort.name: effort for effort in (FULL, MILLION, QUICK, TINY)}
