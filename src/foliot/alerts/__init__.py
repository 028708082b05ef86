"""Alerts go out by channels: a webhook, mail, a command, a ping, Apprise.

    waiting alerts ─▶ plan_sends ─▶ one alert, or a digest ─▶ Channel.send ─▶ sent · again · refused
                      rate.py       message.py                channel.py

A channel is a value of the configuration: it says where to send and where its secrets are, and keeps neither
a connection nor a secret. The texts of an alert come from jobs, so they are cut, cleaned and escaped
(`text.py`, `formats.py`). A channel of a repository is trusted less than a channel of the operator: only the
operator's channels may reach private networks (`endpoint.py`, and `foliot.network`).

Invariants: the same alert has the same id each time it is sent; a send ends within its deadline, and no
answer of a server raises; no secret stands in a repr, a reason, a log line or an error.

Read `channel.py` first, then `webhook.py`; `config.py` reads channels from a configuration.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foliot.alerts.apprise import Apprise
    from foliot.alerts.command import Command
    from foliot.alerts.config import read_channels
    from foliot.alerts.mail import Mail
    from foliot.alerts.ping import Ping
    from foliot.alerts.rate import Rate
    from foliot.alerts.webhook import Webhook

__all__ = ["Apprise", "Command", "Mail", "Ping", "Rate", "Webhook", "read_channels"]

_HOMES = {name: name.lower() for name in __all__} | {"read_channels": "config"}


def __getattr__(name: str) -> Any:
    """Import a channel when it is first used. The planner needs only the values of alerts."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
