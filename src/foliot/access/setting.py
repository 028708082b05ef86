"""Tokens that an operator gives or finds on a host.

- `FOLIOT_API_TOKEN`, or a file that `FOLIOT_API_TOKEN_FILE` names: a token for containers. It is in no store,
  so it is valid for as long as the process has it.
- `<state directory>/api.token`: made at the first start, if the store has no token. `foliot` finds it there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from foliot.access.token import ENVIRONMENT_ID, NewToken, hash_of, is_secret_of, make_token, read_token
from foliot.errors_access import InvalidTokenError
from foliot.model.access import Scope, Token
from foliot.protocols_access import AccessStore, TokenQuery

VARIABLE = "FOLIOT_API_TOKEN"
FILE_NAME = "api.token"
SHORTEST = 32
_LONGEST = 1000
_FEWEST_CHARACTERS = 10  # different ones; a random text of 32 hex digits has 13 or more, nearly always
_PLACEHOLDERS = (
    "changeme",
    "replaceme",
    "placeholder",
    "example",
    "yourtoken",
    "inserttoken",
    "secrettoken",
    "todo",
)
_HINT = "foliot token create --name NAME --scope admin, or: openssl rand -hex 32"


def environment_token(environment: Mapping[str, str], now: datetime) -> Token | None:
    """The token that the environment gives, if it does; InvalidTokenError if it is a bad one."""
    text, path = environment.get(VARIABLE), environment.get(f"{VARIABLE}_FILE")
    if text is not None and path is not None:
        raise InvalidTokenError(VARIABLE, f"and {VARIABLE}_FILE are both set", hint="set one of them")
    if text is None and path is None:
        return None
    field = VARIABLE if path is None else f"{VARIABLE}_FILE"
    given = _read(Path(path), field) if path is not None else (text or "").strip()
    _check(given, field)
    token_id, secret = read_token(given)
    return Token(token_id, ENVIRONMENT_ID, hash_of(secret), Scope.ADMIN, now)


def _check(text: str, field: str) -> None:
    if len(text) < SHORTEST:
        raise InvalidTokenError(field, f"has fewer than {SHORTEST} characters", hint=_HINT)
    if len(text) > _LONGEST or not text.isascii() or not text.isprintable() or " " in text:
        raise InvalidTokenError(
            field, f"must be at most {_LONGEST} printable characters of ASCII, without spaces", hint=_HINT
        )
    plain = "".join(filter(str.isalnum, text.lower()))
    if len(set(text)) < _FEWEST_CHARACTERS or any(word in plain for word in _PLACEHOLDERS):
        raise InvalidTokenError(field, "is a placeholder, and no secret", hint=_HINT)


def _read(path: Path, field: str) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(_LONGEST + 2).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise InvalidTokenError(field, f"names {path}, which cannot be read: {reason}") from None


class TokenFile(NamedTuple):
    """The token file of a host: where it is, and the token in it."""

    path: Path
    token: Token
    is_new: bool


async def open_token_file(store: AccessStore, directory: Path, host: str, now: datetime) -> TokenFile | None:
    """The token file, if its token is valid. Without any token in the store, a new file is made.

    None: the store has tokens, but none of this host's files is among them. A new file is made only if the
    store has none: a token that was revoked must not come back. The file of another store is kept beside it.
    """
    path = directory / FILE_NAME
    if await store.tokens(TokenQuery(limit=1)):
        for file in (path, *_set_aside_in(directory)):
            if (token := await _known(store, file, now)) is not None:
                return TokenFile(file, token, is_new=False)
        return None
    _set_aside(path)
    made = make_token(f"first token of {host}", Scope.ADMIN, now)
    # The file first: a token in the store whose text is lost would keep the next start from making another.
    write_token_file(path, made)
    await store.add_token(made.token)
    return TokenFile(path, made.token, is_new=True)


def _set_aside_in(directory: Path) -> list[Path]:
    return sorted(directory.glob("api-*.token"))


def _set_aside(path: Path) -> None:
    """Keep the token of another store under its id: the daemon of that store finds it there."""
    text = token_in_file(path)
    if text is not None and (token_id := read_token(text)[0]).isalnum():
        with suppress(OSError):
            path.rename(path.with_name(f"api-{token_id}.token"))


async def _known(store: AccessStore, path: Path, now: datetime) -> Token | None:
    if (text := token_in_file(path)) is None:
        return None
    token_id, secret = read_token(text)
    token = await store.token(token_id)
    return token if is_secret_of(secret, token) and token is not None and token.is_valid(now) else None


def token_in_file(path: Path) -> str | None:
    """The text of the token in a file; None if there is none that can be read."""
    try:
        return _read(path, FILE_NAME) or None
    except InvalidTokenError:
        return None


def write_token_file(path: Path, made: NewToken) -> None:
    """Write a file that only its owner can read. InvalidTokenError if that is not possible."""
    beside = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A new file, and never one that another user has put there: so no other user has it open.
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{made.text}\n")
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise InvalidTokenError(
            "the token file", f"{path} cannot be written: {error.strerror}",
            hint=f"set {VARIABLE}, or make a token with foliot token create",
        ) from None  # fmt: skip
