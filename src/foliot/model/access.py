"""Who may use the API: tokens, the browser sessions that tokens open, and codes that open a session once.

    token  flt_<id>_<secret>   for programs, and to log in with     kept until it is revoked
    code   a random text       printed when the server starts       10 minutes, one use
    session  a cookie          for browsers, of one token           12 hours idle, 7 days at most

No secret is stored, only its SHA-256. A secret has 256 random bits, so nothing slower is needed to hide it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

SESSION_IDLE = timedelta(hours=12)
SESSION_LIFE = timedelta(days=7)
CODE_LIFE = timedelta(minutes=10)


class Scope(StrEnum):
    """What a token may do. Each scope includes those before it."""

    READ = "read"
    OPERATE = "operate"  # pause, resume, trigger, cancel, backfill
    WRITE = "write"  # declare, change and remove jobs
    ADMIN = "admin"  # tokens, audit, sources

    def includes(self, other: Scope) -> bool:
        """Whether this scope may do all that the other one may."""
        return _ORDER.index(self) >= _ORDER.index(other)


_ORDER = tuple(Scope)


class Right(StrEnum):
    """Kinds of actions that no scope includes: a token has them by name."""

    SHELL = "shell"
    HTTP = "http"
    CELERY = "celery"


class Token(NamedTuple):
    """A token. `hash` is the SHA-256 of its secret, in hex. `sources` is None: it is limited to none."""

    id: str
    name: str
    hash: str
    scope: Scope
    created_at: datetime
    sources: tuple[str, ...] | None = None
    rights: tuple[Right, ...] = ()
    expires_at: datetime | None = None
    last_used_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether it has not expired."""
        return self.expires_at is None or now < self.expires_at


class Session(NamedTuple):
    """A browser that has logged in. `hash` is the SHA-256 of its cookie, in hex."""

    hash: str
    token_id: str
    created_at: datetime
    seen_at: datetime

    @property
    def ends_at(self) -> datetime:
        """When it ends, unless it is seen again: 12 hours after that, 7 days after it began at most."""
        return min(self.seen_at + SESSION_IDLE, self.created_at + SESSION_LIFE)

    def is_valid(self, now: datetime) -> bool:
        """Whether it has not ended."""
        return now < self.ends_at


class LoginCode(NamedTuple):
    """A code that opens one session of a token. `hash` is the SHA-256 of the code, in hex."""

    hash: str
    token_id: str
    created_at: datetime

    def is_valid(self, now: datetime) -> bool:
        """Whether it is younger than 10 minutes."""
        return now < self.created_at + CODE_LIFE
