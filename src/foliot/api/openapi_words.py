"""What the OpenAPI document says in words: parameters, headers, groups and examples.

A parameter of one name means the same wherever it stands.
"""

from __future__ import annotations

from typing import Any

PARAMETERS = {
    "actor": "Who asked: such as `token:abc1234567 ci` or `cli:ann@host`.",
    "after": "From which place on: the `end` of an earlier answer.",
    "bucket": "How long each bucket is.",
    "cascade": "Remove the schedules of the pipeline, too. Without it they stay, and their runs fail.",
    "cursor": "Where to go on: the `next` of the page before. The filters must stay the same.",
    "dialect": "The language of the expression: `standard`, `posix`, `seconds`, `celery` or `vixie`.",
    "dst": "What happens when the clocks are moved: `exact`, `cron`, `systemd` or `once`.",
    "enabled": "Only those that are switched on, or off.",
    "expr": "A cron expression.",
    "format": "`text` or `json`, whatever the request accepts.",
    "force": "Also if a node that lives serves it.",
    "job": "The id or the key of a job.",
    "key": "The key of one job: `shop/mail`.",
    "kind": "The kind of action of the jobs: `http`.",
    "layer": "The layer of a pipeline.",
    "limit": "How many at most.",
    "n": "How many occurrences to tell.",
    "namespace": "The namespace of a pipeline.",
    "node": "The id of a node.",
    "object": "What was changed: such as `job:shop/mail`.",
    "offset": "How many to leave out. A cursor is quicker.",
    "order": "By their keys, or by when they are due.",
    "outcome": "How the last attempt ended.",
    "pipeline": "The name of a pipeline; it needs `namespace` and `layer`.",
    "pipeline_id": "The id of a pipeline.",
    "queue": "The queue of the jobs.",
    "reason": "Why occurrences did not run.",
    "removed": "Also what was removed.",
    "search": "A part of the name, in small or capital letters.",
    "source": "The source of the jobs.",
    "state": "In which state the jobs are.",
    "status": "How the run stands.",
    "timezone": "An IANA name, such as `Europe/Berlin`.",
    "to": "The version to compare with; without one, the one after.",
    "topics": "Topics, with commas between them: `jobs,job:ops~2Fbackup`; none: all but logs.",
    "trigger": "Why the last attempt exists.",
    "verbose": "Tell more, to a client with a token.",
    "zone": "The zone of the buckets: an IANA name.",
}
TAGS = {
    "pipelines": "Named actions that schedules refer to.",
    "schedules": "When pipelines run.",
    "runs": "What became of occurrences and requests.",
    "jobs": "Jobs of all sources; those of the source `api` can be changed here.",
    "rules": "Cron expressions, and what comes.",
    "fleet": "Sources, nodes and queues.",
    "tokens": "Who may do what, and who did.",
    "events": "Hints that something has changed.",
    "system": "Health, metrics, this document, and logging in.",
}
_TEXT = {"schema": {"type": "string"}}
LOCATION = {"Location": {"description": "Where it is.", **_TEXT}}
REPLAYED = {
    "Idempotency-Replayed": {
        "description": "`true` if an earlier request had the same Idempotency-Key: nothing was done again.",
        **_TEXT,
    }
}
TAG = {"ETag": {"description": 'The version, for If-None-Match: `W/"v7.912"`.', **_TEXT}}
RETRY_AFTER = {
    "Retry-After": {"description": "Seconds to wait (429, 503).", "schema": {"type": "integer", "minimum": 0}}
}
EXAMPLES: dict[str, Any] = {
    "NewJobBody": {
        "name": "morning",
        "schedule": "0 7 * * MON-FRI",
        "timezone": "Europe/Berlin",
        "action": {"kind": "http", "payload": {"url": "https://shop.example/reindex", "method": "POST"}},
        "policy": {"timeout": "5m", "retry": {"max": 3}},
    },
    "JobParts": {"schedule": "30 7 * * *"},
    "PauseBody": {"reason": "the shop moves"},
    "RunBody": {"payload": {"full": True}},
    "BackfillBody": {"from": "2026-11-01T00:00:00Z", "to": "2026-11-02T00:00:00Z", "which": "missed"},
    "BulkBody": {"action": "pause", "ids": ["ops~2Fbackup", "api~2Fmorning"], "reason": "the shop moves"},
    "PipelineBody": {
        "namespace": "shop",
        "layer": "gold",
        "name": "sales",
        "action": {"kind": "python:sales"},
    },
    "ScheduleBody": {"namespace": "shop", "layer": "gold", "pipeline": "sales", "cron": "0 7 * * *"},
    "TokenBody": {"name": "ci", "scope": "write", "sources": ["api"], "expires": "90d"},
    "Problem": {
        "type": "urn:foliot:problem:invalid",
        "title": "Unprocessable Content",
        "status": 422,
        "detail": "schedule: minute 61 is above 59",
        "code": "INVALID",
        "instance": "urn:foliot:request:0f3c6a7d5f1b4a5e9d1c2b3a4f5e6d7c",
        "hint": "minutes are 0 to 59",
        "errors": [{"pointer": "/schedule", "detail": "minute 61 is above 59", "hint": None}],
        "version": None,
    },
}
