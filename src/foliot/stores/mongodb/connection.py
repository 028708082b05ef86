"""The driver's client, with safe writes, and the translation of the driver's errors."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bson.errors import BSONError
from pymongo import MongoClient, errors
from pymongo.collection import Collection
from pymongo.database import Database

from foliot.errors import InvalidStoreError, StoreError, StoreUnavailableError, shorten
from foliot.stores.mongodb.address import Address

Document = dict[str, Any]
Client = MongoClient[Document]
Jobs = Collection[Document]
DRIVER_ERRORS = (errors.PyMongoError, BSONError)

DUPLICATE = 11000
CONVERSION = 241  # the error of a guarded write if another writer was quicker (see `guarded` in `codec`)
_TOO_LARGE = (10334, 17419, 17420)
_SHORTEST_WAIT = timedelta(seconds=2)  # for an answer, on a machine that is busy

_NO_ANSWER = (errors.ConnectionFailure, errors.ExecutionTimeout, errors.WriteConcernError)
# Errors that may be over later, by their code.
_LATER = {
    13: "the user lacks rights: readWrite on the database is enough",
    18: "the user or the password is wrong: mongodb://user:password@host/?authSource=admin",
    50: "the server took too long",
    64: "too few members of the replica set answer: a write is not safe yet",
    91: "the server shuts down",
    189: "the primary has stepped down",
    10107: "that is no primary: name all members of the replica set in the URL",
    11600: "the server shuts down",
    11602: "the primary has stepped down",
    13435: "that is no primary: name all members of the replica set in the URL",
    13436: "that is no primary: name all members of the replica set in the URL",
    14031: "the server's disk is full",
}


def connect(address: Address, deadline: timedelta) -> Client:
    """A client, which connects at its first call. Writes wait for a majority and for the journal."""
    wait = int(max(deadline, _SHORTEST_WAIT) / timedelta(milliseconds=1))
    try:
        return MongoClient(
            address.url,
            appname="foliot",
            w="majority",
            journal=True,
            readPreference="primary",
            retryWrites=True,
            timeoutMS=wait,
            connectTimeoutMS=wait,
            serverSelectionTimeoutMS=wait,
            unicode_decode_error_handler="replace",
            tz_aware=True,
        )
    except (*DRIVER_ERRORS, ValueError, TypeError) as error:
        reason = shorten(type(error).__name__)
    raise InvalidStoreError(address.url, f"the driver refuses it ({reason})")


def database_of(client: Client, address: Address) -> Database[Document]:
    """The database of a URL."""
    return client.get_database(address.database)


def translated(verb: str, error: Exception) -> StoreError:
    """Translate an error of the driver: no answer now, or a lasting error. It contains no password."""
    said = shorten(_words(error).strip().partition("\n")[0]) or type(error).__name__
    code = _code(error)
    if isinstance(error, errors.DocumentTooLarge) or code in _TOO_LARGE:
        return StoreError(
            f"{verb}: a document would be larger than the 16 MB that MongoDB keeps",
            details={"verb": verb, "reason": said},
            hint="has a job more than 10,000 open attempts, or very large data?",
        )
    hint = _LATER.get(code or 0)
    if hint is not None or _is_unknown(error):
        return StoreUnavailableError(verb, f"MongoDB says: {said}", hint=hint)
    return StoreError(f"{verb}: MongoDB says: {said}", details={"verb": verb, "reason": said})


def _is_unknown(error: Exception) -> bool:
    """Whether a write may have taken effect, or may still take effect."""
    if isinstance(error, errors.BulkWriteError):
        return bool(error.details.get("writeConcernErrors"))
    if isinstance(error, errors.PyMongoError) and error.timeout:
        return True
    return isinstance(error, _NO_ANSWER)


def _code(error: Exception) -> int | None:
    if isinstance(error, errors.BulkWriteError):
        found = error.details.get("writeErrors") or error.details.get("writeConcernErrors") or [{}]
        code = found[0].get("code")
        return int(code) if code is not None else None
    return error.code if isinstance(error, errors.OperationFailure) else None


def _words(error: Exception) -> str:
    if isinstance(error, errors.BulkWriteError):
        found = error.details.get("writeErrors") or error.details.get("writeConcernErrors") or [{}]
        return str(found[0].get("errmsg", error))
    if isinstance(error, errors.OperationFailure) and error.details:
        return str(error.details.get("errmsg", error))
    return str(error)
