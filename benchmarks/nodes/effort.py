"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Numbers of jobs, nodes, rounds and seconds.

    `runs` of the store, in each of the sizes `batches`, `turns` times. `jobs` race, with each of the numbers
    of `nodes`, `rounds` times. `stored` jobs that are not due while `fired` ones are fired, and while nothing
    happens for `idle` seconds. `herd` is how many race in the end; 0: none.
    """

    name: str
    runs: int
    batches: tuple[int, ...]
    turns: int
    jobs: int
    nodes: tuple[int, ...]
    rounds: int
    stored: tuple[int, ...]
    fired: int
    idle: float
    herd: int = 0


FULL = Effort(
    name="full",
    runs=20_000,
    batches=(100, 500, 1_000, 2_000),
    turns=5,
    jobs=50_000,
    nodes=(1, 2, 4),
    rounds=3,
    stored=(1_000, 30_000, 300_000),
    fired=5_000,
    idle=20.0,
)
MILLION = replace(FULL, name="million", stored=(1_000, 30_000, 1_000_000), fired=20_000, herd=1_000_000)
QUICK = replace(
    FULL, name="quick", runs=4_000, batches=(500,), turns=3, jobs=5_000, nodes=(1, 2), rounds=1,
    stored=(100, 5_000), fired=500, idle=2.0,
)  # fmt: skip
TINY = replace(
    QUICK,
    name="tiny",
    runs=40,
    batches=(10, 20),
    turns=1,
    jobs=40,
    stored=(10, 60),
    fired=20,
    idle=0.2,
    herd=60,
)
EFFORTS = {effort.name: effort for effort in (FULL, MILLION, QUICK, TINY)}
