"""A write as it was sent: the script, its conditions, and its words. It may have to be sent again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

HERD = "herd"
_COLUMNS = {"start": 3, "end": 5}  # how many words each job of a herd has


class Written(NamedTuple):
    """A call of a script that was carried out: its facts, and its words."""

    facts: Mapping[str, Any]
    words: Sequence[str | int]
    script: str = "commit"

    def at(self, places: Collection[int]) -> Written:
        """The same call, only for the jobs at some positions, counted from 1."""
        if self.script == HERD:
            return _herd_at(self, sorted(places))
        return self._replace(words=_jobs_at(self.words, places))


def _jobs_at(words: Sequence[str | int], places: Collection[int]) -> list[str | int]:
    """The words of the jobs at some positions, and the operations that belong to no job."""
    found: list[str | int] = []
    at = place = 0
    while at < len(words):
        end = at + 4 + 3 * int(words[at + 3])
        if not place or place in places:
            found += words[at:end]
        at, place = end, place + 1
    return found


def _herd_at(written: Written, places: Sequence[int]) -> Written:
    """The same for a herd, whose words are columns."""
    facts, words, name = written
    size, herds, before = facts["count"], [], 0
    for herd in facts["herds"]:
        after = before + herd["count"]
        if kept := sum(before < place <= after for place in places):
            herds.append({**herd, "count": kept})
        before = after
    columns = range(_COLUMNS[facts["step"]])
    kept_words = [words[column * size + place - 1] for column in columns for place in places]
    return Written({**facts, "count": len(places), "herds": herds}, kept_words, name)
