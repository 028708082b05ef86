"""Groups of pages: routes as those of the API, without a prefix, and with forms in the place of JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qs

import msgspec
from msgspec import Meta

from foliot.api.cursor import Query
from foliot.api.finders import FINDERS
from foliot.api.problem import ProblemError
from foliot.api.route import F, Finder, Group
from foliot.model.access import Scope

Q = TypeVar("Q", bound=Query)
Short = Annotated[str, Meta(max_length=100)]
Trail = Annotated[str, Meta(max_length=8000)]
_MOST_FIELDS = 1100  # more than the jobs of one page that can be chosen


class Pages(Group):
    """Pages that belong together."""

    def __init__(self, name: str, finders: Mapping[str, Finder] | None = None) -> None:
        super().__init__(name, {**FINDERS, **(finders or {})}, prefix="")

    def post(self, path: str, scope: Scope | None, **options: Any) -> Callable[[F], F]:
        """A form that is sent."""
        return self.add("POST", path, scope, is_raw=True, **options)


class Form:
    """The fields of a form that was sent. Of several values of one field, `all` has each."""

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        self._fields = fields

    @classmethod
    def read(cls, body: bytes) -> Form:
        """The form of a body; 400 if it is none."""
        try:
            found = parse_qs(
                body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
            )
        except ValueError:
            raise ProblemError(400, "MALFORMED", "the form cannot be read", hint="send it again") from None
        if any("\0" in text for texts in found.values() for text in texts):
            raise ProblemError(400, "MALFORMED", "the form has a NUL", hint="leave it out")
        return cls({name: [text.replace("\r\n", "\n") for text in texts] for name, texts in found.items()})

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def get(self, name: str, usual: str = "") -> str:
        """A field, without blanks around it."""
        return self._fields.get(name, [usual])[0].strip()

    def all(self, name: str) -> list[str]:
        """All values of a field."""
        return self._fields.get(name, [])

    @property
    def typed(self) -> dict[str, str]:
        """What was typed, to be shown again."""
        return {name: texts[0] for name, texts in self._fields.items()}


def narrowed(query: Query, kind: type[Q]) -> Q:
    """The part of a page's query that is a question of the API."""
    return kind(**{name: getattr(query, name) for name in kind.__struct_fields__})


def filters_of(query: Query) -> dict[str, str]:
    """What stands in the URL of a list: all that is not as usual, without its place."""
    usual = {field.name: field.default for field in msgspec.structs.fields(query)}
    names = dict(zip(query.__struct_fields__, query.__struct_encode_fields__, strict=True))
    found = {}
    for name, value in zip(query.__struct_fields__, msgspec.structs.astuple(query), strict=True):
        if name not in ("cursor", "trail") and value != usual[name]:
            shown = msgspec.to_builtins(value)
            found[names[name]] = str(shown).lower() if isinstance(shown, bool) else str(shown)
    return found
