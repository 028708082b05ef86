"""What the errors of MongoDB's driver mean to a scheduler."""

from __future__ import annotations

from pymongo.errors import ConnectionFailure, ExecutionTimeout, PyMongoError, WTimeoutError

from foliot.errors import StoreError, StoreUnavailableError

_HINTS = {
    121: "the collection's validator refuses it: let the time be null, or set autoRemove",
    13: "the user needs the role readWrite on the database",
}
_AWAY = {50, 64, 91, 189, 10107, 11600, 11602, 13435, 13436}  # time limits, stepping down, no majority


def store_error(verb: str, error: PyMongoError) -> StoreError:
    """An error of the driver as one of ours: the store is away, or it refuses."""
    code: int | None = getattr(error, "code", None)
    # The driver's text goes on with a description of all servers, which differs each time.
    reason = f"{type(error).__name__}: {error}".split(", Timeout:")[0].split(", full error:")[0]
    is_silent = isinstance(error, ConnectionFailure | ExecutionTimeout | WTimeoutError) or error.timeout
    if is_silent or code in _AWAY:
        return StoreUnavailableError(verb, reason)
    hint = None if code is None else _HINTS.get(code)
    return StoreError(f"{verb}: {reason}", details={"verb": verb, "code": code}, hint=hint)
