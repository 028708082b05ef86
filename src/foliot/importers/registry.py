"""The names of one import: ids of jobs and channels, each used once over all sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count
from typing import Any

from foliot.importers.naming import clean_id, id_of


class Registry:
    """Gives out ids and names of channels."""

    def __init__(self) -> None:
        self.channels: dict[str, dict[str, Any]] = {}
        self._ids: set[str] = set()
        self._groups: dict[str, str] = {}

    def id_for(self, command: str) -> str:
        """An id for a command, by its program."""
        return id_of(command, self._ids)

    def id_named(self, name: str) -> str:
        """An id like a name."""
        return id_of(clean_id(name), self._ids)

    def channel_for(self, entry: dict[str, Any]) -> str:
        """The name of a channel; equal channels are one."""
        for name, known in self.channels.items():
            if known == entry:
                return name
        to = entry["mail"]
        base = clean_id(to if isinstance(to, str) else to[0])
        name = _free_name(base, self.channels)
        self.channels[name] = entry
        return name

    def channels_of(self, fields: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The channel that a job names, if it names one: those of other jobs say nothing about this one."""
        name = fields["notify"]["to"] if "notify" in fields else None
        return {name: self.channels[name]} if name in self.channels else {}

    def keep_channels(self, known: Collection[str]) -> None:
        """Forget the channels that came after some names: the job that asked for them is refused."""
        self.channels = {name: entry for name, entry in self.channels.items() if name in known}

    def group_for(self, folder: str) -> str:
        """The name of the group of a directory's jobs; equal directories are one."""
        if folder not in self._groups:
            base = clean_id(folder.rpartition("/")[2])
            self._groups[folder] = _free_name(base, self._groups.values())
        return self._groups[folder]


def _free_name(base: str, taken: Collection[str]) -> str:
    """A name that nothing has yet: `base`, `base-2`, `base-3` and so on."""
    names = (f"{base}-{number}" for number in count(2))
    return base if base not in taken else next(name for name in names if name not in taken)
