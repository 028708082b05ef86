"""Secrets by reference: a configuration says where a secret is, and the node looks there when it sends.

env:OPS_WEBHOOK          a variable of the node's environment
file:/etc/foliot/ops.key a file on the node
credential:ops           a credential that systemd hands to the service (LoadCredential=)

The author of the node's code, repository or channel file can run commands there anyway, and may name any
secret. A job from the API may only name variables that begin with FOLIOT_SECRET_, and no file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from foliot.errors import InvalidChannelError
from foliot.shown import host_only

OF_THE_API = "FOLIOT_SECRET_"
HINT = "write where it is: env:NAME, file:/path or credential:NAME"
_LONGEST = 64 * 1024
_SHORTEST_MASKED = 6
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_SECRET_HOSTS = re.compile(
    r"(^|\.)(hooks\.slack\.com|discord(app)?\.com|webhook\.office\.com|outlook\.office\.com|logic\.azure\.com"
    r"|chat\.googleapis\.com|api\.telegram\.org|hc-ping\.com|cronitor\.link|hooks\.zapier\.com)$"
)
_SECRET_NAME = re.compile(r"token|secret|key|sig|auth|pass|cred", re.IGNORECASE)
_TOKEN = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_~=.-]{16,}", re.ASCII)


class SecretMissingError(Exception):
    """A secret is not where its reference says. It never leaves this package."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A reference to a secret. The secret is read when it is needed, and is never kept."""

    reference: str

    @classmethod
    def read(cls, text: object, field: str) -> Secret:
        """Read a reference. InvalidChannelError if it is invalid; a text that may be secret is not shown."""
        if not isinstance(text, str):
            raise InvalidChannelError(field, type(text).__name__, "must be a text", hint=HINT)
        if not is_reference(text):
            raise InvalidChannelError(
                field, _shown(text), "is the secret itself, or nothing known", hint=HINT
            )
        scheme, _, place = text.partition(":")
        if scheme == "env" and not _VARIABLE.fullmatch(place):
            raise InvalidChannelError(field, text, "names no variable", hint="such as env:OPS_WEBHOOK")
        if scheme == "file" and (not place.startswith("/") or not place.isprintable()):
            raise InvalidChannelError(
                field, text, "is no absolute path", hint="such as file:/etc/foliot/ops.key"
            )
        if scheme == "credential" and not _NAME.fullmatch(place):
            raise InvalidChannelError(field, text, "names no credential", hint="such as credential:ops")
        return cls(text)

    def value(self) -> str:
        """The secret on this node now; SecretMissingError if it is missing."""
        scheme, _, place = self.reference.partition(":")
        if scheme == "env":
            text = os.environ.get(place, "")
            if not text.strip():
                raise SecretMissingError(f"{self.reference} is not set on this node")
            return text.strip()
        return _read_file(Path(place) if scheme == "file" else _credential(place), self.reference)

    @property
    def is_of_the_api(self) -> bool:
        """Whether a job from the API may use it: the operator has given it a name that allows this.

        A file is never allowed: with paths, a stranger could find out which files the node has.
        """
        scheme, _, place = self.reference.partition(":")
        return scheme != "file" and place.startswith(OF_THE_API) and place != OF_THE_API

    def missing(self) -> str | None:
        """Why it cannot be read on this node; None: it can."""
        try:
            self.value()
        except SecretMissingError as error:
            return str(error)
        return None


def is_reference(text: str) -> bool:
    """Whether a text says where a secret is."""
    return text.partition(":")[0] in ("env", "file", "credential") and ":" in text


def check_literal_url(text: str, field: str) -> None:
    """InvalidChannelError if a URL that stands in a configuration looks like a secret."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return  # the reader of URLs reports the error
    host = (parts.hostname or "").lower()
    has_token = any(_TOKEN.fullmatch(part) for part in parts.path.split("/"))
    if "@" in parts.netloc or _SECRET_HOSTS.search(host) or has_token or _SECRET_NAME.search(parts.query):
        raise InvalidChannelError(field, host_only(text), "is a URL with a secret in it", hint=HINT)


def mask(text: str, *secrets: str) -> str:
    """The text without the secrets, as far as they are long enough to be recognised."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_MASKED:
            text = text.replace(secret, "***")
    return text


def _shown(text: str) -> str:
    scheme, found, _ = text.partition("://")
    return f"{scheme}://***" if found and scheme.isalnum() else "***"


def _credential(name: str) -> Path:
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    if not folder:
        raise SecretMissingError(f"credential:{name} is not there: systemd hands this process none")
    return Path(folder) / name


def _read_file(path: Path, reference: str) -> str:
    try:
        if not path.is_file():  # reading a pipe or a device could block
            raise SecretMissingError(f"{reference} is no file on this node")
        with path.open(encoding="utf-8") as file:
            text = file.read(_LONGEST).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise SecretMissingError(f"{reference} cannot be read on this node: {reason}") from None
    if not text:
        raise SecretMissingError(f"{reference} is empty on this node")
    return text
