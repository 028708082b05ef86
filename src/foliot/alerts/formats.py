"""What a webhook receives: one function for each format, from a message to JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from foliot.alerts.message import Alert, AlertKind, Digest, Message
from foliot.alerts.text import clean, escape_discord, escape_slack, text_of, title_of
from foliot.model.attempt import format_instant

Format = Callable[[Message, str | None], bytes]
_LONGEST_SLACK = 3_000
_LONGEST_DISCORD = 2_000
_LONGEST_IN_DIGEST = 300
# An Alertmanager ends an alert that is not repeated. The next reminder comes within a day.
_STAYS = timedelta(hours=25)
_ENDED_BY_RECOVERY = (
    AlertKind.FAILURE, AlertKind.LATE, AlertKind.MISSED, AlertKind.SLOW, AlertKind.SILENT, AlertKind.FLAPPING,
    AlertKind.SOURCE,
)  # fmt: skip


def as_json(message: Message, template: str | None = None) -> bytes:
    """Foliot's own format: every field of the alert, and `type`; also `text` if the configuration has one."""
    data = data_of(message)
    if template is not None:
        data["text"] = text_of(message, template=template)
    return _dump(data)


def data_of(message: Message) -> dict[str, Any]:
    """A message as JSON's own types."""
    if isinstance(message, Alert):
        return {"type": f"job.{message.kind}", **_cleaned(message.as_data())}
    alerts = [_shortened(_cleaned(alert.as_data())) for alert in message.alerts]
    return {
        "type": "digest", "id": message.id, "at": format_instant(message.at), "title": title_of(message),
        "is_test": message.is_test, "alerts": alerts,
    }  # fmt: skip


def as_slack(message: Message, template: str | None = None) -> bytes:
    """For Slack, Mattermost and Rocket.Chat."""
    text = text_of(message, escape_slack, template)
    return _dump({"text": _cut(text, _LONGEST_SLACK)})


def as_discord(message: Message, template: str | None = None) -> bytes:
    """For Discord, with all mentions switched off."""
    text = text_of(message, escape_discord, template)
    return _dump({"content": _cut(text, _LONGEST_DISCORD), "allowed_mentions": {"parse": []}})


def as_alertmanager(message: Message, template: str | None = None) -> bytes:
    """For version 2 of Alertmanager's API. A recovery ends the open alerts of its job."""
    alerts = message.alerts if isinstance(message, Digest) else (message,)
    return _dump([entry for alert in alerts for entry in _entries(alert, template)])


FORMATS: dict[str, Format] = {
    "json": as_json,
    "slack": as_slack,
    "discord": as_discord,
    "alertmanager": as_alertmanager,
}


def _entries(alert: Alert, template: str | None) -> list[dict[str, Any]]:
    is_over = alert.kind is AlertKind.RECOVERY
    kinds = _ENDED_BY_RECOVERY if is_over else (alert.kind,)
    began = min(alert.since or alert.at, alert.at)
    ends = alert.at if is_over else alert.at + _STAYS
    labels = {"job": clean(alert.job), **({"test": "true"} if alert.is_test else {})}
    return [
        {
            "labels": {"alertname": f"Foliot{kind.capitalize()}", **labels},
            "annotations": {"summary": title_of(alert), "description": text_of(alert, template=template)},
            "startsAt": format_instant(began),
            "endsAt": format_instant(ends),
        }
        for kind in kinds
    ]


def _cleaned(data: dict[str, Any]) -> dict[str, Any]:
    return {
        name: clean(value, 20_000, keep_lines=True) if isinstance(value, str) else value
        for name, value in data.items()
    }


def _shortened(data: dict[str, Any]) -> dict[str, Any]:
    data.pop("output", None)
    return {name: clean(v, _LONGEST_IN_DIGEST) if isinstance(v, str) else v for name, v in data.items()}


def _cut(text: str, limit: int) -> str:
    """At most `limit` characters, as the receiver counts them; a cut escape at the end does no harm."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _dump(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
