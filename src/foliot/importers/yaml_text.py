"""rollcron.yaml as text: what all jobs share goes under `defaults`; the same input gives the same bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from foliot.importers.draft import Draft, When
from foliot.importers.switch_off import one_line

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*", re.ASCII)
_WORDS = frozenset(("true", "false", "null", "none", "yes", "no", "on", "off", "y", "n"))
_RULE = ("timezone", "dialect", "dst")
_SHARED = ("concurrency", "misfire", "timeout", "shell", "user", "notify", "splay")
_LONGEST_RULE = 100
NONE = "none"  # a limit, or a default, that is not there
HEADER = "# Written by `foliot import`; IMPORT.md beside it tells where each job comes from."
_CD = "# cron starts each command in the home directory of its user: that is what `cd;` is for."


def write_yaml(drafts: Sequence[Draft], defaults: Mapping[str, Any], channels: Mapping[str, Any]) -> str:
    """The file. `defaults` are those that the import itself sets."""
    shared = _in_common(drafts)
    lines = [HEADER]
    if any(str(draft.fields.get("run", "")).startswith("cd; ") for draft in drafts):
        lines.append(_CD)
    if channels:
        lines += ["channels:", *_mapping(channels, 1)]
    if groups := sorted({draft.fields["group"] for draft in drafts if "group" in draft.fields}):
        lines += [
            "groups:  # one at a time, as run-parts starts them",
            *_mapping(dict.fromkeys(groups, 1), 1),
        ]
    common = {**{name: shared[name] for name in _RULE if name in shared}, **defaults, **shared}
    if drafts and common:
        lines += ["defaults:", *_mapping(common, 1)]
    lines.append("jobs:" if drafts else "jobs: {}")
    for draft in drafts:
        lines += ["", f"  # {_origin(draft)}", f"  {draft.id}:"]
        lines += _mapping(_own(draft, common), 2)
    return "\n".join(lines) + "\n"


def _in_common(drafts: Sequence[Draft]) -> dict[str, Any]:
    """What every job says alike."""
    found: dict[str, Any] = {}
    if not drafts:
        return found
    first = _whole(drafts[0])
    rest = [_whole(draft) for draft in drafts[1:]]
    for name in (*_RULE, *_SHARED):
        if name in first and all(name in other and other[name] == first[name] for other in rest):
            found[name] = first[name]
    env = {
        name: value
        for name, value in first.get("env", {}).items()
        if all(other.get("env", {}).get(name) == value for other in rest)
    }
    return found | ({"env": env} if env else {})


def _whole(draft: Draft) -> dict[str, Any]:
    return {**_rule_fields(draft.when), **draft.fields}


def _rule_fields(when: When | None) -> dict[str, str]:
    if when is None:
        return {}
    return {"timezone": when.timezone, "dialect": when.dialect, "dst": when.dst}


def _own(draft: Draft, shared: Mapping[str, Any]) -> dict[str, Any]:
    """What a job says beyond the defaults."""
    rule = {name: value for name, value in _rule_fields(draft.when).items() if shared.get(name) != value}
    if "dialect" not in shared and rule.get("dialect") == "standard":
        del rule["dialect"]
    if "dst" not in shared and rule.get("dst") == "exact":
        del rule["dst"]
    cron = draft.when.cron if draft.when else "never"
    own: dict[str, Any] = {"schedule": {"cron": cron, **rule} if rule else cron}
    if "description" in draft.fields:
        own = {"description": draft.fields["description"], **own}
    for name, value in draft.fields.items():
        if name == "env":
            env = {key: text for key, text in value.items() if shared.get("env", {}).get(key) != text}
            own |= {"env": env} if env else {}
        elif name not in own and shared.get(name) != value:
            own[name] = value
    return own


def _mapping(values: Mapping[str, Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for name, value in values.items():
        key = scalar(name)
        if isinstance(value, Mapping) and (name in ("env", "labels") or depth == 0):
            yield f"{indent}{key}:"
            yield from _mapping(value, depth + 1)
        else:
            yield f"{indent}{key}: {value if value == NONE else flow(value)}"


def flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(name)}: {flow(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, bool | int):
        return json.dumps(value)
    return scalar(str(value))


def scalar(text: str) -> str:
    """A text that YAML reads as this text, with as few quotes as can be."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    if text.isprintable() and ('"' in text or "\\" in text) and "'" not in text:
        return f"'{text}'"
    escaped = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped)


def _origin(draft: Draft) -> str:
    return one_line(f"{draft.source}, {draft.place}: {draft.written[:_LONGEST_RULE]}")
