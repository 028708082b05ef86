"""Definitions as stored texts: `DIGEST DATA`. The digest names the frame, which many jobs share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha1
from typing import Any

from foliot.errors import DamagedRecordError
from foliot.model.damage import damage_of
from foliot.model.job import Job
from foliot.model.version import Version
from foliot.stores.sql.codes import UNREADABLE, an_instant, instant
from foliot.stores.sql.definition import Frame, Mould, Reader, Writer, data_text

FindFrames = Callable[[Sequence[str]], Sequence[str | bytes | None]]  # as JSON lists of two texts


class Definitions:
    """Reads and writes definitions, for one thread. It caches the frames that it has read or written."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._writer = Writer()
        self._digests: dict[int, tuple[Frame, str]] = {}
        self._texts: dict[str, tuple[str, str]] = {}  # of frames, by digest
        self._told: set[str] = set()  # what the server knows

    def forget(self) -> None:
        """Forget which frames the server has: it may have lost them."""
        self._told.clear()
        self._texts.clear()
        self._digests.clear()

    # -- writing -----------------------------------------------------------------------------------

    def text(self, job: Job) -> str:
        """The text of a job; InvalidJobError if it has none."""
        return f"{self._digest(job)} {data_text(job)}"

    def version_text(self, job: Job, span: tuple[Any, ...]) -> str:
        """The text of a former definition, with its period."""
        return json.dumps((self.text(job), *span), ensure_ascii=False)

    def _digest(self, job: Job) -> str:
        frame = self._writer.frame(job)
        known = self._digests.get(id(frame))
        if known is None or known[0] is not frame:
            if len(self._digests) > 4096:  # noqa: PLR2004 - frames that are alive are kept by the writer
                self._digests.clear()
            text = f"{frame.frame}\n{frame.policy}"
            known = frame, sha1(text.encode(), usedforsecurity=False).hexdigest()[:16]
            self._digests[id(frame)] = known
            self._texts[known[1]] = frame.frame, frame.policy
        return known[1]

    def unknown_frames(self, jobs: Iterable[Job]) -> dict[str, tuple[str, str]]:
        """The frames of jobs that the server does not have yet, by their digests."""
        digests = {self._digest(job) for job in jobs} - self._told
        return {digest: self._texts[digest] for digest in sorted(digests)}

    def server_knows(self, names: Iterable[str]) -> None:
        """The server knows these frames now."""
        self._told.update(names)

    # -- reading -----------------------------------------------------------------------------------

    def learn(self, texts: Iterable[str], find: FindFrames) -> None:
        """Read the frames of definitions that are not cached."""
        digests = {text.partition(" ")[0] for text in texts} - self._texts.keys()
        wanted = sorted(digest for digest in digests if digest)
        for digest, found in zip(wanted, find(wanted) if wanted else (), strict=True):
            if found is not None:
                frame, policy = json.loads(found)
                self._texts[digest] = frame, policy

    def job(self, key: str, text: str) -> Job:
        """The job of a text; DamagedRecordError if it cannot be read."""
        digest, _, data = text.partition(" ")
        frame, policy = self._frame(digest)
        return self._reader.job(key, frame, data, policy)

    def mould(self, digest: str) -> Mould:
        """What all jobs of a frame share; DamagedRecordError if it cannot be read."""
        return self._reader.mould(*self._frame(digest))

    def _frame(self, digest: str) -> tuple[str, str]:
        texts = self._texts.get(digest)
        if texts is None:
            raise DamagedRecordError("definition", digest[:200], "names a frame that is not there")
        return texts

    def version(self, key: str, number: int, row: Sequence[Any]) -> Version:
        """A definition that a job had."""
        text, since, until, replaced_by = row
        span = an_instant(since), instant(until), replaced_by
        try:
            return Version(number, self.job(key, text), *span)
        except (DamagedRecordError, *UNREADABLE) as error:
            return Version(number, None, *span, damage_of(error))
