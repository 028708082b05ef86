"""`include`: more files of jobs, of the same repository. Each has its own defaults.

rollcron.yaml   include: [jobs/*.yaml]   ──▶   jobs/a.yaml, jobs/b.yaml: defaults, jobs
"""

from __future__ import annotations

from collections.abc import Iterator

from foliot.doors.rollcron.report import Report, StopError
from foliot.doors.rollcron.value import TEXT, Kind, Value, list_of, path_inside, scalar
from foliot.doors.rollcron.yaml_tree import decode, read_tree
from foliot.errors import shorten
from foliot.sources.git.beside import Files, FilesRefusedError

_HINT = "such as [jobs/*.yaml]"
_TOP = "write jobs: and the jobs under it; defaults: may stand there, too"


INCLUDE = list_of(scalar(path_inside, **TEXT.schema), "paths", _HINT)


def included(value: Value, files: Files, top: str) -> Iterator[tuple[Report, Value | None]]:
    """The files that a list names, each with its report; None: it cannot be read as YAML.

    `top`: the file that the list is in, which is not read again.
    """
    for path, data in _found(value, INCLUDE, files).items():
        if path == top:
            continue
        report = Report(path)
        try:
            tree = read_tree(decode(data, report), report)
            if tree is None:
                report.stop(1, 1, "the file is empty", hint=_TOP)
            yield report, Value(tree, None, None, report)
        except StopError:
            yield report, None


def _found(value: Value, kind: Kind, files: Files) -> dict[str, bytes]:
    patterns: list[str] | None = kind.read(value)
    found: dict[str, bytes] = {}
    try:
        if patterns is not None:
            found = dict(files(patterns))
    except FilesRefusedError as error:
        value.refuse(error.message, hint="divide the jobs among repositories")
        return {}
    if patterns is not None and not found:
        value.refuse(
            f"no file matches {shorten(', '.join(patterns))}",
            hint="paths count from the top of the repository: jobs/*.yaml",
        )
    return dict(sorted(found.items()))
