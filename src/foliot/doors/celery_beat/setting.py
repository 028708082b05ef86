"""What the configuration of a Celery application says to Foliot.

    foliot_store = "redis://…"       where jobs and runs are kept; FOLIOT_STORE names it, too
    foliot_namespace = "proj"        the name of the jobs' source; without it, that of the Celery application
    foliot_skip_refused = True       go on without the entries that cannot be carried over

With a Django namespace they are called CELERY_FOLIOT_STORE and so on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from foliot.doors.celery_beat.errors import BeatSettingError
from foliot.errors import shorten
from foliot.model.job import is_name
from foliot.wiring import check_url

_USUAL_NAMESPACE = "celery"
_NO_STORE = (
    'write foliot_store = "redis://…" or "postgresql://…" into the configuration of Celery, or set'
    " FOLIOT_STORE. The broker is not taken for it: a store must keep what it is told, and a broker may be"
    " emptied"
)


class BeatSettings(NamedTuple):
    """Where the jobs of an application are kept, by which name, and whether refused entries are skipped."""

    store: str
    namespace: str
    skips_refused: bool


def read_settings(
    app: Any,
    *,
    store: str | None = None,
    skips_refused: bool = False,
    environment: Mapping[str, str] | None = None,
) -> BeatSettings:
    """The settings; what is given goes before the configuration, and that before the environment."""
    return BeatSettings(
        read_store(app, store, os.environ if environment is None else environment),
        read_namespace(app),
        skips_refused or _flag(app, "foliot_skip_refused"),
    )


def read_store(app: Any, given: str | None, environment: Mapping[str, str]) -> str:
    """The URL of the store. BeatSettingError if no setting names one."""
    store: object = given or app.conf.get("foliot_store") or environment.get("FOLIOT_STORE")
    if not store:
        raise BeatSettingError("foliot_store", "is not set", hint=_NO_STORE)
    if not isinstance(store, str):
        raise BeatSettingError("foliot_store", f"is of the type {type(store).__name__}, and must be a URL")
    check_url(store)
    return store


def read_namespace(app: Any) -> str:
    """The name of the source that the entries become jobs of."""
    given: object = app.conf.get("foliot_namespace")
    if given is None:
        main: object = app.main
        return main if is_name(main) and "/" not in main and main != "__main__" else _USUAL_NAMESPACE
    if not is_name(given) or "/" in given:
        hint = 'such as "proj"'
        raise BeatSettingError("foliot_namespace", f"is {shorten(given)}, which is no name", hint=hint)
    return given


def _flag(app: Any, name: str) -> bool:
    given: object = app.conf.get(name)
    if given is not None and not isinstance(given, bool):
        raise BeatSettingError(name, f"is {shorten(given)}, and must be True or False")
    return bool(given)
