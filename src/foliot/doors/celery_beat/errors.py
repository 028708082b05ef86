"""What can be wrong with a Celery application that Foliot is to be the beat of."""

from __future__ import annotations

from collections.abc import Sequence

from foliot.errors import FoliotError, shorten

_MOST_NAMED = 5


class EntryRefusedError(FoliotError, ValueError):
    """An entry of a schedule cannot be carried over."""

    def __init__(self, entry: object, reason: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"entry {shorten(entry)}: {reason}", details={"entry": entry, "reason": reason}, hint=hint
        )
        self.entry = entry
        self.reason = reason


class EntriesRefusedError(FoliotError, ValueError):
    """Some entries cannot be carried over, and the user has not allowed to go on without them."""

    def __init__(self, refusals: Sequence[EntryRefusedError]) -> None:
        shown = "; ".join(_sentence(one) for one in refusals[:_MOST_NAMED])
        more = f"; and {len(refusals) - _MOST_NAMED} more" if len(refusals) > _MOST_NAMED else ""
        entries = "1 entry" if len(refusals) == 1 else f"{len(refusals)} entries"
        super().__init__(
            f"{entries} cannot be carried over: {shown}{more}",
            details={"entries": [one.details for one in refusals]},
            hint="change them, or go on without them: foliot_skip_refused = True in the configuration of"
            " Celery, or foliot beat --skip-refused; foliot beat -A … --check shows them all",
        )
        self.refusals = tuple(refusals)


def _sentence(refusal: EntryRefusedError) -> str:
    return f"{refusal.message} ({refusal.hint})" if refusal.hint else refusal.message


class BeatSettingError(FoliotError, ValueError):
    """The configuration of a Celery application lacks something, or has something that cannot be right."""

    def __init__(self, setting: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{setting} {reason}", details={"setting": setting, "reason": reason}, hint=hint)


class ImportRefusedError(FoliotError):
    """What RedBeat or django-celery-beat keeps cannot be read."""

    def __init__(self, origin: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{origin}: {reason}", details={"from": origin, "reason": reason}, hint=hint)


class BeatStoppedError(FoliotError):
    """The engine behind a scheduler has ended by itself."""

    def __init__(self, app: str, reason: str) -> None:
        super().__init__(
            f"the engine of {app} has ended: {reason}",
            details={"app": app, "reason": reason},
            hint="start beat again; the log says what was wrong",
        )
