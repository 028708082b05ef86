"""URLs of requests: which URLs are allowed, and which part of a URL may be shown."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

from foliot.network.errors import InvalidUrlError
from foliot.network.guard import plain_host, split_host

LONGEST_URL = 2_000
_PORTS = {"http": 80, "https": 443}


class Url(NamedTuple):
    """A URL in parts. `target` is the path with the query."""

    scheme: str
    host: str
    port: int
    target: str

    @classmethod
    def read(cls, text: str, *, allow_http: bool = False) -> Url:
        """Read a URL; InvalidUrlError if it is invalid, or not safe to use."""
        if len(text) > LONGEST_URL:
            raise InvalidUrlError(text, f"is longer than {LONGEST_URL:,} characters")
        if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
            raise InvalidUrlError(text, "has characters that no URL has", hint="escape them: %20 for a space")
        parts = _split(text)
        if parts.scheme not in _PORTS:
            raise InvalidUrlError(text, "is no address of the web", hint="it begins with https://")
        if parts.scheme == "http" and not allow_http:
            raise InvalidUrlError(text, "is not encrypted", hint="use https://")
        if "@" in parts.netloc:
            raise InvalidUrlError(text, "has credentials in it", hint="use a header, or a secret reference")
        host, port = split_host(parts.netloc)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.scheme, host, port or _PORTS[parts.scheme], target)

    @property
    def origin(self) -> str:
        """The server: scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{plain_host(host)}{port}"

    @property
    def shown(self) -> str:
        """Only scheme and host: the path and the query of a webhook are often its secret."""
        return f"{self.origin}/…"

    def redirected(self, location: str) -> Url:
        """The target of a redirect. InvalidUrlError if it is invalid, or is http while this one is https."""
        try:
            text = urljoin(self.origin + self.target, location)
        except ValueError as error:
            raise InvalidUrlError(location, f"cannot be read ({error})") from None
        return Url.read(text, allow_http=self.scheme == "http")


def _split(text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError as error:
        raise InvalidUrlError(text, f"cannot be read ({error})") from None
