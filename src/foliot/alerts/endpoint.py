"""The URL of a channel, given directly or by reference to a secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from foliot.alerts.channel import Sent
from foliot.errors import InvalidChannelError
from foliot.network.errors import InvalidUrlError
from foliot.network.guard import Guard
from foliot.network.secrets import Secret, SecretMissingError, check_literal_url, is_reference
from foliot.network.url import Url


class Target(NamedTuple):
    """The URL on this node now, and the guard for requests to it."""

    url: Url
    guard: Guard


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL, or a reference to one. A URL of the operator may use http, and a private network."""

    text: str
    is_trusted: bool

    @classmethod
    def read(cls, text: object, field: str, *, is_trusted: bool) -> Endpoint:
        """Read a URL or a reference. InvalidChannelError if it is neither, or if it shows a secret."""
        if not isinstance(text, str):
            raise InvalidChannelError(
                field, type(text).__name__, "must be a text", hint="such as env:OPS_WEBHOOK"
            )
        if is_reference(text):
            Secret.read(text, field)
            return cls(text, is_trusted)
        check_literal_url(text, field)
        try:
            Url.read(text, allow_http=is_trusted)
        except InvalidUrlError as error:
            hint = error.hint or "write a URL, or where it is: env:NAME"
            # A text without a scheme may be a token in the wrong field.
            shown = error.details["url"] if text.startswith(("http://", "https://")) else "***"
            raise InvalidChannelError(field, shown, error.reason, hint=hint) from None
        return cls(text, is_trusted)

    def target(self) -> Target | Sent:
        """The target of a send; or the result, if the URL cannot be read."""
        try:
            text = Secret(self.text).value() if is_reference(self.text) else self.text
            url = Url.read(text, allow_http=self.is_trusted)
        except SecretMissingError as error:
            return Sent.again(str(error))
        except InvalidUrlError as error:
            return Sent.refused(f"{self.shown} holds no URL that can be used: it {error.reason}")
        # The operator has named this host, so it may be private; no other host becomes reachable by that.
        return Target(url, Guard.allowing([f"[{url.host}]:{url.port}"] if self.is_trusted else []))

    def missing(self) -> str | None:
        """Why this node cannot send; None if it can."""
        return Secret(self.text).missing() if is_reference(self.text) else None

    @property
    def shown(self) -> str:
        """The reference, or the host of the URL: a text without a secret."""
        return self.text if is_reference(self.text) else Url.read(self.text, allow_http=True).shown
