"""The table of routes: each row is a function, a verb, a path, and the scope that it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc
from typing import Any, NamedTuple, TypeVar, get_type_hints

import msgspec

from foliot.api.cursor import Query
from foliot.model.access import Scope

PREFIX = "/api/v1"
F = TypeVar("F", bound=Callable[..., Awaitable[Any]])
Find = Callable[[Any, str], Awaitable[Any]]  # from a call and the text in the path; 404 if there is none


class Nothing(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """No body, or an empty object."""


_NO_BODY = {"POST": Nothing, "PUT": Nothing, "PATCH": Nothing}


class Finder(NamedTuple):
    """What a name in braces stands for. `object` and `before` tell the audit what was found."""

    find: Find
    object: Callable[[Any], str]
    description: str
    before: Callable[[Any], Any] = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One verb of one path.

    `scope` is None if no token is needed. `is_of_all`: a token that is limited to some sources may not,
    whatever its scope. `is_heavy`: few are answered at a time. `is_batch`: its body may be larger. `is_raw`:
    the handler reads the body itself. `media` are other types of answers, beside JSON. `object` names what is
    made, for the audit, from the call and the body. `is_question`: it changes nothing, whatever its verb.
    """

    verb: str
    path: str
    scope: Scope | None
    handler: Callable[..., Awaitable[Any]]
    group: Group
    query: type[Query]
    body: Any
    answer: Any
    status: int = 200
    is_of_all: bool = False
    is_batch: bool = False
    is_heavy: bool = False
    is_raw: bool = False
    media: tuple[str, ...] = ()
    object: Callable[[Any, Any], str] | None = None
    is_question: bool = False

    @property
    def changes(self) -> bool:
        """Whether it may change something: then it has a dry run, and an entry in the audit."""
        return self.verb != "GET" and not self.is_question

    @property
    def name(self) -> str:
        """What the OpenAPI document calls it."""
        return self.handler.__name__

    @property
    def summary(self) -> str:
        """What it does, in a sentence, and more."""
        return getdoc(self.handler) or ""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names in braces in its path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


class Group:
    """Routes that belong together. `finders` look up what stands in braces in their paths."""

    def __init__(self, name: str, finders: Mapping[str, Finder] | None = None, prefix: str = PREFIX) -> None:
        self.name = name
        self.finders = dict(finders or {})
        self.prefix = prefix
        self.routes: list[Route] = []

    def add(self, verb: str, path: str, scope: Scope | None, **options: Any) -> Callable[[F], F]:
        """Make a function a route."""

        def register(handler: F) -> F:
            hints = get_type_hints(handler)
            answer = options.pop("answer", hints["return"])
            self.routes.append(
                Route(
                    verb=verb,
                    path=self.prefix + path,
                    scope=scope,
                    handler=handler,
                    group=self,
                    query=hints.get("query", Query),
                    body=None if options.get("is_raw") else hints.get("body", _NO_BODY.get(verb)),
                    answer=answer,
                    **options,
                )
            )
            return handler

        return register

    def get(self, path: str, scope: Scope | None, **options: Any) -> Callable[[F], F]:
        """A question: it changes nothing."""
        return self.add("GET", path, scope, **options)

    def post(self, path: str, scope: Scope | None, **options: Any) -> Callable[[F], F]:
        """A command, or something new."""
        return self.add("POST", path, scope, **options)

    def put(self, path: str, scope: Scope | None, **options: Any) -> Callable[[F], F]:
        """The whole of something."""
        return self.add("PUT", path, scope, **options)

    def patch(self, path: str, scope: Scope | None, **options: Any) -> Callable[[F], F]:
        """A part of something."""
        return self.add("PATCH", path, scope, **options)

    def delete(self, path: str, scope: Scope | None, **options: Any) -> Callable[[F], F]:
        """An end."""
        return self.add("DELETE", path, scope, **options)
