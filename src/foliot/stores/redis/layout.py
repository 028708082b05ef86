"""The keys of the store, and how members of its indices are made. All begin with the namespace in braces.

| key | type | holds |
|---|---|---|
| `meta` | hash | `birth`: a random text; `schema`; `seen`: the last sign of life; `hold_until`: nobody |
|  |  | claims before; `run`: the server's process, and `resumed`: with how many writes it began |
| `seq` | number | one more with each write: if it falls, the server has lost some |
| `s`, `d` | hash | of each job: its text (state, open attempts, counts); its definition |
| `frames` | hash | digest → what the definitions of many jobs share |
| `keys`, `gone` | sorted | the keys of jobs that are there; of tombstones |
| `paused`, `failing`, `busy`, `damaged` | sorted, sorted, hash, hash | jobs by what they are |
| `lanes`, `w:LANE` | hash, sorted | queue and kind of each lane; its jobs: wake and key |
| `nodes`, `until`, `dead` | hash, hash, sorted | what nodes said; ends of leases; ids that have ended |
| `o:NODE`, `x:NODE`, `holders` | hash, set, set | attempts that a node holds; is to cancel; who holds any |
| `g:GROUP`, `outages` | hash, list | attempts started in a group, with their nodes; times without a node |
| `h:JOB`, `e` | hash, sorted | ended attempts of a job; all attempts by their time |
| `k:JOB`, `kx` | hash, sorted | skips of a job; all skips by their ends |
| `ripe` | sorted | histories by when they are worth a look |
| `out`, `parts:RUN` | hash, hash | what attempts wrote, whole; in parts |
| `v:JOB` | hash | definitions that a job has had |
| `rev`, `rev_at`, `status`, `revs:SOURCE` | hash, hash, hash, list | of sources |
| `alerts`, `ax`, `aw:CHANNEL`, `channels` | hash, sorted, sorted, set | the outbox |
| `tokens`, `tokens_used`, `tokens_x`, `opened:TOKEN` | hash, hash, sorted, set | and what each opened |
| `sessions`, `codes`, `audit`, `pipes`, each with `…_x` | hash, sorted | by their ends, or their times |
| `pipe_names`, `pipe_runs` | hash, hash | of pipelines: active names; last runs |
| `frozen`, `applying`, `stage:ID:N` | hash, hash, list | large revisions under way |
| `hold` | hash | which node has a due job at hand, and until when |
| `c:CLAIM` | text | who asks under a claim id; expires with the lease |

Sorted sets with names for members have the score 0: Redis then sorts them by bytes, which is the order of
code points. A time in a member is 16 hexadecimal digits, so that bytes sort as times do.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha1

from foliot.model.attempt import Attempt, format_instant
from foliot.model.state import Skip
from foliot.stores.sql.codes import whole

_SHIFT = 1 << 60  # no instant of the calendar is below zero then
_BOTH = "\n"  # between two names in one: neither has it
DIGITS = 16


@lru_cache(maxsize=4096)  # a herd shares its instants
def time_text(number: int) -> str:
    """Microseconds as a text that sorts as they do."""
    return f"{number + _SHIFT:016x}"


def time_number(text: str) -> int:
    """The microseconds of such a text; ValueError if it is none."""
    return int(text[:DIGITS], 16) - _SHIFT


@lru_cache(maxsize=4096)
def lane_id(queue: str, kind: str) -> str:
    """The name of a lane in keys: the same on every node, whatever is in the names."""
    return sha1(f"{queue}\n{kind}".encode(), usedforsecurity=False).hexdigest()[:LANE_DIGITS]


LANE_DIGITS = 12


def attempt_id(attempt: Attempt) -> str:
    """What no two attempts of a job share: the end of the run's key, and the number."""
    request = attempt.request
    run = f"@{format_instant(attempt.scheduled_for)}" if request is None else f"!{request}"
    return f"{run}#{attempt.number}"


def id_of(job: str, run_key: str, number: int) -> str:
    """The same, by the run's key."""
    return f"{run_key[len(job) :]}#{number}"


def key_of(job: str, identity: str) -> tuple[str, int]:
    """The run's key and the number of an attempt, of what `id_of` gave."""
    run, _, number = identity.rpartition("#")
    return f"{job}{run}", int(number)


def held_name(job: str, identity: str) -> str:
    """How a node's hash names an attempt."""
    return f"{job}{_BOTH}{identity}"


def split_name(name: str) -> tuple[str, str]:
    """The two names in one."""
    first, _, second = name.partition(_BOTH)
    return first, second


def output_name(run_key: str, number: int) -> str:
    """How the output of an attempt is named."""
    return f"{run_key}{_BOTH}{number}"


def run_member(attempt: Attempt) -> str:
    """The entry of an attempt in the index of all: time, job, request and number."""
    at = time_text(whole(attempt.scheduled_for))
    return f"{at}{attempt.job}\0{attempt.request or ''}\0{attempt.number:010}"


def job_of(member: str) -> str:
    """The job of such an entry."""
    return member[DIGITS:].partition("\0")[0]


def skip_id(skip: Skip) -> str:
    """What no two skips of a job share."""
    return time_text(whole(skip.first)) + time_text(whole(skip.last))


def skip_member(skip: Skip) -> str:
    """The entry of a skip in the index of all: its end, the job, its beginning."""
    return f"{time_text(whole(skip.last))}{skip.job}\0{time_text(whole(skip.first))}"
