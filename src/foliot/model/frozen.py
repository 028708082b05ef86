"""Immutable JSON values: objects are mapping proxies, lists are tuples, at every level.

A definition is shared, so a caller or an executor must not change it through a payload. `thaw` gives a copy
in JSON's own types, which its owner may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, NoneType
from typing import Any

_SCALARS = frozenset((str, int, float, bool, NoneType))
_DEEPEST = 100  # beyond what JSON may have here; a value that holds itself has no bottom


class BottomlessError(ValueError):
    """A value is nested too deeply to be data; it may hold itself."""


def freeze(data: Mapping[str, Any], depth: int = 1) -> Mapping[str, Any]:
    """A copy of an object that cannot be changed at any depth."""
    return MappingProxyType(
        {
            name: value if type(value) in _SCALARS else _frozen(value, depth + 1)
            for name, value in data.items()
        }
    )


def _frozen(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise BottomlessError
    if isinstance(value, Mapping):
        return freeze(value, depth)
    if isinstance(value, list | tuple):
        return tuple([_frozen(inner, depth + 1) for inner in value])
    return value


def thaw(value: Any) -> Any:
    """A copy of a frozen value in dicts and lists, which the caller may change."""
    kind = type(value)
    if kind is MappingProxyType:
        return {name: inner if type(inner) in _SCALARS else thaw(inner) for name, inner in value.items()}
    return [thaw(inner) for inner in value] if kind is tuple else value


def is_alike(one: Any, other: Any) -> bool:
    """Whether two frozen values are the same JSON. 1, 1.0 and True are not, though Python has them equal."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other) or one != other:
        return False
    if kind is MappingProxyType:
        return all(is_alike(inner, other[name]) for name, inner in one.items())
    return all(map(is_alike, one, other)) if kind is tuple else True
