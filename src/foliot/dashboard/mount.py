"""The API and the dashboard of an application that another web framework serves: `app.asgi()`."""

from __future__ import annotations

import os
from typing import Any

from foliot.access import environment_token
from foliot.api.address import read_networks
from foliot.api.application import Application
from foliot.api.backend import AppBackend
from foliot.api.limits import Limits
from foliot.api.service import Options
from foliot.app import Foliot
from foliot.clock import SystemClock
from foliot.dashboard.application import make_pages
from foliot.errors import InvalidPolicyError

_KNOWN = ("hosts", "is_https", "demands_match", "limits", "has_engine", "proxies")


def make_asgi(app: Foliot, **given: Any) -> Application:
    """An ASGI application. `hosts`: the names by which it may be called; `has_engine`: the app is run.

    `proxies`: networks of proxies whose `X-Forwarded-For` tells which client asks, such as `["10.0.0.0/8"]`.
    """
    for name in given:
        if name not in _KNOWN:
            raise InvalidPolicyError("option", name, "is not known", hint=f"one of: {', '.join(_KNOWN)}")
    clock = SystemClock()
    hosts = given.pop("hosts", None)
    home = AppBackend(app, clock, has_engine=given.pop("has_engine", True))
    limits = given.pop("limits", None) or Limits()
    options = Options(
        hosts=None if hosts is None else frozenset(hosts),
        limits=limits,
        environment_token=environment_token(os.environ, clock.now()),
        proxies=read_networks(given.pop("proxies", ())),
        **given,
    )
    return Application(home, clock, options, pages=make_pages)
