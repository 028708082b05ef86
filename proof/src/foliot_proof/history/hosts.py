"""What the fault log says: when each host could work, when it was cut off, and what the store's clock showed.

A fault is taken at its widest, `slack` included, both where it excuses and where it explains: the log
does not say where in its slack it began.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property

from foliot_proof.history.facts import Fault, History, Trouble
from foliot_proof.history.spans import Span, between, covering, first_room, merged

_CUT_OFF = (Trouble.DOWN, Trouble.PAUSED, Trouble.PARTITIONED)
_GONE = (Trouble.DOWN, Trouble.DRAINING)
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_LATER = timedelta(days=400)


class Hosts:
    """Hosts and clocks of one history."""

    def __init__(self, history: History) -> None:
        self.bounds = history.bounds
        self.horizon = history.final + _LATER
        self._history = history
        self._homes = {identity.node: identity.host for identity in history.identities}
        self._faults: dict[str | None, list[Fault]] = defaultdict(list)
        for fault in history.faults:
            self._faults[fault.host].append(fault)
        self.names = [host.name for host in history.hosts]
        self._serves = {
            host.name: None if host.queues is None else dict(host.queues) for host in history.hosts
        }

    def home(self, node: str | None) -> str | None:
        """The host of a node id."""
        return self._homes.get(node, node) if node is not None else None

    def widest(self, fault: Fault) -> Span:
        """The time that a fault may have lasted."""
        end = self.horizon if fault.end is None else fault.end + fault.slack
        return fault.begin - fault.slack, end

    def narrowest(self, fault: Fault) -> Span:
        """The time that a fault surely lasted."""
        end = self.horizon if fault.end is None else fault.end - fault.slack
        return fault.begin + fault.slack, end

    # -- who can work ------------------------------------------------------------------------------

    @cached_property
    def able(self) -> dict[str, list[Span]]:
        """When each host was up, reachable, and had had time to get over its last fault."""
        heal = self.bounds.heal
        found = {}
        for name in self.names:
            spans = [self.widest(fault) for fault in self._of(name, (*_CUT_OFF, *_GONE))]
            troubled = merged((*self.murky, *((begin, end + heal) for begin, end in spans)))
            found[name] = between(troubled, _LONG_AGO, self.horizon)
        return found

    @cached_property
    def anybody(self) -> list[Span]:
        """When one of the hosts, at least, was able."""
        return merged(span for spans in self.able.values() for span in spans)

    @cached_property
    def up(self) -> list[Span]:
        """When any host at all may have been up and reachable, tolerances left aside."""
        found: list[Span] = []
        for name in self.names:
            down = merged(map(self.narrowest, self._of(name, (*_CUT_OFF, *_GONE))))
            found += between(down, _LONG_AGO, self.horizon)
        return merged(found)

    def serving(self, queue: str) -> list[str]:
        """The hosts that serve a queue."""
        serves = self._serves.items()
        return [name for name, queues in serves if queues is None or queues.get(queue, 0) > 0]

    def can_tell(self, channel: str, since: datetime, until: datetime, length: timedelta) -> bool:
        """Whether a host that has a channel was able for so long between two instants."""
        able = [
            self.able[host.name]
            for host in self._history.hosts
            if host.channels is None or channel in host.channels
        ]
        return any(first_room(spans, (), since, until, length) is not None for spans in able)

    def slots(self, name: str, queue: str) -> int | None:
        """How many attempts of a queue a host may hold; None: no bound."""
        queues = self._serves[name]
        return None if queues is None else queues.get(queue, 0)

    def reported_at(self, node: str | None, ended: datetime) -> datetime:
        """The last moment at which the store can have heard of an end: a node that is cut off waits."""
        silence = covering(self.silent(self.home(node)), ended)
        return max(ended, silence[1] + self.bounds.heal) if silence else ended

    # -- who was cut off ---------------------------------------------------------------------------

    def silent(self, name: str | None) -> list[Span]:
        """When a host could not speak to the store; spans too close together to be heard between are one."""
        return self._silent.get(name, []) if name is not None else []

    @cached_property
    def _silent(self) -> dict[str | None, list[Span]]:
        return {
            name: merged((self.widest(fault) for fault in self._of(name, _CUT_OFF)), self.bounds.heal)
            for name in self.names
        }

    def outlived(self, name: str | None) -> list[Span]:
        """When a host was surely silent for longer than a lease lasts; each fault at its narrowest."""
        return self._outlived.get(name, [])

    @cached_property
    def _outlived(self) -> dict[str | None, list[Span]]:
        found: dict[str | None, list[Span]] = {}
        for name in self.names:
            spans = merged(map(self.narrowest, self._of(name, _CUT_OFF)))
            found[name] = [(begin, end) for begin, end in spans if end - begin > self.bounds.lease]
        return found

    def gone_at(self, name: str | None, since: datetime, until: datetime) -> datetime | None:
        """The earliest that the process of a host can have gone, between two instants."""
        found = [fault for fault in self._faults[name] if fault.kind in _GONE]
        spans = ((fault.begin - fault.slack, fault.begin + fault.slack) for fault in found)
        return min(
            (max(first, since) for first, last in spans if last >= since and first <= until), default=None
        )

    def died_at(self, name: str | None, since: datetime, until: datetime) -> datetime | None:
        """The same, of processes that did not go in order; at the latest that the log allows."""
        found = [fault.begin + fault.slack for fault in self._faults[name] if fault.kind is Trouble.DOWN]
        return min((at for at in found if since <= at <= until), default=None)

    def _of(self, name: str, kinds: Sequence[Trouble]) -> list[Fault]:
        """The faults of a host, and those of the store, which are everybody's."""
        return [fault for fault in (*self._faults[name], *self._faults[None]) if fault.kind in kinds]

    # -- the store's clock -------------------------------------------------------------------------

    @cached_property
    def murky(self) -> list[Span]:
        """When nobody can say what time it was: while the store's clock was off, and until that is made up.

        All time is the store's. One that was ahead repeats what it has shown, one that was behind has
        skipped it; nodes learn of it by their next heartbeat, and look again by their next poll.
        """
        bounds = self.bounds
        found = []
        for fault in self._faults[None]:
            if fault.kind is Trouble.CLOCK:
                (begin, end), off = self.widest(fault), abs(fault.offset)
                settled_at = end + off + bounds.beat + bounds.poll + bounds.heal
                found.append((begin if fault.offset > timedelta(0) else begin - off, settled_at))
        return merged(found)

    @property
    def furthest(self) -> timedelta:
        """How far the store's clock was ever off."""
        found = (abs(fault.offset) for fault in self._faults[None] if fault.kind is Trouble.CLOCK)
        return max(found, default=timedelta(0))

    def is_murky(self, *instants: datetime | None) -> bool:
        """Whether one of these instants lies in such a time."""
        return any(at is not None and covering(self.murky, at) is not None for at in instants)
