"""Web requests as jobs: an action of the kind `http` is one request, and its answer decides the outcome.

    HttpCall ──▶ headers of the run, signature ──▶ fetch through the node's guard ──▶ Result
                                                    ▲ redirect, if it is to be followed │
                                                    └───────────────────────────────────┘

A run may be sent more than once: after a failure, or when its node died. `Idempotency-Key` is the same each
time, so that the receiver can tell. Which servers may be reached is the operator's decision, not the job's.
"""

from __future__ import annotations

import asyncio
import ssl
import string
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from http import HTTPStatus
from urllib.parse import quote

from foliot.errors import InvalidChannelError, InvalidJobError
from foliot.executors.http_action import HttpCall, read_call
from foliot.executors.place import ExecutorPlace
from foliot.executors.run_log import RunLog
from foliot.executors.task import TaskExecutor
from foliot.model.attempt import Outcome, format_instant
from foliot.network.errors import AddressRefusedError, InvalidUrlError, RequestFailedError
from foliot.network.guard import Guard
from foliot.network.http import Answer, Request, fetch
from foliot.network.secrets import SecretMissingError
from foliot.network.signature import read_keys, signed
from foliot.protocols import Clock, Result, Run
from foliot.schedules.duration import format_duration

_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_KEEP_METHOD = (307, 308)
_HARMLESS = ("accept", "accept-language", "content-type", "user-agent")  # headers that any server may see
_PLAIN = string.ascii_letters + string.digits + string.punctuation.replace("%", "")


class HttpExecutor(TaskExecutor):
    """Sends requests, each in a thread of its own, to servers that the guard lets it reach."""

    def __init__(self, guard: Guard, clock: Clock, *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self._guard = guard
        self._clock = clock
        self._tls = tls

    async def execute(self, run: Run) -> Result:
        """Send the request of a run; what a server or a job does wrong is a failure, and raises nothing."""
        log = RunLog()
        is_final, error = True, ""
        try:
            call = read_call(run.kind, run.data, run.job.source)
            answer = await self._exchange(_request(run, call, self._clock.now()), call, log)
            return self._judge(run, call, answer, log)
        except (InvalidJobError, InvalidChannelError, InvalidUrlError, AddressRefusedError) as refusal:
            error = refusal.message if refusal.hint is None else f"{refusal.message}; {refusal.hint}"
        except (RequestFailedError, SecretMissingError) as failure:
            is_final, error = False, str(failure)
        return Result(Outcome.FAILED, error, log.text, log.dropped, is_final=is_final)

    async def _exchange(self, request: Request, call: HttpCall, log: RunLog) -> Answer:
        """The last answer; redirects that are followed are noted in the log."""
        try:
            async with asyncio.timeout(call.timeout.total_seconds()):
                for _ in range(_MOST_REDIRECTS + 1):
                    # One byte more than is kept tells whether there is more.
                    answer = await fetch(
                        request, self._guard, deadline=call.timeout, limit=call.max_output + 1, tls=self._tls
                    )
                    log(f"HTTP {_status(answer)}")
                    following = _redirected(request, answer) if call.follow else None
                    if following is None:
                        return answer
                    log(f"redirected to {following.url.shown}")
                    request = following
        except TimeoutError:
            reason = f"gives no answer within {format_duration(call.timeout)}"
            raise RequestFailedError(request.url.shown, reason) from None
        raise RequestFailedError(request.url.shown, f"redirects more than {_MOST_REDIRECTS} times")

    def _judge(self, run: Run, call: HttpCall, answer: Answer, log: RunLog) -> Result:
        if body := answer.body[: call.max_output]:
            log(f"\n{_text(answer, body)}")
        if len(answer.body) > call.max_output:
            log(f"… the answer goes on; {call.max_output:,} bytes of it are kept …")
        if call.expects(answer.status):
            return Result(Outcome.SUCCEEDED, None, log.text, log.dropped)
        # A status that was not expected, and is no error, may become the right one: 202 becomes 200.
        is_final = not answer.is_to_be_asked_again and answer.status >= HTTPStatus.MULTIPLE_CHOICES
        wait = answer.asks_to_wait(self._clock.now(), run.job.policy.retry.longest)
        error = f"{call.url.shown} answers {_status(answer)}"
        return Result(
            Outcome.FAILED,
            error,
            log.text,
            log.dropped,
            is_final=is_final,
            retry_after=None if is_final else wait,
        )


def make_executor(place: ExecutorPlace) -> HttpExecutor:
    """The executor of an application, with what its operator allows."""
    return HttpExecutor(place.guard, place.clock)


def _request(run: Run, call: HttpCall, now: datetime) -> Request:
    """The request of an attempt. What was given with a trigger is its body, in the place of the action's."""
    payload = run.attempt.payload
    body, body_type = call.body, call.body_type
    if payload is not None:
        body, body_type = payload.encode(), "application/json"
    keys = read_keys(call.secret.value(), "secret") if call.secret else ()
    headers = {"User-Agent": "Foliot", "Accept": "*/*"}
    if body is not None:
        headers["Content-Type"] = body_type
    headers = _over(headers, call.headers)
    headers |= _of_run(run)
    # An id of Standard Webhooks has no dot in it.
    headers |= signed(f"run_{sha256(run.key[0].encode()).hexdigest()[:32]}", now, body or b"", keys)
    method = call.method or ("GET" if body is None else "POST")
    return Request(method, call.url, headers, body)


def _over(usual: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """The usual headers, and those of the job, which count more; names of headers have no case."""
    names = {name.lower() for name in own}
    return {name: value for name, value in usual.items() if name.lower() not in names} | dict(own)


def _of_run(run: Run) -> dict[str, str]:
    attempt, key = run.attempt, _ascii(run.key[0])
    return {
        "Idempotency-Key": key,
        "Foliot-Job": _ascii(run.job.key),
        "Foliot-Run": key,
        "Foliot-Attempt": str(attempt.number),
        "Foliot-Scheduled-For": format_instant(attempt.scheduled_for),
        "Foliot-Token": str(attempt.token),
    }


def _ascii(text: str) -> str:
    """A name as a header can carry it: what is no plain character is escaped, as in a URL."""
    return quote(text, safe=_PLAIN)


def _redirected(request: Request, answer: Answer) -> Request | None:
    """The request that follows a redirect; None: it is none. InvalidUrlError if it leads nowhere."""
    location = answer.headers.get("location")
    if answer.status not in _REDIRECTS or location is None:
        return None
    url = request.url.redirected(location)
    method, headers, body = request.method, dict(request.headers), request.body
    if answer.status not in _KEEP_METHOD and method not in ("GET", "HEAD"):
        method, body = "GET", None
    is_elsewhere = url.origin != request.url.origin
    kept = {
        name: value
        for name, value in headers.items()
        # Another server gets neither what the job's headers hold nor a signature that it could use itself.
        if (name.lower() in _HARMLESS or not is_elsewhere) and not (body is None and _is_of_body(name))
    }
    return Request(method, url, kept, body)


def _is_of_body(name: str) -> bool:
    return name.lower() == "content-type" or name.startswith("webhook-")


def _status(answer: Answer) -> str:
    try:
        return f"{answer.status} {HTTPStatus(answer.status).phrase}"
    except ValueError:  # a status of the server's own
        return str(answer.status)


def _text(answer: Answer, body: bytes) -> str:
    """The body as text; one that is packed is not unpacked, since a few bytes can become gigabytes."""
    encoding = answer.headers.get("content-encoding", "identity")
    if encoding != "identity":
        return f"({len(body):,} bytes, packed as {encoding[:20]!a})"
    return body.decode(errors="replace")
