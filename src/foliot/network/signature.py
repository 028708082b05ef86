"""Signatures by the rules of Standard Webhooks: the receiver can check a message's sender and time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from datetime import datetime

from foliot.errors import InvalidChannelError

_PREFIX = "whsec_"
_FEWEST, _MOST = 24, 64  # bytes


def read_keys(text: str, field: str) -> tuple[bytes, ...]:
    """The keys of a secret: `whsec_…`, or two of them with a space between, while a key is replaced."""
    return tuple(_read_key(part, field) for part in text.split())


def _read_key(text: str, field: str) -> bytes:
    hint = "it begins with whsec_ and goes on in base64, with 24 to 64 bytes"
    try:
        key = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(_PREFIX) or not _FEWEST <= len(key) <= _MOST:
        raise InvalidChannelError(field, "***", "is no key of Standard Webhooks", hint=hint)
    return key


def signed(message_id: str, at: datetime, body: bytes, keys: tuple[bytes, ...]) -> dict[str, str]:
    """The headers that name, date and sign a body."""
    stamp = str(int(at.timestamp()))
    headers = {"webhook-id": message_id, "webhook-timestamp": stamp}
    if keys:
        content = f"{message_id}.{stamp}.".encode() + body
        signatures = (hmac.new(key, content, hashlib.sha256).digest() for key in keys)
        headers["webhook-signature"] = " ".join(f"v1,{base64.b64encode(s).decode()}" for s in signatures)
    return headers
