"""Commands: an alert starts a program, with the alert in its environment and, as JSON, on its input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from foliot.alerts.channel import DEADLINE, SENT, Sent
from foliot.alerts.formats import as_json, data_of
from foliot.alerts.message import Alert, Digest, Message, as_message
from foliot.alerts.process import run_process
from foliot.alerts.rate import Rate
from foliot.alerts.text import clean, text_of, title_of
from foliot.errors import InvalidChannelError

Folder = Path | Callable[[Alert], Path]
_SHELL = ("/bin/sh", "-c")
_LONGEST = 10_000
# Exit codes of shells and of sysexits.h: the command can never succeed without a change.
_HOPELESS = {
    64: "it is used wrongly",
    77: "it lacks rights",
    126: "it cannot be executed",
    127: "it is not found",
}


class Command:
    """A channel that runs a command in a shell. Exit code 0 means sent; another one means again.

    `folder`: where it starts, or a function of an alert: the job's snapshot, for a repository's channel.
    """

    def __init__(
        self,
        command: str,
        *,
        folder: Folder | None = None,
        rate: Rate | None = None,
        deadline: timedelta = DEADLINE,
    ) -> None:
        if not command.strip() or "\0" in command or len(command) > _LONGEST:
            reason = f"must be a text of 1 to {_LONGEST:,} characters"
            raise InvalidChannelError("command", command, reason, hint="such as ./notify.sh")
        self._command = command
        self._folder = folder
        self._deadline = deadline
        self.rate = rate or Rate()

    def __repr__(self) -> str:
        return f"<Command {self.describe()}>"

    def describe(self) -> str:
        return f"command {clean(self._command, 80)}"

    def missing(self) -> str | None:
        if isinstance(self._folder, Path) and not self._folder.is_dir():
            return f"the folder {self._folder} is not there"
        return None

    async def send(self, messages: Sequence[Alert]) -> Sent:
        message = as_message(messages)
        command = (*_SHELL, self._command)
        folder = self._folder(messages[0]) if callable(self._folder) else self._folder
        try:
            ended = await run_process(
                command, as_json(message), self._deadline, environment_of(message), folder
            )
        except OSError as error:
            return Sent.again(f"the command cannot be started ({error.strerror})")
        if ended.code == 0:
            return SENT
        if ended.code is None:
            return Sent.again(f"the command did not end within {self._deadline.total_seconds():g} s")
        said = clean(ended.output, 200)
        reason = f"the command ended with exit code {ended.code}" + (f" ({said})" if said else "")
        if ended.code in _HOPELESS:
            return Sent.refused(f"{reason}: {_HOPELESS[ended.code]}")
        return Sent.again(reason)


def environment_of(message: Message) -> dict[str, str]:
    """The variables `FOLIOT_ALERT_JOB` and so on: all values of an alert, or those of a digest."""
    values = {"headline": title_of(message), "text": text_of(message), "count": "1"}
    if isinstance(message, Digest):
        values |= {"kind": "digest", "count": str(len(message.alerts)), "jobs": message.names}
    for name, value in data_of(message).items():
        if value is not None and not isinstance(value, list):
            values[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return {f"FOLIOT_ALERT_{name.upper()}": _variable(value) for name, value in values.items()}


def _variable(value: str) -> str:
    return clean(value, _LONGEST, keep_lines=True)
