"""Texts of tokens: `flt_<10 id>_<43 secret>`.

The id finds the token in the store and is no secret. The secret has 256 random bits.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from foliot.errors_access import InvalidTokenError
from foliot.model.access import Right, Scope, Token
from foliot.model.job import LONGEST_NAME, is_name

ENVIRONMENT_ID = "environment"  # begins the id of a token that has another form, and is in no store
LONGEST_LIFE = timedelta(days=36_525)
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_FORM = re.compile(r"flt_([a-z0-9]{10})_([A-Za-z0-9_-]{43})", re.ASCII)
_NO_HASH = sha256(b"no token has this secret").hexdigest()


class NewToken(NamedTuple):
    """A token as it is stored, and its text, which is shown once."""

    token: Token
    text: str


class Presented(NamedTuple):
    """The text of a token, taken apart."""

    id: str
    secret: str


def make_token(  # noqa: PLR0913 - each is a fact of the token
    name: str,
    scope: Scope,
    now: datetime,
    *,
    sources: Iterable[str] | None = None,
    rights: Iterable[Right] = (),
    life: timedelta | None = None,
    new_secret: Callable[[], str] = lambda: secrets.token_urlsafe(32),
) -> NewToken:
    """A new token. InvalidTokenError if it cannot be so."""
    limits = None if sources is None else tuple(sorted(set(sources)))
    for field, text in (
        ("the name of a token", name),
        *(("the source of a token", one) for one in limits or ()),
    ):
        if not is_name(text):
            raise InvalidTokenError(field, f"must be a printable text of 1 to {LONGEST_NAME} characters")
    if limits == ():
        raise InvalidTokenError("a token", "is limited to no source at all: it could do nothing")
    if life is not None and not timedelta(0) < life <= LONGEST_LIFE:
        raise InvalidTokenError("the life of a token", "must be positive, and 100 years at most")
    token_id = "".join(secrets.choice(_LETTERS) for _ in range(10))
    secret = new_secret()
    token = Token(
        token_id, name, hash_of(secret), scope, now, limits, tuple(sorted(set(rights))),
        None if life is None else now + life,
    )  # fmt: skip
    return NewToken(token, f"flt_{token_id}_{secret}")


def read_token(text: str) -> Presented:
    """The parts of a text. One of another form may be the token of the environment.

    The id of that token comes from its text: a new text is a new token, and ends the sessions of the old one.
    """
    found = _FORM.fullmatch(text)
    return Presented(*found.groups()) if found else Presented(f"{ENVIRONMENT_ID}-{hash_of(text)[:10]}", text)


def hash_of(secret: str) -> str:
    """What is stored of a secret."""
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


def is_secret_of(secret: str, token: Token | None) -> bool:
    """Whether it is the secret of a token. Without a token it takes as long, and is not."""
    is_same = hmac.compare_digest(hash_of(secret), _NO_HASH if token is None else token.hash)
    return is_same and token is not None
