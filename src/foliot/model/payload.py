"""What a person gives with a request for a run: a JSON object, as the text that an attempt keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foliot.errors import InvalidJobError
from foliot.model.frozen import BottomlessError, freeze
from foliot.model.json_text import MisfitError, read_object, write_json
from foliot.model.shape import DATA

LONGEST_PAYLOAD = 65_536  # characters: a shell job gets the text in a variable, and the system bounds those
_HINT = 'such as {"month": "2026-10"}'


def payload_text(payload: object) -> str | None:
    """The canonical text of a payload; None of none. InvalidJobError if it is no object, or too large."""
    if payload is None:
        return None
    if not isinstance(payload, Mapping):
        raise InvalidJobError("payload", payload, "must be a JSON object", hint=_HINT)
    try:
        text = write_json(DATA.write(freeze(payload)))
    except BottomlessError:
        raise InvalidJobError("payload", payload, "is nested too deeply, or holds itself") from None
    except MisfitError as error:
        raise InvalidJobError(error.within("payload").path, error.value, error.reason) from error
    _check_length(text)
    return text


def read_payload(text: str | None) -> dict[str, Any] | None:
    """The payload of a text, as a new object. InvalidJobError if the text is no JSON object."""
    if text is None:
        return None
    _check_length(text)
    try:
        return read_object(text)
    except MisfitError as error:
        raise InvalidJobError(error.within("payload").path, error.value, error.reason, hint=_HINT) from error


def _check_length(text: str) -> None:
    if len(text) > LONGEST_PAYLOAD:
        reason = f"is {len(text):,} characters of JSON, and {LONGEST_PAYLOAD:,} are the most"
        raise InvalidJobError(
            "payload", f"{text[:20]}...", reason, hint="keep large data elsewhere, and name it"
        )
