"""`rollcron.yaml`: what its authors write, and the jobs that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from foliot.doors.rollcron.alert_fields import CHANNELS, TRUSTED_CHANNELS
from foliot.doors.rollcron.calendars import calendars_kind
from foliot.doors.rollcron.fields import FIELDS, GROUPS
from foliot.doors.rollcron.include import included
from foliot.doors.rollcron.job_reader import Entries, JobReader
from foliot.doors.rollcron.report import Report, StopError, check_all
from foliot.doors.rollcron.value import Value
from foliot.doors.rollcron.yaml_tree import Mapping as Node
from foliot.doors.rollcron.yaml_tree import decode, read_tree
from foliot.model.job import Job
from foliot.sources.git.beside import Files, no_files

FILE = "rollcron.yaml"
TOP_FIELDS = ("jobs", "defaults", "channels", "calendars", "groups", "include")
_TOP = "write jobs: and the jobs under it"
_CHANNELS_TOP = "write channels: and the channels under it"
_TOP_SYNONYMS = dict.fromkeys(
    FIELDS, "write defaults: and the field under it, for all jobs; or give it to a job"
)
_ONLY_AT_THE_TOP = dict.fromkeys(
    (name for name in TOP_FIELDS if name not in ("jobs", "defaults")),
    "it stands in the file that includes this one, and holds for all",
)


class Config(NamedTuple):
    """What a file declares, with the files that it includes.

    `untimed`: the jobs for which it says nothing about their timeout. `channels` are the file's own, by the
    names that the store has for them: `SOURCE.NAME`, and `SOURCE.JOB.ping` for the ping of a job. Other names
    in a `notify` are channels of the operator. `groups` are how many of each may run, by such names, too.
    `local`: the jobs whose zone is that of the host.
    """

    jobs: tuple[Job, ...] = ()
    untimed: frozenset[str] = frozenset()
    channels: Entries = {}  # noqa: RUF012 - nothing changes it
    groups: Mapping[str, int] = {}
    local: frozenset[str] = frozenset()


def read_config(
    data: bytes | str, *, source: str, file: str = FILE, revision: str = "", files: Files = no_files
) -> tuple[Job, ...]:
    """The jobs that a file declares, in its order, as jobs of a source.

    `files` has what stands beside it. A ConfigInvalidError tells all that is wrong.
    """
    return read_file(data, source=source, file=file, revision=revision, files=files).jobs


def read_file(  # noqa: PLR0913 - each has a default
    data: bytes | str,
    *,
    source: str,
    file: str = FILE,
    revision: str = "",
    files: Files = no_files,
    local: Callable[[str], str] | None = None,
) -> Config:
    """The same, with what the file does not say. `local` tells a job's zone, if that is not this host's."""
    report = Report(file)
    reader, config = JobReader(source, revision, report, local), Config()
    try:
        tree = read_tree(decode(data, report), report)
        if tree is None:
            report.stop(1, 1, "the file is empty", hint=_TOP)
        config = _read(Value(tree, None, None, report), reader, files)
    except StopError:
        pass
    check_all(reader.reports)
    return config


def _read(root: Value, reader: JobReader, files: Files) -> Config:
    """All jobs, if nothing was wrong up to the last of them."""
    fields = root.fields(TOP_FIELDS, _TOP, _TOP_SYNONYMS)
    channels = (CHANNELS.read(fields["channels"]) or {}) if "channels" in fields else {}
    reader.channels = {reader.own(name): entry for name, entry in channels.items()}
    if "groups" in fields:
        found = GROUPS.read(fields["groups"]) or {}
        reader.groups = {reader.own(name): count for name, count in found.items()}
    if "calendars" in fields:
        reader.learn_calendars(calendars_kind(files).read(fields["calendars"]) or {})
    if "jobs" in fields or "include" not in fields:
        _read_jobs(root, fields, reader)
    if "include" in fields:
        for report, value in included(fields["include"], files, FILE):
            reader.reports.append(report)
            if value is not None:
                inner = value.fields(("jobs", "defaults"), _TOP, {**_TOP_SYNONYMS, **_ONLY_AT_THE_TOP})
                _read_jobs(value, inner, reader)
    jobs = reader.jobs()
    return Config(jobs, frozenset(reader.untimed), reader.channels, reader.groups, frozenset(reader.local))


def _read_jobs(root: Value, fields: Mapping[str, Value], reader: JobReader) -> None:
    """The jobs of one file. Its defaults are looked at, too, if it has none."""
    if "jobs" in fields:
        reader.read(fields["jobs"], fields.get("defaults"))
        return
    if "defaults" in fields:
        reader.read_defaults(fields["defaults"])
    if isinstance(root.node, Node):
        root._replace(field="jobs").refuse("is missing", hint=_TOP)


def read_operator_channels(data: bytes | str, file: str) -> Entries:
    """The channels of an operator's file, which has nothing but `channels`. ConfigInvalidError as above."""
    report, found = Report(file), None
    with suppress(StopError):
        tree = read_tree(decode(data, report), report)
        if tree is None:
            report.stop(1, 1, "the file is empty", hint=_CHANNELS_TOP)
        fields = Value(tree, None, None, report).fields(("channels",), _CHANNELS_TOP)
        if "channels" in fields:
            found = TRUSTED_CHANNELS.read(fields["channels"])
        elif report.is_clean:
            report.add(1, 1, "is missing", field="channels", hint=_CHANNELS_TOP)
    report.check()
    return found or {}
