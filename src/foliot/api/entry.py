"""Finds the identity of a request: by a token, or by the cookie of a session.

Browsers send cookies by themselves, so a change by cookie must come from our own pages.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request

from foliot.access import Identity
from foliot.api.address import address_of, group_of
from foliot.api.limits import too_many
from foliot.api.problem import ProblemError
from foliot.api.service import Service

SAFE = ("GET", "HEAD")
COOKIE = "foliot_session"


def cookie_name(service: Service) -> str:
    """Under https, a name that only this host can set."""
    return f"__Host-{COOKIE}" if service.options.is_https and not service.options.root else COOKIE


async def identify(service: Service, request: Request) -> Identity:
    """The identity of a request. 401 without one, 403 if another site has sent it, 429 if too many come."""
    address = group_of(address_of(service, request))
    wait = service.failures.wait(address)
    if wait and not _is_known(service, request):
        raise _guessed(wait)
    identity = await _identity(service, request)
    if identity is None:
        if wait:
            raise _guessed(wait)
        if _shows_something(service, request):  # a request that shows nothing costs nothing
            service.failures.take(address)
        headers = {"WWW-Authenticate": 'Bearer realm="foliot"'}
        hint = "Authorization: Bearer flt_…; foliot token create makes a token"
        raise ProblemError(401, "NO_TOKEN", "a valid token is needed", hint=hint, headers=headers)
    if identity.is_session and request.method not in SAFE:
        check_origin(request)
    if wait := service.rate.wait(identity.token_id):
        raise too_many("rate", "this token asks too often", wait)
    service.rate.take(identity.token_id)
    return identity


def _guessed(wait: float) -> ProblemError:
    return too_many("failed_tokens", "too many tokens from this address were wrong", wait)


def _shows_something(service: Service, request: Request) -> bool:
    return "authorization" in request.headers or cookie_name(service) in request.cookies


def _is_known(service: Service, request: Request) -> bool:
    """Whether the token or the session was valid a moment ago, so that the store need not be asked for it.

    Nobody shuts others out who share an address: what they use goes on working.
    """
    token, cookie = _token(request), request.cookies.get(cookie_name(service))
    if token is not None or not cookie:
        return service.authority.knows(token or "")
    return service.authority.knows_session(cookie)


async def is_still_let_in(service: Service, request: Request) -> bool:
    """Whether the token or the session of a request that is still being answered is valid."""
    return await _identity(service, request) is not None


async def _identity(service: Service, request: Request) -> Identity | None:
    if (token := _token(request)) is not None:
        return await service.authority.identify(token) if token else None
    cookie = request.cookies.get(cookie_name(service))
    return await service.authority.identify_session(cookie) if cookie else None


def _token(request: Request) -> str | None:
    """The token that a request shows; empty: it shows something else; None: it shows nothing."""
    given = request.headers.getlist("authorization")
    if not given:
        return None
    kind, _, text = given[0].partition(" ")
    return text.strip() if len(given) == 1 and kind.lower() == "bearer" else ""


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
