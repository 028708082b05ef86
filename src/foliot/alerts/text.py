"""Makes the texts of alerts. Their values come from jobs, and a job may write anything.

So every value is cut, loses its control characters, and is escaped for the place where it is shown. A
`text` in a configuration is a `string.Template` with a closed list of names: it can only insert values.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from string import Template

from foliot.alerts.message import Alert, Digest, Message, clock_time, headline
from foliot.errors import InvalidChannelError

Escape = Callable[[str], str]
LONGEST_TEMPLATE = 2_000
_LONGEST_LINE = 500
_LISTED = 10  # alerts that a digest shows with a line each
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_MENTION = re.compile("@")
_DISCORD = re.compile(r"([\\*_~`|>#\[\]()<-])")
_NAMES = ("job", "kind", "why", "error", "run", "since")


def clean(text: str, limit: int = _LONGEST_LINE, *, keep_lines: bool = False) -> str:
    """The text, cut to a limit, without control characters and marks of direction; usually on one line."""
    kept = "".join(_plain(c, keep_lines=keep_lines) for c in text[: 2 * limit])
    kept = kept if keep_lines else " ".join(kept.split())
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def _plain(character: str, *, keep_lines: bool) -> str:
    if character == "\n" and keep_lines:
        return character
    return " " if unicodedata.category(character) in _HIDDEN else character


def no_escape(text: str) -> str:
    """For places without special characters: JSON values, mail, environment."""
    return text


def escape_slack(text: str) -> str:
    """For Slack; also for Mattermost and Rocket.Chat, where a plain `@all` mentions people."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _without_mentions(text)


def escape_discord(text: str) -> str:
    """For Discord: no marks, no mentions."""
    return _without_mentions(_DISCORD.sub(r"\\\1", text))


def _without_mentions(text: str) -> str:
    return _MENTION.sub("@\N{ZERO WIDTH SPACE}", text)


def check_template(text: object, field: str) -> str:
    """The text, if all its names (such as `$job`) are known; otherwise InvalidChannelError."""
    hint = f"the names are ${', $'.join(_NAMES)}; write $$ for a dollar sign"
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_TEMPLATE:
        reason = f"must be a text of 1 to {LONGEST_TEMPLATE:,} characters"
        raise InvalidChannelError(field, text, reason, hint=hint)
    template = Template(text)
    if not template.is_valid():
        raise InvalidChannelError(field, text, "has a dollar sign without a name", hint=hint)
    for name in template.get_identifiers():
        if name not in _NAMES:
            raise InvalidChannelError(field, text, f"names ${name}, which is not known", hint=hint)
    return text


def fill(template: str, alert: Alert, escape: Escape = no_escape) -> str:
    """Insert the values of an alert into a text of the configuration."""
    values = {
        "job": alert.name,
        "kind": alert.kind.value,
        "why": alert.why or "",
        "error": alert.error or "",
        "run": alert.run or "",
        "since": clock_time(alert.since or alert.at),
    }
    return Template(template).substitute({name: escape(clean(value)) for name, value in values.items()})


def title_of(message: Message, escape: Escape = no_escape) -> str:
    """A message in one line."""
    return escape(clean(message.headline if isinstance(message, Digest) else headline(message), 200))


def text_of(message: Message, escape: Escape = no_escape, template: str | None = None) -> str:
    """A message for people. The first line is its title."""
    if isinstance(message, Alert) and template is not None:
        return ("TEST: " if message.is_test else "") + fill(template, message, escape)
    lines = _digest_lines(message) if isinstance(message, Digest) else _alert_lines(message)
    return "\n".join([title_of(message, escape), *(escape(clean(line)) for line in lines)])


def _alert_lines(alert: Alert) -> list[str]:
    number = "" if alert.attempt is None else f", attempt {alert.attempt}"
    lines = [
        alert.why,
        alert.error and f"error: {alert.error}",
        alert.exit_code is not None and f"exit code: {alert.exit_code}",
        alert.run and f"run: {alert.run}{number}",
        alert.since and f"since: {clock_time(alert.since)}",
        alert.next_at and f"next: {clock_time(alert.next_at)}",
        alert.node and f"node: {alert.node}",
        alert.revision and f"revision: {alert.revision}",
    ]
    return [line for line in lines if line]


def _digest_lines(digest: Digest) -> list[str]:
    lines = [f"{clock_time(alert.at)} {headline(alert)}" for alert in digest.alerts[:_LISTED]]
    more = len(digest.alerts) - _LISTED
    return [*lines, f"and {more} more"] if more > 0 else lines
