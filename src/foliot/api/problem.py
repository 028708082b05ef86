"""Errors as RFC 9457 has them: every answer that is not a success is a problem, with a code for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import msgspec
from starlette.responses import Response

from foliot.errors import (
    AmbiguousNameError,
    CommandRefusedError,
    FoliotError,
    JobNotFoundError,
    RunNotFoundError,
    SourceNotFoundError,
    StaleRevisionError,
    StoreError,
    StoreUnavailableError,
    shorten,
)
from foliot.errors_access import (
    PipelineNotFoundError,
    PipelineTakenError,
    StaleVersionError,
    TokenNotFoundError,
)

MEDIA_TYPE = "application/problem+json"
AWAY_SECONDS = "2"  # when a store that is away may be asked again
_FULL = ("disk is full", "No space left", "disk full")


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a request. `pointer` is a JSON pointer into its body, or a parameter."""

    pointer: str
    detail: str
    hint: str | None = None


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An error. `code` never changes; `detail` and `hint` are for people. `instance` is the request's id."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    instance: str
    hint: str | None = None
    errors: tuple[Fault, ...] = ()
    version: int | None = None  # of the object, if the one that was expected is another


class ProblemError(FoliotError):
    """A request cannot be answered as it was meant to be. `limit` is the name of the limit that it meets."""

    def __init__(  # noqa: PLR0913 - the parts of a problem
        self,
        status: int,
        code: str,
        detail: str,
        *,
        hint: str | None = None,
        errors: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
        version: int | None = None,
        limit: str | None = None,
    ) -> None:
        super().__init__(detail, hint=hint)
        self.status, self.code = status, code
        self.errors, self.version = tuple(errors), version
        self.headers, self.limit = dict(headers or {}), limit

    def response(self, request_id: str) -> Response:
        """The answer."""
        problem = Problem(
            type=f"urn:foliot:problem:{self.code.lower().replace('_', '-')}",
            title=HTTPStatus(self.status).phrase,
            status=self.status,
            detail=self.message,
            code=self.code,
            instance=f"urn:foliot:request:{request_id}",
            hint=self.hint,
            errors=self.errors,
            version=self.version,
        )
        content = msgspec.json.encode(problem)
        return Response(content, self.status, self.headers, media_type=MEDIA_TYPE)


# The status and the code of each error, the first that fits; those below belong to definitions and values.
_KNOWN: tuple[tuple[type[FoliotError], int, str], ...] = (
    (JobNotFoundError, 404, "JOB_NOT_FOUND"),
    (RunNotFoundError, 404, "RUN_NOT_FOUND"),
    (SourceNotFoundError, 404, "SOURCE_NOT_FOUND"),
    (TokenNotFoundError, 404, "TOKEN_NOT_FOUND"),
    (PipelineNotFoundError, 404, "PIPELINE_NOT_FOUND"),
    (PipelineTakenError, 409, "ALREADY_THERE"),
    (AmbiguousNameError, 409, "AMBIGUOUS"),
    (CommandRefusedError, 409, "REFUSED"),
    (StaleVersionError, 412, "VERSION_CHANGED"),
    (StaleRevisionError, 409, "CHANGED_MEANWHILE"),
    (StoreError, 409, "NOT_POSSIBLE"),
)


def problem_of(error: FoliotError) -> ProblemError:
    """The problem that an error is to a client. What a store says may name secrets, so it is not told."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, StoreUnavailableError):
        if any(words in error.message for words in _FULL):
            return ProblemError(
                507, "STORE_FULL", "the store has no room left", hint="free space, then send it again"
            )
        hint = "send it again later; a GET tells whether a change took effect"
        headers = {"Retry-After": AWAY_SECONDS}
        return ProblemError(503, "STORE_UNAVAILABLE", "the store does not answer", hint=hint, headers=headers)
    for kind, status, code in _KNOWN:
        if isinstance(error, kind):
            version = error.details.get("found") if status == 412 else None  # noqa: PLR2004 - of HTTP
            return ProblemError(status, code, error.message, hint=error.hint, version=version)
    field = error.details.get("field") or error.details.get("argument") or ""
    if field == "after":
        hint = "begin without a cursor, then give what the page before has as `next`"
        return ProblemError(400, "BAD_CURSOR", "the cursor cannot be used", hint=hint)
    fault = Fault(pointer=pointer_of(str(field)), detail=error.message, hint=error.hint)
    return ProblemError(422, "INVALID", error.message, hint=error.hint, errors=[fault])


def pointer_of(path: str) -> str:
    """`policy.retry.max` and `jobs[3].name` as a JSON pointer: `/policy/retry/max`, `/jobs/3/name`."""
    steps = path.replace("[", ".").replace("]", "").split(".")
    return "".join(f"/{shorten(step)}" for step in steps if step)
