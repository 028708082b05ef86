"""What attempts wrote, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock

from foliot.model.output import HEAD, Output, OutputPart, joined
from foliot.stores.matching import Key


class Outputs:
    """Whole texts of attempts that have ended, and the parts of those that run."""

    def __init__(self) -> None:
        self._whole: dict[Key, Output] = {}
        self._parts: dict[Key, dict[int, str]] = {}

    def write(self, outputs: Sequence[Output]) -> None:
        """Keep texts; their parts are not needed any more."""
        for output in outputs:
            key = output.run_key, output.number
            self._whole[key] = output
            self._parts.pop(key, None)

    def append(self, parts: Sequence[OutputPart]) -> None:
        """Keep what has come since. Parts that come after the whole do not count."""
        for job, run_key, number, start, text, kept_from in parts:
            key = run_key, number
            if self._whole.setdefault(key, Output(job, run_key, number, "")).text:
                continue
            known = self._parts.setdefault(key, {})
            known[start] = text
            for place in [place for place in known if HEAD <= place < kept_from]:
                del known[place]

    def read(self, key: Key, after: int) -> Output | None:
        """What an attempt wrote from a place on."""
        whole, parts = self._whole.get(key), self._parts.get(key, {})
        if whole is None:
            return None
        return (joined(whole, sorted(parts.items())) if parts else whole).since(after)

    def forget(self, key: Key) -> None:
        """Its attempt is forgotten."""
        self._whole.pop(key, None)
        self._parts.pop(key, None)


class OutputVerbs:
    """The verbs of `OutputStore`."""

    _lock: RLock
    _outputs: Outputs

    async def write_outputs(self, outputs: Sequence[Output]) -> None:
        with self._lock:
            self._outputs.write(outputs)

    async def append_outputs(self, parts: Sequence[OutputPart]) -> None:
        with self._lock:
            self._outputs.append(parts)

    async def output(self, run_key: str, number: int, after: int = 0) -> Output | None:
        with self._lock:
            return self._outputs.read((run_key, number), after)
