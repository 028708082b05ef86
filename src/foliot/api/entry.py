"""Who asks: by a token, or by the cookie of a session.

Browsers send cookies by themselves, so a change by cookie must come from our own pages.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request

from foliot.access import Identity
from foliot.api.limits import too_many
from foliot.api.problem import ProblemError
from foliot.api.service import Service

SAFE = ("GET", "HEAD")
COOKIE = "foliot_session"


def cookie_name(service: Service) -> str:
    """Under https, a name that only this host can set."""
    return f"__Host-{COOKIE}" if service.options.is_https and not service.options.root else COOKIE


async def identify(service: Service, request: Request) -> Identity:
    """Who asks; 401 if that is not told, 403 if another site has sent it, 429 if too many are sent."""
    identity = await _identity(service, request)
    if identity is None:
        headers = {"WWW-Authenticate": 'Bearer realm="foliot"'}
        hint = "Authorization: Bearer flt_…; foliot token create makes a token"
        raise ProblemError(401, "NO_TOKEN", "a valid token is needed", hint=hint, headers=headers)
    if identity.is_session and request.method not in SAFE:
        check_origin(request)
    if wait := service.rate.wait(identity.token_id):
        raise too_many("rate", "this token asks too often", wait)
    service.rate.take(identity.token_id)
    return identity


async def is_still_let_in(service: Service, request: Request) -> bool:
    """Whether the token or the session of a request that is still being answered is valid."""
    return await _identity(service, request) is not None


async def _identity(service: Service, request: Request) -> Identity | None:
    given = request.headers.getlist("authorization")
    if given:
        kind, _, text = given[0].partition(" ")
        if len(given) > 1 or kind.lower() != "bearer":
            return None
        return await service.authority.identify(text.strip())
    cookie = request.cookies.get(cookie_name(service))
    return await service.authority.identify_session(cookie) if cookie else None


def check_origin(request: Request) -> None:
    """403 unless the browser tells that one of our own pages has sent the request."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        is_own = site == "same-origin"
    else:
        is_own = origin is not None and _netloc(origin) == request.headers.get("host")
    if not is_own:
        hint = "programs send a token in Authorization instead of a cookie"
        raise ProblemError(403, "OTHER_SITE", "a change by cookie must come from our own pages", hint=hint)


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
