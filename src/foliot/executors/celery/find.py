"""Finds the Celery application that `--celery proj.celery:app` names, as `celery -A` does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from celery.app.utils import find_app

from foliot.errors import InvalidAppError
from foliot.executors.celery.executor import check_celery_app


def find_celery_app(name: str) -> Any:
    """The Celery application of a module; its module is looked for where the command is called, too."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        app = find_app(name)
        check_celery_app(app, "app")
    except (Exception, SystemExit) as error:
        reason = f"cannot be loaded: {type(error).__name__}: {error}"
        raise InvalidAppError(name, reason, hint="such as proj.celery:app") from error
    return app
