"""Documents of a collection of yours in MongoDB, which Node's mongodb-cron may work on, too.

A job is taken by one `findOneAndUpdate`. Each later write is guarded by the value of our lock and by the
job's own fields as they were read (docs/adr/0042); it sets one path of the document, so everything else stays
as it is.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from bson import decode
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.datetime_ms import DatetimeMS
from bson.raw_bson import RawBSONDocument
from pymongo import ReadPreference, WriteConcern
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.collection import Collection
from pymongo.errors import PyMongoError

from foliot.clock import SystemClock
from foliot.doors.documents.errors import BadDocumentError, InvalidConfigError
from foliot.doors.documents.fields import ID, Fields, ancestors, read, write
from foliot.doors.documents.job import (
    MILLISECOND,
    Job,
    JobUpdate,
    Settled,
    ceil_ms,
    floor_ms,
    milliseconds,
)
from foliot.doors.documents.stores.mongodb_errors import store_error
from foliot.doors.documents.stores.server_time import ServerTime
from foliot.doors.documents.stores.settling import settle_guarded
from foliot.errors import JobNotFoundError, StoreUnavailableError, shorten
from foliot.protocols import Clock

AnyCollection: TypeAlias = Collection[Any] | AsyncCollection[Any]
_NO_ARRAY = {"$not": {"$type": "array"}}  # $set refuses a path through an array, each time that it is tried
_LENIENT: CodecOptions[dict[str, Any]] = CodecOptions(
    unicode_decode_error_handler="replace", datetime_conversion=DatetimeConversion.DATETIME_MS
)
_EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class MongoStore:
    """A collection, or a function that gives one when it is first needed. Sync ones are used in threads.

    The fields may be paths with dots. `condition` is a filter: only documents that match it are ours. With
    `token_field`, each lock adds one to that field, and `job.token` is its value.
    """

    def __init__(  # noqa: PLR0913 - the seed's options
        self,
        collection: AnyCollection | Callable[[], AnyCollection],
        *,
        sleep_until_field: str = "sleepUntil",
        interval_field: str = "interval",
        repeat_until_field: str = "repeatUntil",
        auto_remove_field: str = "autoRemove",
        condition: Mapping[str, Any] | None = None,
        token_field: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.fields = Fields(
            sleep_until=sleep_until_field,
            interval=interval_field,
            repeat_until=repeat_until_field,
            auto_remove=auto_remove_field,
        )
        if condition is not None and not isinstance(condition, Mapping):
            raise InvalidConfigError("condition", f"must be a filter of MongoDB, not {shorten(condition)}")
        self.condition = condition
        self._token_field = token_field
        self._given = collection
        self._checked: AnyCollection | None = None
        if isinstance(collection, Collection | AsyncCollection) or not callable(collection):
            self._checked = _checked(collection)
        self._time = ServerTime(self._server_time, clock or SystemClock())

    # -- the three verbs ---------------------------------------------------------------------------

    async def lock_next(self, lock_until: datetime) -> Job | None:
        path = self.fields.sleep_until
        # Before the lock that is written: so each lock is later than the last, whatever the clocks say.
        due_by = min(await self.now(), lock_until - MILLISECOND)
        wanted: dict[str, Any] = {path: {"$lte": due_by, **_NO_ARRAY}}
        wanted |= dict.fromkeys(ancestors(path), _NO_ARRAY)
        if self.condition:
            wanted = {"$and": [wanted, self.condition]}
        change: dict[str, Any] = {"$set": {path: lock_until}}
        if self._token_field is not None:
            change["$inc"] = {self._token_field: 1}
        raw = await self._ask("lock_next", "find_one_and_update", wanted, change, sort=[(path, 1)])
        if raw is None:
            return None
        document = self._decoded(raw)
        token = None if self._token_field is None else int(read(document, self._token_field) or 0) + 1
        return self._job(document, token)

    async def update(self, id: Any, updates: JobUpdate) -> None:  # noqa: A002 - the protocol's word
        changes = self.fields.changes(_rounded(updates))
        if changes:
            done = await self._ask("update", "update_one", {ID: id}, {"$set": changes})
            is_there = done.matched_count > 0
        else:
            is_there = await self._ask("update", "find_one", {ID: id}, {ID: 1}) is not None
        if not is_there:
            raise JobNotFoundError(str(id))

    async def remove(self, id: Any) -> None:  # noqa: A002 - the protocol's word
        await self._ask("remove", "delete_one", {ID: id})

    # -- locks that can be proved ------------------------------------------------------------------

    async def renew(self, job: Job, held: datetime, until: datetime) -> bool:
        path = self.fields.sleep_until
        done = await self._ask("renew", "update_one", {ID: job.id, path: held}, {"$set": {path: until}})
        return bool(done.matched_count)

    async def settle(self, job: Job, held: datetime, updates: JobUpdate | None) -> Settled:
        held, updates = floor_ms(held), updates and _rounded(updates)
        lock = {ID: job.id, self.fields.sleep_until: held}
        paths = (self.fields.interval, self.fields.repeat_until, self.fields.auto_remove)
        own = {path: {"$eq": read(job.data, path)} for path in paths}  # of a missing field: None, as for null

        async def end(is_strict: bool) -> bool:  # noqa: FBT001 - what `settle_guarded` calls
            guard = {**lock, **own} if is_strict else lock
            if updates is None:
                return bool((await self._ask("settle", "delete_one", guard)).deleted_count)
            change = {"$set": self.fields.changes(updates)}
            return bool((await self._ask("settle", "update_one", guard, change)).matched_count)

        return await settle_guarded(job, held, updates, end=end, get=self.get)

    # -- time, and documents for people ------------------------------------------------------------

    async def now(self) -> datetime:
        return await self._time.now()

    async def put(self, document: Mapping[str, Any]) -> Any:
        """Add a document, or replace the one that has its `_id`; returns the `_id`."""
        if ID in document:
            await self._ask("put", "replace_one", {ID: document[ID]}, document, upsert=True)
            return document[ID]
        return (await self._ask("put", "insert_one", dict(document))).inserted_id

    async def get(self, id: Any) -> Job | None:  # noqa: A002 - the protocol's word
        raw = await self._ask("get", "find_one", {ID: id})
        return None if raw is None else self._job(self._decoded(raw))

    async def create_index(self) -> str:
        """Make the index by which due documents are found: first what the condition fixes, then the time."""
        keys = [(name, 1) for name in self._fixed_fields()] + [(self.fields.sleep_until, 1)]
        name: str = await self._ask("create_index", "create_index", keys, sparse=True)
        return name

    async def warnings(self) -> list[str]:
        """What a person should know: there is no index, or a document whose time is no date."""
        path, found = self.fields.sleep_until, []
        indexes = await self._ask("warnings", "index_information")
        if not any(self._leads(index["key"]) for index in indexes.values()):
            found.append(f"no index of the collection begins with {path}: call store.create_index()")
        odd = {path: {"$exists": True, "$ne": None, "$not": {"$type": "date"}}}
        document = await self._ask("warnings", "find_one", odd, {ID: 1})
        if document is not None:
            found.append(f"document {shorten(document[ID])}: {path} is no date, so it is never picked")
        return found

    # -- inside ------------------------------------------------------------------------------------

    def _fixed_fields(self) -> list[str]:
        condition = self.condition or {}
        return [
            name for name, value in condition.items() if name[:1] != "$" and not isinstance(value, Mapping)
        ]

    def _leads(self, keys: list[tuple[str, Any]]) -> bool:
        """Whether an index has the time first, or after nothing but what the condition fixes."""
        names = [name for name, _ in keys]
        path = self.fields.sleep_until
        return path in names and set(names[: names.index(path)]) <= set(self._fixed_fields())

    def _job(self, document: Mapping[str, Any], token: int | None = None) -> Job:
        return self.fields.job(document, token=token)

    def _decoded(self, raw: RawBSONDocument) -> dict[str, Any]:
        """The document behind an answer: read apart, so that one that cannot be read is told with its id."""
        options = self._collection().codec_options.with_options(
            document_class=dict,
            tz_aware=True,
            tzinfo=UTC,
            datetime_conversion=DatetimeConversion.DATETIME_AUTO,
        )
        try:
            document: dict[str, Any] = decode(raw.raw, codec_options=options)
        except Exception as error:
            raise BadDocumentError(_id_of(raw), "the document", "", f"cannot be read: {error}") from error
        _clamp(document, self.fields.sleep_until)
        _clamp(document, self.fields.repeat_until)
        return document

    def _collection(self) -> AnyCollection:
        if self._checked is None:
            assert callable(self._given)  # noqa: S101 - for the type checker: others were checked at once
            self._checked = _checked(self._given())
        return self._checked

    async def _ask(self, verb: str, method: str, *arguments: Any, **options: Any) -> Any:
        return await _answer(verb, getattr(self._collection(), method), *arguments, **options)

    async def _server_time(self) -> datetime:
        database: Any = self._collection().database.client.admin
        told: datetime = (await _answer("now", database.command, "hello"))["localTime"]
        return told.replace(tzinfo=UTC) if told.tzinfo is None else told.astimezone(UTC)


async def _answer(verb: str, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    try:
        if inspect.iscoroutinefunction(method):
            answer: Awaitable[Any] = method(*arguments, **options)
            return await answer
        return await asyncio.to_thread(method, *arguments, **options)
    except PyMongoError as error:
        raise store_error(verb, error) from error
    except AttributeError as error:
        # A server that steps down answers with an error, and the driver tries to change that answer, which it
        # cannot if answers are read as they come. Whether the call took effect is unknown.
        if RawBSONDocument.__name__ not in str(error):
            raise
        raise StoreUnavailableError(verb, "the server is stepping down") from error


def _checked(collection: object) -> AnyCollection:
    """A collection whose writes are safe, and whose answers are read as they come."""
    if not isinstance(collection, Collection | AsyncCollection):
        raise InvalidConfigError(
            "collection",
            f"must be a collection of PyMongo, not {shorten(type(collection).__qualname__)}",
            hint="AsyncMongoClient(…).database.collection; Motor's clients are not supported",
        )
    if not collection.write_concern.acknowledged:
        raise InvalidConfigError("collection", "has write concern 0: no write would be sure")
    if collection.read_preference != ReadPreference.PRIMARY:
        raise InvalidConfigError("collection", "must be read from the primary", hint="ReadPreference.PRIMARY")
    concern = collection.write_concern
    codec: CodecOptions[Any] = collection.codec_options.with_options(document_class=RawBSONDocument)
    return collection.with_options(
        codec_options=codec,
        write_concern=WriteConcern(w="majority", j=True) if concern.is_server_default else concern,
    )


def _rounded(updates: JobUpdate) -> JobUpdate:
    """What MongoDB keeps of an update: milliseconds, and a time is never too early."""
    at = updates.sleep_until
    return replace(updates, sleep_until=ceil_ms(at)) if isinstance(at, datetime) else updates


def _id_of(raw: RawBSONDocument) -> object:
    try:
        return decode(raw.raw, codec_options=_LENIENT).get(ID)
    except Exception:  # noqa: BLE001 - not even that can be read
        return "?"


def _clamp(document: dict[str, Any], path: str) -> None:
    """Bring a date that Python cannot show to the end of its calendar."""
    value = read(document, path)
    if isinstance(value, DatetimeMS):
        write(document, path, _EARLIEST if int(value) < milliseconds(_EARLIEST) else _LATEST)
