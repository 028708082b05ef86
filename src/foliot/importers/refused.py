"""What is not translated."""

from __future__ import annotations


class RefusedError(Exception):
    """A line or unit that is not translated: a code, why, and what to do."""

    def __init__(self, code: str, reason: str, to_do: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.to_do = to_do
