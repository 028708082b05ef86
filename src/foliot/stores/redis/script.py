"""The Lua scripts: package files, each sent once to a server, and called by the digest of its text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any, NamedTuple, Protocol

from redis.exceptions import NoScriptError

from foliot.stores.redis.wire import Answer, Wire

_FLAGS = "-- flags="
_ALSO = {"forget": ("commit", "allow-oom")}  # the same script, but allowed on a full server: it frees memory
_COMMITS = frozenset(("commit", "herd", "put", "stage"))  # scripts whose writes must be confirmed


class Script(NamedTuple):
    """A script with its digest. A newer program may have another text: both work side by side."""

    text: str
    digest: str


@cache
def script(name: str) -> Script:
    """A script of this package, with the shared code in front. Its first line may name flags."""
    folder = files(__package__) / "scripts"
    file, flags = _ALSO.get(name, (name, ""))
    common, body = ((folder / f"{part}.lua").read_text("utf-8") for part in ("common", file))
    if body.startswith(_FLAGS):
        flags = body.partition("\n")[0].removeprefix(_FLAGS)
    text = f"#!lua{f' flags={flags}' if flags else ''}\n{common}\n{body}"
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


class Call(NamedTuple):
    """A call of a script: its facts, and the jobs to write, encoded as words."""

    facts: Mapping[str, Any]
    words: Sequence[str | int] = ()


class CountsLoads(Protocol):
    """Counts how often a script had to be sent."""

    script_loads: int


def run(wire: Wire, prefix: str, name: str, calls: Sequence[Call], counts: CountsLoads) -> list[Answer]:
    """The answers of a script to some calls, which are sent together.

    If the server does not have the script, as after a restart, it has done nothing; so it is sent, and called
    again.
    """
    found = script(name)
    commands = [
        ("EVALSHA", found.digest, 1, prefix, json.dumps(call.facts, ensure_ascii=False), *call.words)
        for call in calls
    ]
    ask = wire.ask_surely if name in _COMMITS else wire.ask_all
    answers = ask(commands)
    if missed := [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]:
        wire.ask("SCRIPT", "LOAD", found.text)
        counts.script_loads += 1
        for place, answer in zip(missed, ask([commands[n] for n in missed]), strict=True):
            answers[place] = answer
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers
