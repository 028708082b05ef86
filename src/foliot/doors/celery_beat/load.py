"""Finds the Celery application that `-A proj` names, as Celery's own commands do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from foliot.errors import FoliotError, InvalidAppError


def load_celery(name: str) -> Any:
    """The application: `proj`, `proj.celery`, `proj.celery:app`; it is looked for here, too."""
    try:
        from celery import Celery  # noqa: PLC0415 - see the package's docstring
        from celery.app.utils import find_app  # noqa: PLC0415
    except ImportError as error:
        raise FoliotError("Celery is not installed", hint="pip install 'foliot[celery]'") from error
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: object = find_app(name)
    except (Exception, SystemExit) as error:
        reason = f"cannot be imported: {type(error).__name__}: {error}"
        raise InvalidAppError(name, reason, hint="such as proj, or proj.celery:app") from error
    if not isinstance(found, Celery):
        reason = f"is no Celery application, but of the type {type(found).__name__}"
        raise InvalidAppError(name, reason, hint='such as app = Celery("proj")')
    return found
