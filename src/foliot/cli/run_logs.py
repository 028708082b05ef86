"""What a run writes, as it grows: how the new part of a stored text is found, and how it is shown.

What is stored is the beginning and the end of all that was written, with a mark between them that tells how
much was left out. While a run goes on, that text is replaced by a longer one about once a second: the gap
moves, and what was shown already must not be shown again.
"""

from __future__ import annotations

from foliot.cli.output import visible
from foliot.protocols import Output


class Growth:
    """The new part of a text that is looked at again and again."""

    def __init__(self) -> None:
        self._seen = 0  # how much of all that was written, what was left out included

    def new_part(self, output: Output | None) -> str:
        """What has come since the last look; if some of it was left out meanwhile, that is told."""
        if output is None:
            return ""
        head, tail = _ends(output)
        begin = len(head) + output.dropped
        before, self._seen = self._seen, max(self._seen, begin + len(tail))
        if before >= begin:
            return tail[before - begin :]
        missing = begin - max(before, len(head))
        gap = gap_mark(missing) if missing else ""
        return f"{head[before:]}{gap}{tail}"


def _ends(output: Output) -> tuple[str, str]:
    """The beginning and the end of what was written."""
    head, mark, tail = output.text.partition(gap_mark(output.dropped)) if output.dropped else ("", "", "")
    return (head, tail) if mark else ("", output.text)


def gap_mark(count: int) -> str:
    """What stands where so many characters are missing."""
    return f"\n… {count} characters left out …\n"


class Screen:
    """Makes text harmless, unless told not to: no character is left that would steer a terminal.

    A pipe gets the same as a terminal: what it carries is shown on one in the end, as by `| tee`.
    """

    def __init__(self, *, is_raw: bool) -> None:
        self._is_raw = is_raw
        self._kept = ""  # a carriage return that may belong to the end of a line

    def fit(self, text: str) -> str:
        """The text as it may be written now."""
        if self._is_raw:
            return text
        text = self._kept + text
        self._kept = "\r" if text.endswith("\r") else ""
        return "\n".join(map(shown_line, text.removesuffix("\r").split("\n")))


def shown_line(line: str) -> str:
    """A line with everything escaped that could steer a terminal. Tabs stay: they harm nobody."""
    return "\t".join(map(visible, line.removesuffix("\r").split("\t")))
