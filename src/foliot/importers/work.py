"""An import as a whole: proofs of all drafts, and the two files that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from foliot.doors.rollcron.config import FILE
from foliot.importers.against_log import Seen, compare
from foliot.importers.draft import Source
from foliot.importers.proof import prove
from foliot.importers.registry import Registry
from foliot.importers.report import Outcome, markdown
from foliot.importers.yaml_text import NONE, write_yaml

REPORT = "IMPORT.md"
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
    """The files of an import, by their names."""
    used = {draft.fields["notify"]["to"] for draft in outcome.drafts if "notify" in draft.fields}
    channels = {name: entry for name, entry in names.channels.items() if name in used}
    return {FILE: write_yaml(outcome.drafts, DEFAULTS, channels), REPORT: markdown(outcome)}
