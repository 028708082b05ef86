"""What attempts write: whole texts within a bound, and the parts in which they grow.

An attempt may write more than is kept. Then the beginning and the end are kept, and a mark between them says
how much is missing. A place in an output is counted in characters of all that was written, so it means the
same however much of the middle is missing when it is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

HEAD, TAIL = 16_000, 48_000  # characters that are kept of the beginning, and of the end


class Output(NamedTuple):
    """What an attempt wrote from `start` on; `dropped` says how many characters are missing in the middle."""

    job: str
    run_key: str
    number: int
    text: str
    dropped: int = 0
    start: int = 0

    @property
    def end(self) -> int:
        """Where it ends: from here on the next part is to be asked for."""
        head, tail = self._ends
        return self.start + len(head) + self.dropped + len(tail)

    @property
    def _ends(self) -> tuple[str, str]:
        """The texts before and behind the gap."""
        head, mark, tail = self.text.partition(gap_mark(self.dropped)) if self.dropped else ("", "", "")
        return (head, tail) if mark else ("", self.text)

    def since(self, place: int) -> Output:
        """The output from a position on; missing characters are marked."""
        head, tail = self._ends
        begin = self.start + len(head) + self.dropped  # of the tail
        if place <= self.start:
            return self
        if place >= begin:
            return self._replace(text=tail[place - begin :], dropped=0, start=min(place, self.end))
        missing = begin - max(place, self.start + len(head))
        text = f"{head[place - self.start :]}{gap_mark(missing) if missing else ''}{tail}"
        return self._replace(text=text, dropped=missing, start=place)


class OutputPart(NamedTuple):
    """What an attempt has written lately, from the place `start` on, while it runs.

    Parts that begin behind the first `HEAD` characters and before `kept_from` are no longer kept.
    """

    job: str
    run_key: str
    number: int
    start: int
    text: str
    kept_from: int = 0


def gap_mark(count: int) -> str:
    """The mark for missing characters."""
    return f"\n… {count} characters left out …\n"


def joined(first: Output, parts: Iterable[tuple[int, str]]) -> Output:
    """An output made of its parts, in order. If there are several gaps, the first mark counts them all."""
    texts: list[str] = []
    end, dropped, gap_at = first.start, 0, 0
    for start, text in parts:
        if start > end:
            gap_at = gap_at if dropped else len(texts)
            dropped += start - end
        texts.append(text[max(0, end - start) :])
        end = max(end, start + len(text))
    if dropped:
        texts.insert(gap_at, gap_mark(dropped))
    return first._replace(text="".join(texts), dropped=dropped)
