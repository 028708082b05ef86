"""Finds the application that `--app pkg.mod:app` names."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from foliot.app import Foliot
from foliot.errors import InvalidAppError


def load_app(name: str) -> Foliot:
    """The application object; its module is looked for where the command is called, too."""
    module_name, separator, attribute = name.partition(":")
    if not separator or not module_name or not attribute:
        raise InvalidAppError(name, "is no module and name", hint="such as billing.jobs:app")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: object = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise InvalidAppError(name, f"cannot be imported: {type(error).__name__}: {error}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InvalidAppError(name, f"has no {part!r}", hint=f"is it defined in {module_name}?")
        found = getattr(found, part)
    if not isinstance(found, Foliot):
        kind = type(found).__name__
        raise InvalidAppError(
            name, f"is no Foliot, but of the type {kind}", hint='such as app = Foliot("sqlite:///…")'
        )
    return found
