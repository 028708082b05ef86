"""Hides secrets in what a command writes, also those that come in two pieces."""

from __future__ import annotations

from collections.abc import Sequence

MASK = "***"


class Mask:
    """One stream of text. The end of a piece is held back while it may be the beginning of a secret."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = sorted(filter(None, secrets), key=len, reverse=True)
        self._starts = {secret[0] for secret in self._secrets}
        self._held = ""

    def hide(self, text: str, *, is_last: bool = False) -> str:
        """A piece without secrets."""
        if not self._secrets:
            return text
        text, done = self._held + text, 0
        shown: list[str] = []
        end = len(text) if is_last else self._open_end(text, 0)
        while (found := self._first(text, done)) and found[0] < end:
            at, secret = found
            shown += text[done:at], MASK
            done = at + len(secret)
            if end < done:  # what was held back begins inside of this secret
                end = self._open_end(text, done)
        self._held = text[end:]
        return "".join(shown) + text[done:end]

    def _first(self, text: str, start: int) -> tuple[int, str] | None:
        """The first secret from a place on; of two at one place the longer."""
        places = ((text.find(secret, start), secret) for secret in self._secrets)
        return min(
            ((at, secret) for at, secret in places if at >= 0), default=None, key=lambda found: found[0]
        )

    def _open_end(self, text: str, start: int) -> int:
        """Where the text ends with the beginning of a secret; its length if it does not."""
        longest = len(self._secrets[0]) - 1
        for at in range(max(start, len(text) - longest), len(text)):
            if text[at] in self._starts:
                end = text[at:]
                if any(len(end) < len(secret) and secret.startswith(end) for secret in self._secrets):
                    return at
        return len(text)
