"""The variables of a crontab, as they stand at a line: cron's own settings, and what jobs get."""

from __future__ import annotations

import re
from typing import Any

from foliot.importers.draft import Note
from foliot.importers.model.vixie import Flavour
from foliot.importers.refused import RefusedError
from foliot.importers.registry import Registry

PATH = "/usr/bin:/bin"  # what cron gives, if a table says nothing
_SHELL = "/bin/sh"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OWN = ("SHELL", "MAILTO", "MAILFROM", "RANDOM_DELAY")  # of cron, not of its jobs
_ADDRESS = re.compile(r"[A-Za-z0-9._%+-]+(@[A-Za-z0-9.-]+)?", re.ASCII)
_OF_MAILS = ("CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING")


class Variables:
    """What the lines so far have set."""

    def __init__(self, flavour: Flavour) -> None:
        self._flavour = flavour
        self._set: dict[str, str] = {}

    def take(self, name: str, value: str) -> Note | None:
        """Count a line for those below it; RefusedError if it cannot count."""
        is_cronie = self._flavour == "cronie"
        if name in _OF_MAILS:
            raise RefusedError("mail-setting", f"mails of Foliot are UTF-8: {name} has no meaning", "nothing")
        if name == "LOGNAME":
            raise RefusedError("variable", "cron itself sets LOGNAME, and ignores this line", "nothing")
        if name == "RANDOM_DELAY" and is_cronie and not (value.isascii() and value.isdigit()):
            raise RefusedError("variable", "RANDOM_DELAY is no number of minutes", "write a number")
        if name.startswith("FOLIOT_"):
            raise RefusedError("variable", "names with FOLIOT_ in front are Foliot's own", "rename it")
        if not _NAME.fullmatch(name):
            raise RefusedError("variable", f"{name[:40]} is no name of a variable", "rename it")
        self._set[name] = value
        if name == "CRON_TZ" and not is_cronie:
            whose = "Debian's cron" if self._flavour == "debian" else "BusyBox's crond"
            text = f"CRON_TZ={value} never had an effect: {whose} does not know it; it stays a variable"
            return Note("tz-ignored", text, needs_person=True)
        if "$" in value and name not in _OWN:
            return Note("not-expanded", f"cron does not expand the $ in {name}, and neither does Foliot")
        return None

    def zone(self, of_host: str) -> str:
        """The zone of the rules below."""
        return self._set.get("CRON_TZ", of_host) if self._flavour == "cronie" else of_host

    @property
    def delay(self) -> int:
        """How many minutes cronie may wait before it starts a job."""
        return int(self._set.get("RANDOM_DELAY", "0")[:6]) if self._flavour == "cronie" else 0

    @property
    def shell(self) -> str | None:
        """The shell, if it is another than everyone's."""
        shell = self._set.get("SHELL", _SHELL)
        return None if shell == _SHELL else shell

    @property
    def environment(self) -> dict[str, str]:
        """What a job gets."""
        return {"PATH": PATH} | {name: value for name, value in self._set.items() if name not in _OWN}

    def notify(self, owner: str, names: Registry) -> tuple[dict[str, Any] | None, list[Note]]:
        """Where the output of a job is mailed to."""
        to = self._set.get("MAILTO", owner)
        addresses = [part.strip() for part in to.split(",") if part.strip()]
        if not addresses:
            return None, []
        if not all(_ADDRESS.fullmatch(address) for address in addresses):
            text = f"no mail is sent: {to[:80]} is not understood as an address"
            return None, [Note("mail-address", text, needs_person=True)]
        entry: dict[str, Any] = {"mail": addresses[0] if len(addresses) == 1 else addresses}
        sender = self._set.get("MAILFROM", "")
        if _ADDRESS.fullmatch(sender):
            entry["from"] = sender
        return {"to": names.channel_for(entry), "on": ["output"]}, []
