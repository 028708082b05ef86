"""Names of tasks as names of jobs: a task may be called anything, a job only what can be printed.

Nearly all names are both, and stay as they are. The others are escaped behind a mark; one that is then too
long for a job is cut, ends in a hash of the whole, and the whole stands in the data of its action.
"""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import quote, unquote

from foliot.model.job import LONGEST_NAME, Job

LONGEST_ESCAPED = 200_000  # what a job's data has room for, with some to spare
_MARK = "%"
_CUT = "…"  # never part of what is escaped: that is ASCII
_DIGEST = 32
_KEPT = LONGEST_NAME - len(_MARK) - len(_CUT) - _DIGEST


def escape(task: str) -> str | None:
    """The name in ASCII, if it cannot be the name of a job as it is."""
    if len(task) <= LONGEST_NAME and task.isprintable() and not task.startswith(_MARK):
        return None
    return quote(task, safe="", errors="surrogatepass")


def job_name(escaped: str) -> str:
    """The name of the job whose task has this name, when it is escaped; no two tasks share one."""
    if len(escaped) < LONGEST_NAME:
        return f"{_MARK}{escaped}"
    return f"{_MARK}{escaped[:_KEPT]}{_CUT}{sha256(escaped.encode()).hexdigest()[:_DIGEST]}"


def task_name(job: Job) -> str:
    """The name of the task that a job is."""
    whole = job.action.data.get("task")
    return _unescape(whole) if isinstance(whole, str) else shown_name(job.name)


def shown_name(name: str) -> str:
    """The same, as far as the name of the job tells it."""
    is_escaped = name.startswith(_MARK) and _CUT not in name
    return _unescape(name.removeprefix(_MARK)) if is_escaped else name


def _unescape(escaped: str) -> str:
    return unquote(escaped, errors="surrogatepass")
