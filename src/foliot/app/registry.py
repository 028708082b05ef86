"""The functions that jobs may call, by name, and the jobs that the code declares."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from foliot.errors import InvalidJobError, shorten
from foliot.executors.python import Function, describe
from foliot.model.codec import encode_job
from foliot.model.job import LONGEST_NAME, Action, Job, is_name, unchecked_action
from foliot.model.json_text import MisfitError, is_flat
from foliot.model.kinds import all_of, serves
from foliot.model.shape import DATA
from foliot.protocols import Snapshot
from foliot.wiring import built_in_executors, check_action

PREFIX = "python:"
_MOST_SHOWN = 20  # kinds, in an error
_MOST_FITS = 1000


class Registry:
    """The functions and jobs of a program."""

    def __init__(self, prefixes: Iterable[str] = ()) -> None:
        own = {**built_in_executors(), **dict.fromkeys(prefixes)}
        # prefixes of kinds with an executor; each function has its own kind
        self._prefixes = tuple(all_of(prefix) for prefix in own if all_of(prefix) != PREFIX)
        self.functions: dict[str, Function] = {}  # by the kind of their action
        self._kinds: dict[Callable[..., Any], str] = {}
        self._jobs: dict[str, Job] = {}
        self._snapshot: Snapshot | None = None  # of the jobs as they are
        self._fits: set[tuple[str, ...]] = set()  # kinds, each with names of arguments that fit its function

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of action that the program can carry out."""
        return frozenset((*self._prefixes, *self.functions))

    def add_function(self, name: str, function: Callable[..., Any]) -> None:
        """Make a function an action."""
        if not callable(function):
            raise InvalidJobError("action", function, "is not a function")
        if not is_name(name):
            raise InvalidJobError("name", name, f"must be a printable text of 1 to {LONGEST_NAME} characters")
        kind = PREFIX + name
        known = self.functions.get(kind)
        if known is not None and not _is_same(known.call, function):
            reason = f"is the name of two functions: {_place_of(known.call)} and {_place_of(function)}"
            raise InvalidJobError("action", name, reason, hint='give one of them another name: name="…"')
        described = describe(function)
        try:
            self._kinds[function] = kind
        except TypeError:
            hint = "wrap it in a function"
            raise InvalidJobError("action", function, "cannot be told from others", hint=hint) from None
        self.functions[kind] = described
        self._fits.clear()

    def add_job(self, job: Job) -> None:
        """Declare a job in code. Running a notebook cell again replaces it."""
        self._jobs[job.name] = job
        self._snapshot = None

    def replace_jobs(self, jobs: Iterable[Job]) -> None:
        """These are all jobs that the code declares."""
        self._jobs = {job.name: job for job in jobs}
        self._snapshot = None

    def refuse_declared(self, name: object) -> None:
        """Raise an error if the code declares a job of that name."""
        if isinstance(name, str) and name in self._jobs:
            raise InvalidJobError("name", name, "is declared in the code", hint="choose another name")

    @property
    def has_jobs(self) -> bool:
        """Whether the code declares any."""
        return bool(self._jobs)

    def action(self, action: Callable[..., Any] | str | Action, payload: Mapping[str, Any] | None) -> Action:
        """The action of a function with its arguments, which must fit; or one of another kind, as it is."""
        if isinstance(action, Action):
            if payload is not None:
                hint = "put it into the action's data"
                raise InvalidJobError(
                    "payload", payload, "is for functions, and this is an Action", hint=hint
                )
            if not action.kind.startswith(PREFIX):
                return self._of_other_kind(action)
            payload = action.data
            action = action.kind.removeprefix(PREFIX)  # which another program may have
        else:
            self._check_known(action)
        kind = PREFIX + action if isinstance(action, str) else self._kind_of(action)
        if kind is None or (isinstance(action, str) and not is_name(action)):
            name = getattr(action, "__name__", action)
            raise InvalidJobError(
                "action", name, "is not registered", hint=f"put @app.action above `def {shorten(name)}`"
            )
        function = self.functions.get(kind)
        given: object = payload
        if given is not None and not isinstance(given, Mapping):
            hint = 'such as payload={"user_id": 7}'
            raise InvalidJobError("payload", payload, "must be a mapping, of arguments by name", hint=hint)
        if function is not None and (sign := (kind, *(payload or ()))) not in self._fits:
            _check_fit(kind, function, payload or {})
            if len(self._fits) < _MOST_FITS:
                self._fits.add(sign)
        if not payload:
            return Action(kind=kind)
        if type(payload) is dict and is_flat(payload):
            return unchecked_action(kind, dict(payload))
        return Action(kind=kind, data=_stored("payload", payload))

    def _check_known(self, name: Callable[..., Any] | str) -> None:
        """Refuse the name of a function that is not here: a typing error would wait for ever."""
        if not isinstance(name, str) or not is_name(name) or PREFIX + name in self.functions:
            return
        known = [kind.removeprefix(PREFIX) for kind in self.functions]
        close = get_close_matches(name, known, n=1)
        elsewhere = f'if another program has it, write Action(kind="{PREFIX}{shorten(name)}")'
        hint = f"did you mean {close[0]}? {elsewhere}" if close else f"put @app.action above it; {elsewhere}"
        raise InvalidJobError("action", name, "is no function of this program", hint=hint)

    def _of_other_kind(self, action: Action) -> Action:
        if not serves(self._prefixes, action.kind):
            known = [*(prefix.rstrip(":") for prefix in self._prefixes), *sorted(self.functions)]
            told = f", which has some for {', '.join(known[:_MOST_SHOWN])}" if known else ""
            hint = f"give it one: Foliot(…, executors={{{action.kind.partition(':')[0]!r}: …}})"
            reason = f"has no executor in this program{told}"
            raise InvalidJobError("action", action.kind, reason, hint=hint)
        checked = Action(kind=action.kind, data=_stored("action.data", action.data))
        check_action(checked)
        return checked

    def _kind_of(self, action: object) -> str | None:
        try:
            return self._kinds.get(action)  # type: ignore[call-overload, no-any-return] # whatever it is
        except TypeError:  # it has no hash, so it was not registered
            return None

    def snapshot(self) -> Snapshot:
        """All declared jobs; the revision is a digest of them."""
        if self._snapshot is None:  # called at each heartbeat
            jobs = tuple(self._jobs[name] for name in sorted(self._jobs))
            digest = hashlib.sha256("\n".join(encode_job(job) for job in jobs).encode())
            self._snapshot = Snapshot(f"code-{digest.hexdigest()[:20]}", jobs)
        return self._snapshot


def _stored(field: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        written: Mapping[str, Any] = DATA.write(data)
    except MisfitError as error:
        raise InvalidJobError(f"{field}.{error.path}", error.value, error.reason) from None
    return written


def name_of(function: object, given: str | None) -> str:
    """The name of a job or of an action: the given one, or else the function's own."""
    if given is not None:
        return given
    if not callable(function):
        raise InvalidJobError("action", function, "is not a function")
    name: object = getattr(function, "__name__", None)
    if not isinstance(name, str):
        hint = 'give it one: name="…"'
        raise InvalidJobError("name", function, "has no name of its own", hint=hint)
    return name


def _is_same(known: Callable[..., Any], new: Callable[..., Any]) -> bool:
    """Whether this is the same function, from a reloaded module or a repeated notebook cell."""
    return known is new or (
        getattr(known, "__module__", None) == getattr(new, "__module__", None)
        and getattr(known, "__qualname__", None) == getattr(new, "__qualname__", None)
    )


def _place_of(function: Callable[..., Any]) -> str:
    """Where a function is written: `shop.jobs.clean (shop/jobs.py, line 7)`."""
    name = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}"
    code = getattr(inspect.unwrap(function), "__code__", None)
    return name if code is None else f"{name} ({code.co_filename}, line {code.co_firstlineno})"


def _check_fit(kind: str, function: Function, payload: Mapping[str, Any]) -> None:
    positional = (object(),) if function.takes_run else ()
    try:
        function.signature.bind(*positional, **payload)
    except TypeError as error:
        name = kind.removeprefix(PREFIX)
        hint = None
        if not payload and not function.takes_run:
            hint = "a parameter for the run itself must be the first, and be called `run`"
        raise InvalidJobError(
            "payload", dict(payload), f"does not fit {name}(): {error}", hint=hint
        ) from None
