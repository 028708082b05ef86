"""The keys of the store, and how members of its indices are made. All begin with the namespace in braces.

| key | type | holds |
|---|---|---|
| `meta` | hash | `birth`: a random text; `schema`; `seen`: the last sign of life; `hold_until`: job |
|  |  | changes wait; `run`: the server's process; `resumed`: its count of writes when it began |
| `seq` | number | one more with each write: if it falls, the server has lost some |
| `s`, `d` | hash | of each job: its text (state, open attempts, counts); its definition |
| `frames` | hash | digest → what the definitions of many jobs share |
| `keys`, `gone` | sorted | the keys of jobs that are there; of tombstones |
| `paused`, `failing`, `busy`, `damaged` | sorted, sorted, hash, hash | jobs by their state |
| `lanes`, `w:LANE` | hash, sorted | queue and kind of each lane; its jobs: wake and key |
| `nodes`, `until`, `dead` | hash, hash, sorted | facts of nodes; ends of leases; dead ids |
| `o:NODE`, `x:NODE`, `holders` | hash, set, set | attempts that a node holds; must cancel; nodes with any |
| `g:GROUP`, `outages` | hash, list | attempts started in a group, with their nodes; times without a node |
| `h:JOB`, `e` | hash, sorted | ended attempts of a job; all attempts by their time |
| `k:JOB`, `kx` | hash, sorted | skips of a job; all skips by their ends |
| `ripe` | sorted | histories by when they are worth a look |
| `out`, `parts:RUN` | hash, hash | outputs of attempts: whole; in parts |
| `v:JOB` | hash | definitions that a job has had |
| `rev`, `rev_at`, `status`, `revs:SOURCE` | hash, hash, hash, list | of sources |
| `alerts`, `ax`, `aw:CHANNEL`, `channels` | hash, sorted, sorted, set | the outbox |
| `tokens`, `tokens_used`, `tokens_x`, `opened:TOKEN` | hash, hash, sorted, set | and what each opened |
| `sessions`, `codes`, `audit`, `pipes`, each with `…_x` | hash, sorted | by their ends, or their times |
| `pipe_names`, `pipe_runs` | hash, hash | of pipelines: active names; last runs |
| `frozen`, `applying`, `stage:ID:N` | hash, hash, list | large revisions under way |
| `hold` | hash | which node works on a due job, and until when |
| `c:CLAIM` | text | the caller of a claim id; expires with the lease |

Sorted sets with names for members have the score 0: Redis then sorts them by bytes, which is the order of
code points. A time in a member is 16 hexadecimal digits, so that bytes sort as times do.
"""

# ruff: noqa: PLC0414 - re-exported

from __future__ import annotations

from functools import lru_cache
from hashlib import sha1

from foliot.stores.optimistic.names import DIGITS as DIGITS
from foliot.stores.optimistic.names import attempt_id as attempt_id
from foliot.stores.optimistic.names import id_of as id_of
from foliot.stores.optimistic.names import key_of as key_of
from foliot.stores.optimistic.names import run_member as run_member
from foliot.stores.optimistic.names import skip_id as skip_id
from foliot.stores.optimistic.names import skip_member as skip_member
from foliot.stores.optimistic.names import time_number as time_number
from foliot.stores.optimistic.names import time_text as time_text

_BOTH = "\n"  # between two names in one: neither has it


@lru_cache(maxsize=4096)
def lane_id(queue: str, kind: str) -> str:
    """The name of a lane in keys: a digest, which is the same on every node."""
    return sha1(f"{queue}\n{kind}".encode(), usedforsecurity=False).hexdigest()[:LANE_DIGITS]


LANE_DIGITS = 12


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
