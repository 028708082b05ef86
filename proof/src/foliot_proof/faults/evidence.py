"""Puts the logs together for the checker, and looks at what the checker does not: files, batches, exits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.clock import SystemClock
from foliot.model.attempt import Attempt
from foliot.model.state import Skip
from foliot.protocols import JobQuery, JobView, RunQuery, SkipQuery
from foliot.wiring import open_store
from foliot_proof.faults import confirmed, shell_work, workload
from foliot_proof.faults.host import SLACK, Host, Life
from foliot_proof.faults.witness_log import Note, Times
from foliot_proof.history.facts import (
    Bounds,
    Change,
    Fault,
    Finish,
    Forgotten,
    History,
    Identity,
    Mark,
    Operation,
    Trouble,
    Verdict,
    Witness,
    define,
)
from foliot_proof.history.facts import Host as HostFact

_EVERYTHING = 10_000_000
_PAGE = 10_000
_MAY_YET = timedelta(seconds=5)  # what was under way when the answer was lost takes effect by then, or never
_PATIENCE = timedelta(minutes=1)
_AFTERMATH = timedelta(seconds=2)


class Ledger(NamedTuple):
    """What the store says at the end."""

    attempts: tuple[Attempt, ...]
    skips: tuple[Skip, ...]
    added: Mapping[str, str]  # versions of jobs that were scheduled while the program ran
    damaged: tuple[str, ...]


async def read_ledger(url: str) -> Ledger:
    """Read the store when nobody else uses it, and with patience."""
    async with open_store(url, SystemClock(), lease=_PATIENCE) as store:
        attempts = await store.runs(RunQuery(limit=_EVERYTHING))
        views = [
            view
            for source in workload.SOURCES
            for view in await store.jobs(JobQuery(source=source, with_removed=True, limit=_PAGE))
        ]
        skips = [skip for view in views for skip in await store.skips(SkipQuery(view.key, limit=_EVERYTHING))]
        added: dict[str, str] = {}
        after = ""
        source = f"{workload.NAME}.added"
        while page := await store.jobs(JobQuery(source=source, after=after, limit=_PAGE)):
            added |= {view.key.removeprefix(f"{source}/"): _version(view) for view in page}
            after = page[-1].key
        damaged = tuple(f"{view.key}: {view.damage}" for view in views if view.damage)
        return Ledger(attempts, tuple(skips), added, damaged)


def _version(view: JobView) -> str:
    return str(view.record.job.action.data["version"]) if view.record else str(view.damage)


class Evidence:
    """All that is known about a trial that is over."""

    def __init__(self, hosts: Sequence[Host], notes: list[Note], ledger: Ledger, times: Times) -> None:
        self.notes = notes
        self.ledger = ledger
        self.counts = Counter(note.what for note in notes)
        self._hosts = hosts
        self._times = times

    def history(
        self, final: datetime, bounds: Bounds, extra: Sequence[Fault], *, is_strict: bool = False
    ) -> History:
        """What the checker judges. Strict: a call that failed excuses only whom a fault had hit itself."""
        faults = [*extra, *(fault for host in self._hosts for fault in host.all_faults())]
        troubles = [t for t in self._troubles() if not is_strict or _is_explained(t, faults)]
        return History(
            final=final,
            bounds=bounds,
            hosts=tuple(HostFact(host.name) for host in self._hosts),
            changes=(*self._declared(final), *self._asked(final)),
            attempts=self.ledger.attempts,
            skips=self.ledger.skips,
            witness=tuple(self._witness()),
            faults=(*faults, *troubles),
            identities=tuple(Identity(n.facts["node"], n.host) for n in self._of("identity")),
            finishes=tuple(self._finishes()),
            forgotten=tuple(self._forgotten()),
        )

    def _of(self, *what: str) -> Iterator[Note]:
        return (note for note in self.notes if note.what in what)

    # -- what was asked for ------------------------------------------------------------------------

    def _declared(self, final: datetime) -> Iterator[Change]:
        """What nodes asked the store to declare; who died, or heard nothing, may have been obeyed, or not."""
        answers = {
            (note.host, note.facts["call"]): note for note in self._of("declared", "undeclared", "trouble")
            if note.facts.get("verb", "reconcile") == "reconcile"
        }  # fmt: skip
        for note in self._of("declaring"):
            life = self._life(note)
            answer = answers.get((note.host, note.facts["call"]))
            end = life.ended.result() if life.ended.done() else final
            if answer is None:
                until, verdict = end, Verdict.UNKNOWN
            elif answer.what == "trouble":
                until, verdict = min(final, answer.at + _MAY_YET), Verdict.UNKNOWN
            else:
                until = answer.at
                verdict = Verdict.APPLIED if answer.what == "declared" else Verdict.REFUSED
            if verdict is Verdict.UNKNOWN and (proved := self._proved(note)) is not None:
                until, verdict = max(note.at, min(until, proved)), Verdict.APPLIED
            since = self._times.instant(note.facts["since"])
            yield from _changes(note._replace(at=since), life.orders.release, until, verdict)

    def _proved(self, declaring: Note) -> datetime | None:
        """When somebody has found that a declaration had taken effect, if anybody has.

        Nobody can say which of two processes it was that declared the same revision. Who tries again has
        declared it with the last try at the latest; of those before it nobody knows.
        """
        found = (note for note in self._of("revision") if note.at > declaring.at)
        at = next((note.at for note in found if _wanted(note) == _wanted(declaring)), None)
        if at is None:
            return None
        rivals = (note for note in self._of("declaring") if _wanted(note) == _wanted(declaring))
        among = [note for note in rivals if declaring.at - _MAY_YET <= note.at <= at]
        is_sole = among == [declaring] or len({self._life(note).pid for note in among}) == 1
        return at if is_sole and among[-1] == declaring else None

    def _life(self, note: Note) -> Life:
        """The process that wrote a note."""
        [host] = (host for host in self._hosts if host.name == note.host)
        return [life for life in host.lives if life.asked_at <= note.at][-1]

    def _asked(self, final: datetime) -> Iterator[Change]:
        told = {note.facts["request"]: note.at for note in self._of("told")}
        refused = {note.facts["request"]: note.at for note in self._of("refused")}
        job = f"{workload.NAME}/{workload.ASKED_FOR}"
        for note in self._of("ask"):
            request = note.facts["request"]
            if request in told:
                until, verdict = told[request], Verdict.APPLIED
            elif request in refused:
                until, verdict = refused[request], Verdict.REFUSED
            else:
                until, verdict = min(final, note.at + timedelta(seconds=5)), Verdict.UNKNOWN
            yield Change(Operation.RUN_NOW, job, note.at, until, verdict, subject=request)

    # -- what was seen -----------------------------------------------------------------------------

    def _witness(self) -> Iterator[Witness]:
        for note in (*self._of("start", "end"), *shell_work.unwritten_ends(self.notes)):
            facts = note.facts
            yield Witness(
                Mark(note.what), facts["job"], facts["run"], facts["number"], facts["token"], facts["node"],
                note.at,
            )  # fmt: skip

    def _finishes(self) -> Iterator[Finish]:
        for note in self._of("finish"):
            facts = note.facts
            yield Finish(
                facts["job"], facts["run"], facts["number"], facts["token"], facts["node"], note.at,
                is_accepted=facts["taken"],
            )  # fmt: skip

    def _troubles(self) -> Iterator[Fault]:
        """What nodes could not help: calls that failed or took long, a machine that stood still."""
        for note in self._of("trouble", "slow", "stall"):
            kind = Trouble.PAUSED if note.what == "stall" else Trouble.PARTITIONED
            yield Fault(kind, self._times.instant(note.facts["since"]), note.at, note.host, SLACK)

    def _forgotten(self) -> Iterator[Forgotten]:
        """Whatever comes before the last few attempts: also attempts at the same run, that began later."""
        job = f"{workload.NAME}/{workload.PRUNED}"
        kept = sorted(
            (attempt for attempt in self.ledger.attempts if attempt.job == job),
            key=lambda attempt: (attempt.scheduled_for, attempt.number),
        )[-workload.KEPT :]
        if kept:
            began = [n.at for n in self._of("start") if (n.facts["run"], n.facts["number"]) == kept[0].key]
            yield Forgotten(job, max([kept[0].scheduled_for + timedelta(seconds=1), *began]))

    # -- what the checker does not look at ---------------------------------------------------------

    def problems(self) -> Iterator[str]:
        """What is wrong beside the history."""
        yield from self._torn_batches()
        yield from shell_work.problems(self.notes)
        yield from confirmed.lost_endings(self.notes, self.ledger.attempts)
        yield from (f"damaged: {damage}" for damage in self.ledger.damaged)
        for host in self._hosts:
            for death in host.deaths:
                if not death.was_expected or death.code > 0:
                    yield f"a node of {host.name} ended by itself, with {death.code}"

    def _torn_batches(self) -> Iterator[str]:
        """Each batch must be whole, in the version confirmed last or one that was asked for since."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for name, version in self.ledger.added.items():
            found[name.partition(".")[0]][version] += 1
        legal: dict[str, list[str]] = defaultdict(list)
        for note in self._of("batch", "batched"):
            if note.what == "batched":
                legal[note.facts["batch"]].clear()
            legal[note.facts["batch"]].append(note.facts["version"])
        for batch, versions in found.items():
            if list(versions.values()) != [workload.BATCH]:
                yield f"torn: the batch {batch} has {dict(versions)}"
            elif not versions.keys() <= set(legal[batch]):
                yield f"the batch {batch} has {list(versions)}, where one of {legal[batch]} should be"
        confirmed = {note.facts["batch"] for note in self._of("batched")}
        yield from (f"lost: the batch {batch} was confirmed" for batch in confirmed - found.keys())


def _wanted(note: Note) -> tuple[str, str]:
    """The source that a note is about, and the revision."""
    return note.facts["source"], note.facts["revision"]


def _is_explained(trouble: Fault, faults: Sequence[Fault]) -> bool:
    """Whether a fault of the same host, or of the store, was at that time, or had just been."""
    if trouble.kind is Trouble.PAUSED or trouble.end is None:
        return True
    own = (fault for fault in faults if fault.host in (trouble.host, None))
    return any(
        fault.begin <= trouble.end and (fault.end is None or fault.end + _AFTERMATH >= trouble.begin)
        for fault in own
    )


def _changes(note: Note, release: int, until: datetime, verdict: Verdict) -> Iterator[Change]:
    for work in workload.ALL:
        source, _, name = work.key.partition("/")
        if source != note.facts["source"]:
            continue
        if name in note.facts["declared"]:
            yield Change(Operation.DECLARE, work.key, note.at, until, verdict, define(work.job(release)))
        elif name in note.facts["removed"]:
            yield Change(Operation.REMOVE, work.key, note.at, until, verdict)
