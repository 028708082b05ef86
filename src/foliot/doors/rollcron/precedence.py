"""Whose revision counts, when daemons that follow one repository see different ones of it.

The newer one does, by git's own history: who has pulled what goes on from the store's revision declares it. A
daemon that does not even know the store's revision has a remote that lags, such as a mirror; to declare what
it sees would take back what others have declared. So it waits. But the history may also have been
rewritten, and then nobody will ever show that revision again: when no other node follows the repository, or
it has waited for long enough, it declares what it sees.
"""

from __future__ import annotations

from datetime import timedelta

from foliot.app.part import Host
from foliot.doors.rollcron.tidings import short
from foliot.errors import StoreError
from foliot.observability.log import tell

_PATIENCE = timedelta(minutes=5)


def commit_of(declared: str | None) -> str | None:
    """The commit of what was declared: a sign of what its jobs say stands behind it."""
    return None if declared is None else declared.partition("+")[0]


class Precedence:
    """Judges for one daemon, from one look to the next. `kind` is that of the repository's actions."""

    def __init__(self, host: Host, source: str, kind: str, *, follows_rewrites: bool) -> None:
        self._host = host
        self._source = source
        self._kind = kind
        self._follows_rewrites = follows_rewrites
        self._since: float | None = None
        self._awaited: str | None = None  # the commit that it waits to see
        self.has_begun = False  # from then on, one of the nodes that follow the repository is this one

    async def may_declare(self, pulled: str, known: str | None, *, goes_on: bool) -> bool:
        """Whether what was pulled may take the place of what the store has."""
        if known is None or goes_on or self._follows_rewrites or commit_of(known) == pulled:
            self._since = None
            return True
        now = self._host.clock.monotonic()
        if self._since is None or self._awaited != commit_of(known):
            self._since, self._awaited = now, commit_of(known)
            tell("source_behind", source=self._source, declared=short(known), in_effect=short(pulled))
        may = now - self._since >= _PATIENCE.total_seconds() or not await self._has_company()
        if may:
            self._since = None  # whoever declares the other one again is waited for as long again
        return may

    async def _has_company(self) -> bool:
        """Whether another node follows the repository, as far as the store knows."""
        try:
            nodes, now = await self._host.store.nodes(), await self._host.store.now()
        except StoreError:
            return True  # it will be asked again
        following = [view for view in nodes if view.until > now and self._kind in (view.node.kinds or ())]
        return len(following) > self.has_begun
