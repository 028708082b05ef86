"""The fields of `rollcron.yaml` about alerts: channels, and which of them a job tells.

`foliot.alerts.config` knows what a channel may be; here is its form, for the reader and the schema. A value
that may be a secret is shown in no error.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from foliot.alerts.config import read_channel
from foliot.alerts.formats import FORMATS
from foliot.alerts.ping import STYLES
from foliot.doors.rollcron.record import part, record, table, then
from foliot.doors.rollcron.value import (
    COMMAND,
    DURATION,
    TEXT,
    Kind,
    Value,
    WrongValueError,
    duration,
    either,
    list_of,
    matching,
    number_from,
    or_none,
    scalar,
    text,
    whole_number,
    word,
)
from foliot.doors.rollcron.yaml_tree import Mapping, Scalar, Sequence
from foliot.errors import InvalidChannelError, shorten
from foliot.model.policy import TOLD_KINDS, Expect, Notify
from foliot.network.secrets import HINT

CHANNEL = r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}"
_MOST = 999_999_999
_POSITIVE = {"type": "string", "pattern": f"^(?=.*[1-9]){DURATION}$"}
_KIND_HINT = "such as ops: {webhook: env:OPS_WEBHOOK, format: slack}"
_NOTIFY_HINT = "write notify: ops, or notify: {to: [ops], on: [failure, recovery]}"
_OPERATOR = "may only be set by the operator of the node, in the file of serve --channels"


def _hidden_text(written: Scalar) -> str:
    """A text that may be a secret, so that no error shows it."""
    if written.kind != "text" or not written.text.strip():
        raise WrongValueError("must be a text", HINT)
    return text(written)


def _span_text(written: Scalar) -> str:
    if not duration(written):
        raise WrongValueError(f"{written.text} must be positive")
    return written.text


# -- which channels a job tells ----------------------------------------------------------------------

_NAME = matching(CHANNEL, "name of a channel", "letters, digits, _ and - only, at most 64")
_TELLING = partial(Notify, ())
_NAMES = list_of(_NAME, "channels", "such as [ops, admins]")
NOTIFY_FIELDS = {
    "to": either(_NAME, _NAMES),
    "on": either(word(TOLD_KINDS), list_of(word(TOLD_KINDS), "kinds of alerts", "such as [failure, late]")),
    "after": part(_TELLING, "after", whole_number, type="integer", minimum=1, maximum=_MOST),
    "remind": or_none(part(_TELLING, "remind", duration, **_POSITIVE)),
}
EXPECT_FIELDS = {
    name: part(Expect, name, duration, **_POSITIVE)
    for name in ("start_within", "finish_within", "success_every")
}
_NOTIFY = record(
    Notify, NOTIFY_FIELDS, _NOTIFY_HINT, required="to", missing="write the channels to tell: to: [ops]",
    synonyms={"channels": "did you mean to?", "events": "did you mean on?"},
)  # fmt: skip


def _read_notify(value: Value) -> Notify | None:
    if isinstance(value.node, Mapping):
        notify: Notify | None = _NOTIFY.read(value)
        return notify
    to = (_NAMES if isinstance(value.node, Sequence) else _NAME).read(value)
    return None if to is None else Notify(to)


NOTIFY = Kind(_read_notify, {"anyOf": [_NAME.schema, _NAMES.schema, _NOTIFY.schema]})
EXPECT = record(Expect, EXPECT_FIELDS, "write expect: {start_within: 10m, success_every: 26h}")

# -- channels ----------------------------------------------------------------------------------------

_REFERENCE = scalar(_hidden_text, type="string", pattern="^(env|file|credential):")
_RATE = record(
    dict,
    {"messages": number_from(1, _MOST), "within": scalar(_span_text, **_POSITIVE)},
    "write rate: {messages: 20, within: 10m}",
)


def _address(schemes: str) -> Kind:
    return scalar(_hidden_text, type="string", pattern=f"^((env|file|credential):|{schemes}://)")


def _channel_fields(schemes: str) -> dict[str, dict[str, Kind]]:
    mail = {"mail": either(TEXT, list_of(TEXT, "mail addresses", "such as [ops@example.org]")), "from": TEXT}
    return {
        "webhook": {
            "webhook": _address(schemes), "format": word(FORMATS), "secret": _REFERENCE,
            "text": TEXT, "rate": _RATE,
        },
        "mail": {**mail, "text": TEXT, "rate": _RATE},
        "command": {"command": COMMAND, "rate": _RATE},
        "ping": {"ping": _address(schemes), "style": word(STYLES)},
    }  # fmt: skip


CHANNEL_FIELDS = _channel_fields("https")
_TRUSTED_FIELDS = _channel_fields("https?")
_TRUSTED_FIELDS["mail"]["server"] = _REFERENCE
_TRUSTED_FIELDS["apprise"] = {"apprise": _REFERENCE, "text": TEXT, "rate": _RATE}


def _channel(kinds: dict[str, dict[str, Kind]], *, trusted: bool) -> Kind:
    """One channel: a mapping whose fields are those of its kind."""
    others = {} if trusted else dict.fromkeys(("server", "apprise"), _OPERATOR)

    def read(value: Value) -> dict[str, Any] | None:
        known = dict.fromkeys(name for fields in kinds.values() for name in fields)
        given = value.fields(known, _KIND_HINT, others)
        if not isinstance(value.node, Mapping):
            return None
        named = [kind for kind in kinds if kind in given]
        if len(named) != 1:
            fault = f"is {' and '.join(named)} at once" if named else "has no kind"
            value.refuse(fault, hint=f"one of: {', '.join(kinds)}")
            return None
        fields = kinds[named[0]]
        for name in given.keys() - fields.keys():
            given[name].refuse(f"is no field of a channel by {named[0]}", hint=f"it has {', '.join(fields)}")
        entry = {name: fields[name].read(inner) for name, inner in given.items() if name in fields}
        is_whole = None not in entry.values() and entry.keys() == given.keys()
        return entry if is_whole and _is_right(entry, given, value, trusted=trusted) else None

    forms = [
        {
            "type": "object",
            "properties": {name: kind.schema for name, kind in fields.items()},
            "additionalProperties": False,
            "required": [name],
        }
        for name, fields in kinds.items()
    ]
    return Kind(read, {"anyOf": forms})


def _is_right(entry: dict[str, Any], given: dict[str, Value], value: Value, *, trusted: bool) -> bool:
    """Whether the channel says nothing against it; what it says stands at the field that it is about."""
    try:
        read_channel("x", entry, trusted=trusted)
    except InvalidChannelError as error:
        field = error.details["field"].split(".")[2]
        said = f"{shorten(error.details['value'])} {error.details['reason']}"
        given.get(field, value).refuse(said, hint=error.hint)
        return False
    return True


def _channels(kinds: dict[str, dict[str, Kind]], *, trusted: bool) -> Kind:
    return table(
        _channel(kinds, trusted=trusted), "channel", _KIND_HINT,
        pattern=CHANNEL, hint="letters, digits, _ and - only, at most 64",
    )  # fmt: skip


CHANNELS = _channels(CHANNEL_FIELDS, trusted=False)
TRUSTED_CHANNELS = _channels(_TRUSTED_FIELDS, trusted=True)

PING_FIELDS = {"url": CHANNEL_FIELDS["ping"]["ping"], "style": CHANNEL_FIELDS["ping"]["style"]}
_PING = record(
    dict, PING_FIELDS, "write ping: env:HC_BACKUP, or ping: {url: env:HC_BACKUP, style: cronitor}",
    required="url", missing="write where it is: url: env:HC_BACKUP",
)  # fmt: skip


def _read_ping(value: Value) -> dict[str, Any] | None:
    """The channel that a job's ping is."""
    found = either(then(PING_FIELDS["url"], lambda url: {"url": url}), _PING).read(value)
    if found is None:
        return None
    entry = {"ping": found.pop("url"), **found}
    return entry if _is_right(entry, {}, value, trusted=False) else None


PING = Kind(_read_ping, either(PING_FIELDS["url"], _PING).schema)
