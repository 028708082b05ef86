"""An import as a whole: proofs of all drafts, and the files that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from foliot.doors.rollcron.config import FILE
from foliot.errors import FoliotError
from foliot.importers.against_log import Seen, compare
from foliot.importers.draft import USER, Draft, Note, Source
from foliot.importers.proof import prove
from foliot.importers.registry import Registry
from foliot.importers.report import Outcome, markdown
from foliot.importers.yaml_text import NONE, write_yaml

REPORT = "IMPORT.md"
_OWN_FILES = (REPORT.lower(), FILE.lower())
# What cron, systemd and Kubernetes do, if a job says nothing else.
DEFAULTS: dict[str, Any] = {"timeout": NONE, "concurrency": "parallel", "misfire": "skip"}


def conclude(
    sources: Sequence[Source], start: datetime, least: int, log: Sequence[Seen] | None = None
) -> Outcome:
    """Prove every draft, and hold the log beside them, if there is one."""
    drafts = [draft for source in sources for draft in source.drafts]
    proofs = {draft.id: prove(draft, start, least) for draft in drafts}
    seen, unexplained = compare(drafts, log) if log is not None else ([], 0)
    return Outcome(tuple(sources), proofs, tuple(seen), unexplained)


def texts(outcome: Outcome, names: Registry) -> dict[str, str]:
    """The files of an import, by their paths."""
    homes = dict.fromkeys(draft.home for draft in outcome.drafts) or {"": None}
    files = {}
    for home in homes:
        drafts = [draft for draft in outcome.drafts if draft.home == home]
        used = {draft.fields["notify"]["to"] for draft in drafts if "notify" in draft.fields}
        channels = {name: entry for name, entry in names.channels.items() if name in used}
        files[str(PurePosixPath(home) / FILE)] = write_yaml(drafts, DEFAULTS, channels)
    return {**files, REPORT: markdown(outcome)}


def split_by_user(sources: Sequence[Source]) -> list[Source]:
    """The same, with a directory for each user in the place of the field `user`.

    FoliotError if a user has the name of a file that an import writes: no directory can have it, too.
    """
    return [
        replace(source, drafts=tuple(_at_home(draft) for draft in source.drafts), notes=_own(source))
        for source in sources
    ]


def _at_home(draft: Draft) -> Draft:
    fields = dict(draft.fields)
    user = fields.pop("user", "")
    if not user:
        return draft
    if user.lower() in _OWN_FILES:  # some file systems do not tell A from a
        message = f"{draft.source}, {draft.place}: the user {user} can have no directory, because an import "
        hint = "import it without --split-by-user"
        raise FoliotError(f"{message}writes a file of that name: nothing was written", hint=hint)
    text = f"it is in {user}/{FILE}: a daemon of {user} runs it"
    notes = (*(note for note in draft.notes if note.code != USER), Note(USER, text))
    return replace(draft, fields=fields, home=user, notes=notes)


def _own(source: Source) -> tuple[Note, ...]:
    """The notes of a source; who runs a job is told with the job."""
    return tuple(note for note in source.notes if note.code != USER)
