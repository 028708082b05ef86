"""The errors of tokens and pipelines: a part of the tree of `foliot.errors`.

FoliotError
├── InvalidTokenError             a token cannot be right
└── StoreError
    ├── TokenNotFoundError        ... because there is no such token
    ├── PipelineNotFoundError     ... because there is no such pipeline
    ├── PipelineTakenError        ... because another pipeline has that name, or that id
    └── StaleVersionError         ... because the pipeline has changed meanwhile
"""

from __future__ import annotations

from foliot.errors import FoliotError, StoreError, shorten


class InvalidTokenError(FoliotError, ValueError):
    """A token cannot be right. The text of a token is never shown."""

    def __init__(self, field: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(f"{field} {reason}", details={"field": field, "reason": reason}, hint=hint)


class TokenNotFoundError(StoreError):
    """There is no token of that id."""

    def __init__(self, token: str, *, hint: str | None = None) -> None:
        super().__init__(f"there is no token {shorten(token)}", details={"token": token}, hint=hint)


class PipelineNotFoundError(StoreError):
    """There is no pipeline of that id or name, or it was removed."""

    def __init__(self, pipeline: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"there is no pipeline {shorten(pipeline)}", details={"pipeline": pipeline}, hint=hint
        )


class PipelineTakenError(StoreError):
    """Another pipeline has that name, or that id."""

    def __init__(self, pipeline: str, found: str) -> None:
        super().__init__(
            f"there is a pipeline {shorten(pipeline)} already",
            details={"pipeline": pipeline, "found": found},
            hint=f"change that pipeline (its id is {found}), or choose another name",
        )


class StaleVersionError(StoreError):
    """A pipeline has changed since the version that a change was based on."""

    def __init__(self, pipeline: str, expected: int, found: int) -> None:
        super().__init__(
            f"pipeline {shorten(pipeline)} is at version {found}, not at {expected}",
            details={"pipeline": pipeline, "expected": expected, "found": found},
            hint="read the pipeline again, and base the change on its present version",
        )
