"""Errors of requests. Callers turn them into results of a run or a send: a user never sees them raised.

FoliotError
├── InvalidUrlError                  a web address cannot be right, or is not safe to use
└── NetworkError                     a request to a server had no answer
    ├── AddressRefusedError          ... because the server may not be reached from here
    └── RequestFailedError           ... because there was no connection, or no answer in time
"""

from __future__ import annotations

from foliot.errors import FoliotError, shorten
from foliot.shown import host_only


class InvalidUrlError(FoliotError, ValueError):
    """A web address cannot be right, or is not safe to use. Only its scheme and host are shown."""

    def __init__(self, url: str, reason: str, *, hint: str | None = None) -> None:
        shown = host_only(url)
        super().__init__(
            f"invalid URL {shorten(shown)}: {reason}",
            details={"url": shorten(shown), "reason": reason},
            hint=hint,
        )
        self.reason = reason


class NetworkError(FoliotError):
    """A request to a server had no answer."""


class AddressRefusedError(NetworkError):
    """A request must not reach that address. Nothing was sent."""

    def __init__(self, host: str, address: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"{shorten(host)} may not be reached: {address} {reason}",
            details={"host": host, "address": address, "reason": reason},
            hint=hint,
        )


class RequestFailedError(NetworkError):
    """There was no connection, or no answer in time; whether the request took effect is unknown."""

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(f"{shorten(server)} {reason}", details={"server": server, "reason": reason})
        self.reason = reason
