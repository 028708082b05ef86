"""CronJobs of Kubernetes as jobs. The pod stays where it is: a run creates a Job of the suspended CronJob.

Of a manifest each line is accounted for: the one with the schedule is the job, the pod's own lines are
settings that stay in the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from foliot.doors.rollcron.report import Report, StopError
from foliot.doors.rollcron.yaml_tree import Mapping, Scalar, Sequence, decode, read_tree
from foliot.errors import ConfigInvalidError, FoliotError
from foliot.importers.draft import Draft, Line, LineKind, Note, Original, Source, When
from foliot.importers.model import robfig
from foliot.importers.model.numbers import UnreadableError
from foliot.importers.model.vixie import count
from foliot.importers.refusal import refusal_of
from foliot.importers.refused import RefusedError
from foliot.importers.registry import Registry
from foliot.schedules import Cron

_POLICIES = {"Allow": "parallel", "Forbid": "skip", "Replace": "replace"}
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?")
_MARK = re.compile(r"---(\s.*)?")
_BY_HAND = "write the job by hand"


class _Document(NamedTuple):
    first: int  # its first line in the file
    text: str


def read_manifest(name: str, data: bytes, zone: str, names: Registry) -> Source:
    """The CronJobs of a file. ConfigInvalidError if it is no YAML that can be read."""
    report = Report(name)
    try:
        text = decode(data, report)
    except StopError:
        report.check()
        raise
    rows = text.splitlines()
    reader = _Reader(name, zone, names)
    for document in _documents(rows):
        reader.take(document)
    lines = [reader.account(number, row) for number, row in enumerate(rows, start=1)]
    return Source(
        name=name,
        lines=tuple(lines),
        drafts=tuple(reader.drafts),
        notes=tuple(reader.notes),
        switch_off=tuple(reader.switch_off),
    )


def _documents(rows: list[str]) -> Iterator[_Document]:
    first, held = 1, list[str]()
    for number, row in enumerate(rows, start=1):
        if _MARK.fullmatch(row):
            yield _Document(first, "\n".join(held))
            first, held = number + 1, []
        else:
            held.append(row)
    yield _Document(first, "\n".join(held))


class _Reader:
    def __init__(self, name: str, zone: str, names: Registry) -> None:
        self._name, self._zone, self._names = name, zone, names
        self.drafts: list[Draft] = []
        self.notes: list[Note] = []
        self.switch_off: list[str] = []
        self._jobs: set[int] = set()
        self._refused: dict[int, RefusedError] = {}

    def take(self, document: _Document) -> None:
        report = Report(self._name)
        try:
            tree = read_tree(document.text, report)
            report.check()
        except (StopError, ConfigInvalidError):
            try:
                report.check()
            except ConfigInvalidError as error:
                problem = error.problems[0]
                refusal = RefusedError("yaml", f"it is not read: {problem.message}", "write it as plain YAML")
                self._refused[document.first + problem.line - 1] = refusal
            return
        for item in _items(tree):
            self._cron_job(item, document.first - 1)

    def account(self, number: int, row: str) -> Line:
        """What a line is."""
        if number in self._refused:
            error = self._refused[number]
            return Line(number, row, LineKind.UNTRANSLATED, error.code, error.reason, error.to_do)
        text = row.strip()
        kind = LineKind.SETTING
        if number in self._jobs:
            kind = LineKind.JOB
        elif not text:
            kind = LineKind.BLANK
        elif text.startswith("#"):
            kind = LineKind.COMMENT
        return Line(number, row, kind)

    def _cron_job(self, item: Mapping, above: int) -> None:
        if _text(item, "kind") != "CronJob":
            return
        spec = _inner(item, "spec")
        line = above + (_line(spec, "schedule") or item.line)
        try:
            draft = self._draft(item, spec, line)
        except RefusedError as error:
            self._refused[line] = error
            return
        self._jobs.add(line)
        self.drafts.append(draft)

    def _draft(self, item: Mapping, spec: Mapping | None, line: int) -> Draft:
        meta = _inner(item, "metadata")
        name, space = _text(meta, "name"), _text(meta, "namespace")
        if spec is None or not _NAME.fullmatch(name) or (space and not _NAME.fullmatch(space)):
            raise RefusedError("cronjob", "it has no name or no spec", _BY_HAND)
        when, original = self._rule(spec)
        where = f" -n {space}" if space else ""
        fields: dict[str, Any] = {
            "run": f"kubectl create job{where} --from=cronjob/{name} {name[:40]}-$(date -u +%s)",
            "concurrency": _POLICIES.get(_text(spec, "concurrencyPolicy") or "Allow", "parallel"),
            "misfire": self._misfire(spec),
        }
        self._limits(spec, fields)
        if _text(spec, "suspend") == "true":
            fields["enabled"] = False
        if reason := refusal_of(when, fields, {}):
            raise RefusedError("refused-here", reason, _BY_HAND)
        off = "kubectl patch cronjob" + where + " " + name + """ -p '{"spec": {"suspend": true}}'"""
        self.switch_off.append(off)
        text = f"the pod stays in the cluster: a run creates a Job of {name}, which must be suspended"
        return Draft(
            id=self._names.id_named(name), source=self._name, place=f"line {line}",
            written=_text(spec, "schedule"), when=when, fields=fields, original=original,
            notes=(Note("pod", text),),
        )  # fmt: skip

    def _rule(self, spec: Mapping) -> tuple[When, Original]:
        text, zone = _text(spec, "schedule"), _text(spec, "timeZone") or self._zone
        try:
            ZoneInfo(zone)
            rule = robfig.read_rule(text)
            Cron(text, timezone=zone)
        except UnreadableError as error:
            raise RefusedError(
                "unreadable", f"Kubernetes does not read it: {error}", "correct the schedule"
            ) from error
        except FoliotError as error:
            raise RefusedError("rule", error.message, error.hint or _BY_HAND) from error
        except (KeyError, ValueError, OSError) as error:
            raise RefusedError("zone", f"{zone[:40]} is no time zone", "correct timeZone") from error
        original = Original(zone, partial(robfig.fires, rule, zone), partial(count, rule, zone))
        return When(text, zone), original

    def _misfire(self, spec: Mapping) -> Any:
        deadline = _text(spec, "startingDeadlineSeconds")
        return {"mode": "skip", "grace": f"{deadline}s"} if deadline.isdigit() and int(deadline) else "once"

    def _limits(self, spec: Mapping, fields: dict[str, Any]) -> None:
        inner = _inner(_inner(spec, "jobTemplate"), "spec")
        if (limit := _text(inner, "activeDeadlineSeconds")).isdigit() and int(limit):
            fields["timeout"] = f"{limit}s"
        if (again := _text(inner, "backoffLimit")).isdigit() and int(again):
            text = f"backoffLimit: {again} stays with the Job in the cluster, which repeats the pod itself"
            self.notes.append(Note("backoff", text))


def _items(tree: Any) -> Iterator[Mapping]:
    """A document, or what a List holds."""
    if not isinstance(tree, Mapping):
        return
    found = tree.entries.get("items")
    if _text(tree, "kind").endswith("List") and found and isinstance(found[1], Sequence):
        yield from (item for item in found[1].items if isinstance(item, Mapping))
    else:
        yield tree


def _inner(node: Mapping | None, name: str) -> Mapping | None:
    found = node.entries.get(name) if node is not None else None
    return found[1] if found and isinstance(found[1], Mapping) else None


def _text(node: Mapping | None, name: str) -> str:
    found = node.entries.get(name) if node is not None else None
    return found[1].text.strip() if found and isinstance(found[1], Scalar) else ""


def _line(node: Mapping | None, name: str) -> int | None:
    found = node.entries.get(name) if node is not None else None
    return found[0].line if found else None
