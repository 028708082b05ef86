"""Channels from a configuration: a mapping of names, as rollcron.yaml and an operator's file have it.

    ops:    {webhook: env:OPS_WEBHOOK, format: slack, secret: file:/etc/foliot/ops.key}
    admins: {mail: [ops@example.org]}

One field of an entry names its kind; each kind of channel has further fields of its own. An error names
the field, shows the value unless it may be a secret, and says what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from foliot.alerts.apprise import Apprise
from foliot.alerts.channel import Channel
from foliot.alerts.command import Command, Folder
from foliot.alerts.mail import Mail
from foliot.alerts.ping import Ping
from foliot.alerts.rate import Rate
from foliot.alerts.webhook import Webhook
from foliot.errors import InvalidChannelError, InvalidDurationError
from foliot.schedules.duration import parse_duration

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}", re.ASCII)
_MOST_CHANNELS = 100
_RATE_HINT = "such as {messages: 20, within: 10m}"


def read_channels(
    channels: object,
    *,
    trusted: bool,
    folder: Folder | None = None,
    smtp: str | None = None,
    field: str = "channels",
) -> dict[str, Channel]:
    """All channels of a mapping. InvalidChannelError for the first invalid one.

    `trusted`: the operator of the node wrote it, not the author of a repository. `folder`: where commands
    start. `smtp`: the mail server of channels that name none.
    """
    if not isinstance(channels, Mapping):
        raise InvalidChannelError(field, channels, "must be a mapping of names", hint=_EXAMPLE)
    if len(channels) > _MOST_CHANNELS:
        raise InvalidChannelError(field, len(channels), f"are too many channels: at most {_MOST_CHANNELS}")
    return {
        name: read_channel(name, entry, trusted=trusted, folder=folder, smtp=smtp, field=field)
        for name, entry in channels.items()
    }


def read_channel(  # noqa: PLR0913 - who wrote it, and what the node gives to it
    name: object,
    entry: object,
    *,
    trusted: bool,
    folder: Folder | None = None,
    smtp: str | None = None,
    field: str = "channels",
) -> Channel:
    """One channel. InvalidChannelError says what is wrong with it."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        hint = "use letters, digits, - and _, at most 64"
        raise InvalidChannelError(f"{field} name", name, "cannot name a channel", hint=hint)
    place = f"{field}.{name}"
    if not isinstance(entry, Mapping):
        raise InvalidChannelError(place, type(entry).__name__, "must be a mapping of fields", hint=_EXAMPLE)
    kinds = [key for key in entry if key in _KINDS]
    if len(kinds) != 1:
        fault = "has no kind" if not kinds else f"is {' and '.join(kinds)} at once"
        raise InvalidChannelError(
            place, ", ".join(map(str, entry)), fault, hint=f"one of: {', '.join(_KINDS)}"
        )
    kind = _KINDS[kinds[0]]
    reading = _Reading(trusted, folder, smtp)
    fields = {str(key): value for key, value in entry.items()}
    try:
        kind.check(fields)
        return kind.make(reading, **fields)
    except InvalidChannelError as error:
        facts = error.details
        inner = f"{place}.{facts['field']}"
        raise InvalidChannelError(inner, facts["value"], facts["reason"], hint=error.hint) from None


_EXAMPLE = "such as ops: {webhook: env:OPS_WEBHOOK, format: slack}"


class _Reading(NamedTuple):
    """The facts for reading a channel: is it trusted, where commands start, and the node's mail server."""

    trusted: bool
    folder: Folder | None
    smtp: str | None


def _webhook(reading: _Reading, webhook: object, rate: object = None, **fields: Any) -> Webhook:
    texts = {name: _text(value, name) for name, value in fields.items()}
    return Webhook(_text(webhook, "webhook"), rate=_rate(rate), trusted=reading.trusted, **texts)  # type: ignore[arg-type]


def _mail(reading: _Reading, mail: object, rate: object = None, **fields: Any) -> Mail:
    if "server" in fields and not reading.trusted:
        hint = "set FOLIOT_SMTP_URL on the node"
        raise InvalidChannelError("server", "***", "may only be set by the operator of the node", hint=hint)
    addresses = mail if isinstance(mail, list | tuple) else [mail]
    if reading.smtp is not None:
        fields = {"server": reading.smtp, **fields}
    texts = {_MAIL_WORDS.get(name, name): _text(value, name) for name, value in fields.items()}
    return Mail(*addresses, rate=_rate(rate), **texts)  # type: ignore[arg-type]


def _command(reading: _Reading, command: object, rate: object = None) -> Command:
    return Command(_text(command, "command"), rate=_rate(rate), folder=reading.folder)


def _ping(reading: _Reading, ping: object, style: object = "healthchecks") -> Ping:
    return Ping(_text(ping, "ping"), style=_text(style, "style"), trusted=reading.trusted)


def _apprise(reading: _Reading, apprise: object, rate: object = None, text: object = None) -> Apprise:
    if not reading.trusted:
        hint = "the operator defines it, in a file of the node"
        raise InvalidChannelError("apprise", "***", "may only be set by the operator of the node", hint=hint)
    words = None if text is None else _text(text, "text")
    return Apprise(_text(apprise, "apprise"), rate=_rate(rate), text=words)


class _Kind(NamedTuple):
    """A kind of channel: the function that makes it, and its fields."""

    make: Callable[..., Channel]
    fields: tuple[str, ...]

    def check(self, fields: Mapping[str, object]) -> None:
        """InvalidChannelError if a field is not known."""
        for name in fields:
            if name not in self.fields:
                close = get_close_matches(name[:30], self.fields, n=1)
                hint = f"did you mean {close[0]}?" if close else f"the fields are {', '.join(self.fields)}"
                raise InvalidChannelError(name, "***", "is no field of this channel", hint=hint)


_MAIL_WORDS = {"from": "sender"}
_KINDS = {
    "webhook": _Kind(_webhook, ("webhook", "format", "secret", "text", "rate")),
    "mail": _Kind(_mail, ("mail", "from", "server", "text", "rate")),
    "command": _Kind(_command, ("command", "rate")),
    "ping": _Kind(_ping, ("ping", "style")),
    "apprise": _Kind(_apprise, ("apprise", "text", "rate")),
}


def _text(value: object, field: str) -> str:
    if isinstance(value, str):
        return value
    raise InvalidChannelError(field, type(value).__name__, "must be a text", hint="put it in quotes")


def _rate(value: object) -> Rate | None:
    """A rate such as {messages: 20, within: 10m}; None: the default."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not value.keys() <= {"messages", "within"}:
        raise InvalidChannelError("rate", value, "must have the fields messages and within", hint=_RATE_HINT)
    usual = Rate()
    within = value.get("within", usual.within)
    if isinstance(within, str):
        try:
            within = parse_duration(within)
        except InvalidDurationError as error:
            raise InvalidChannelError("rate.within", within, error.reason, hint=error.hint) from None
    elif within is not usual.within:
        raise InvalidChannelError("rate.within", within, "must be a duration", hint="such as 10m")
    return Rate(value.get("messages", usual.messages), within)
