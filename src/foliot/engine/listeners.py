"""Calls listeners (events of jobs) and monitors (health of the node). Their errors never stop the engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

from foliot.errors import InvalidPolicyError, StoreError
from foliot.model.decision import Event
from foliot.model.view import NodeHealth, NodeView
from foliot.protocols import Listener, Monitor
from foliot.protocols_health import StoreHealth, StoreWatcher

_log = logging.getLogger("foliot")
_METHODS = tuple(name for name in vars(Monitor) if name.startswith("on_"))


class Listeners:
    """The listeners and monitors of a node."""

    def __init__(self, listeners: Sequence[Listener], monitors: Sequence[Monitor]) -> None:
        for monitor in monitors:
            check_monitor(monitor, "monitors")
        self._listeners = tuple(listeners)
        self._monitors = tuple(monitors)

    @property
    def wants_health(self) -> bool:
        """Whether a monitor wants the node's health. Measuring it needs queries to the store."""
        return bool(self._monitors)

    def tell_events(self, events: Sequence[Event]) -> None:
        """Pass on the events of decisions."""
        for listener in self._listeners:
            safely(listener.on_events, events)

    def tell_trouble(self, error: StoreError) -> None:
        """A call of the store failed."""
        for listener in self._listeners:
            safely(listener.on_trouble, error)

    def tell_turn(self, what: str, took: timedelta, held: int) -> None:
        """A turn of the loop is over."""
        for monitor in self._monitors:
            safely(monitor.on_turn, what, took, held)

    def tell_health(self, health: NodeHealth) -> None:
        """The lease was renewed."""
        for monitor in self._monitors:
            safely(monitor.on_health, health)

    def tell_store(self, health: StoreHealth) -> None:
        """The store has measured its own health."""
        for monitor in self._monitors:
            if isinstance(monitor, StoreWatcher):
                safely(monitor.on_store, health)

    def tell_lease_lost(self, node: str) -> None:
        """This node was declared dead."""
        for monitor in self._monitors:
            safely(monitor.on_lease_lost, node)

    def tell_untold(self, runs: int) -> None:
        """Log how many results could not be stored. For other nodes these runs are lost."""
        _log.error("ends_not_stored runs=%d", runs)

    def tell_burials(self, node: str, buried: Sequence[NodeView]) -> None:
        """This node has declared others dead."""
        for monitor in self._monitors:
            for dead in buried:
                safely(monitor.on_burial, node, dead)


def check_monitor(monitor: object, argument: str) -> None:
    """Refuse a monitor that lacks a method, where it is given."""
    for method in _METHODS:
        if not callable(getattr(monitor, method, None)):
            hint = f"a monitor has the methods {', '.join(_METHODS)}: see foliot.protocols.Monitor"
            raise InvalidPolicyError(argument, monitor, f"has no method {method}", hint=hint)


def is_meant_as_monitor(listener: object) -> bool:
    """Whether a listener has a method of a monitor; then it must have all of them."""
    return any(hasattr(listener, method) for method in _METHODS)


def safely(tell: Callable[..., None], *facts: object) -> None:
    """Call a listener, and log its exception.

    A `sys.exit` in a listener would end the engine's loop. A cancellation of the engine's own task is raised
    where the task waits, never in a plain call: a CancelledError in here is the listener's own.
    """
    try:
        tell(*facts)
    except BaseException:  # noqa: BLE001 - that is the point
        _log.exception("listener_failed")


class Complaints:
    """Logs executors that break their contract, once for each kind, because each run may repeat it."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def add(self, kind: str, error: BaseException) -> None:
        """An executor of this kind has raised where its contract forbids it."""
        if kind not in self._told:
            self._told.add(kind)
            _log.error("executor_failed kind=%s", kind, exc_info=error)
