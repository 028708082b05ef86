"""The identity of a caller: a token, or a session of it, and what it may do."""

from __future__ import annotations

from typing import NamedTuple

from foliot.model.access import Right, Scope, Token


class Identity(NamedTuple):
    """A token that was shown to be valid. `sources` is None: it is limited to none.

    `is_session`: it came by a cookie, which browsers send by themselves: where a change comes from matters.
    """

    token_id: str
    name: str
    scope: Scope
    sources: tuple[str, ...] | None = None
    rights: tuple[Right, ...] = ()
    is_session: bool = False

    @classmethod
    def of(cls, token: Token, *, is_session: bool = False) -> Identity:
        """The identity of a token."""
        return cls(token.id, token.name, token.scope, token.sources, token.rights, is_session)

    @property
    def actor(self) -> str:
        """What the audit calls it."""
        return f"token:{self.token_id} {self.name}"

    def allows(self, scope: Scope, source: str | None = None) -> bool:
        """Whether it may do what needs a scope, to an object of a source; None: to what is of no source.

        A token that is limited to sources may only read what is of no source. Otherwise one of them with the
        scope `admin` could make a token without a limit.
        """
        if not self.scope.includes(scope):
            return False
        if self.sources is None:
            return True
        return scope is Scope.READ if source is None else source in self.sources

    def has_right(self, right: Right) -> bool:
        """Whether it may have jobs with actions of that kind."""
        return right in self.rights
