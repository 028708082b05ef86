"""A large revision: its jobs wait in lists that no other node reads, until the revision counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from foliot.model.version import KEPT_REVISIONS, keeps_revisions
from foliot.model.version import Change as Difference
from foliot.stores.optimistic.change import Change
from foliot.stores.optimistic.revision import Effect, FreezeLostError, Stage, StaleBaseError, Step
from foliot.stores.redis.asking import Asking
from foliot.stores.redis.encode import Operation, operation_words

if TYPE_CHECKING:
    from foliot.stores.redis.session import RedisSession

_COUNTED = (Difference.ADDED, Difference.CHANGED, Difference.REMOVED)
_SILENCE = 500_000  # microseconds; if the writer is silent for longer, its source goes on
_ABANDONED = 600_000  # milliseconds; then the lists of a dead writer expire


class RedisStage(Stage):
    """The lists of one revision."""

    def __init__(self, session: RedisSession, step: Step) -> None:
        self._session = session
        self._step = step
        self._id = uuid4().hex

    def put(self, number: int, changes: Sequence[Change]) -> None:
        _, news, words = self._session.encode(changes)
        # Frames are written at once: other jobs may need them, and they do no harm.
        shared, words = words[: 4 + 3 * int(words[3])], words[4 + 3 * int(words[3]) :]
        if shared[3]:
            self._session.run_one("commit", shared)
            self._session.definitions.told(news)
        key = f"stage:{self._id}:{number}"
        pushes = [("RPUSH", key, *words[n : n + 5000]) for n in range(0, len(words), 5000)]
        self._session.ask_all([("DEL", key), *pushes, ("PEXPIRE", key, _ABANDONED)])

    def freeze(self) -> None:
        while True:
            status, facts = self._run("freeze", silence=_SILENCE)
            if status != "FROZEN":
                return
            self._session.wait_for(facts)

    def is_moved(self, number: int) -> bool:
        return bool(self._run("verify", list=number, silence=_SILENCE)[1])

    def count(self, portions: int, effect: Effect) -> None:
        words = operation_words(revision_operations(self._session, self._step, effect))
        self._run("count", words, lists=portions)

    def apply(self) -> None:
        self._session.apply(self._id)

    def _run(self, step: str, words: Sequence[Any] = (), **facts: Any) -> tuple[str, list[Any]]:
        if self._step.base is not None:
            facts["base"] = self._step.base
        status, found = self._session.run_one(
            "stage", words, step=step, stage=self._id, source=self._step.source, **facts
        )
        if status == "LOST":
            raise FreezeLostError
        if status == "STALE":
            raise StaleBaseError
        return status, found


def revision_operations(session: Asking, step: Step, effect: Effect) -> list[Operation]:
    """Write the revision of a source and its counts. The base guards against another revision."""
    source, at = step.source, now_number(session)
    operations: list[Operation] = [
        ("HSET", "rev", source, step.revision),
        ("HSET", "rev_at", source, str(at)),
    ]
    if keeps_revisions(source):
        newest = session.ask("LINDEX", f"revs:{source}", 0)
        ordinal = 1 + (json.loads(newest)[0] if newest else 0)
        row = [ordinal, step.revision, at, *(effect.differences[kind] for kind in _COUNTED)]
        operations.append(("PUSH", f"revs:{source}", KEPT_REVISIONS, json.dumps(row, ensure_ascii=False)))
    return operations


def now_number(session: Asking) -> int:
    """The store's time, in microseconds."""
    told = session.shared.told()
    if told is not None:
        return told
    seconds, micros = session.wire.ask("TIME")
    return int(seconds) * 1_000_000 + int(micros)
