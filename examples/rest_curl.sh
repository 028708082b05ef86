#!/bin/sh
# Declare a job over the REST API, run it, read what it wrote, and remove it: with curl alone.
#
#     BASE=http://127.0.0.1:8000/cron FOLIOT_API_TOKEN=… sh examples/rest_curl.sh
set -eu

api="$BASE/api/v1"

ask() {
    verb=$1 path=$2
    shift 2
    curl --silent --show-error --fail-with-body -X "$verb" "$api$path" \
        -H "Authorization: Bearer $FOLIOT_API_TOKEN" -H "Content-Type: application/json" "$@"
    echo
}

job='{"schedule": "0 7 * * MON-FRI", "timezone": "Europe/Berlin",
      "action": {"kind": "python:greet", "payload": {"who": "curl"}}}'

echo "== what would this declaration do? Nothing is written."
ask PUT "/jobs/api~2Fmorning?dry_run=true" -d "$job"

echo "== declare it; the same again changes nothing"
ask PUT "/jobs/api~2Fmorning" -d "$job"

echo "== change one part of it, if it is still version 1"
ask PATCH "/jobs/api~2Fmorning" -H 'If-Match: "v1"' -d '{"policy": {"timeout": "5m", "retry": {"max": 3}}}'

echo "== run it now; the same key counts once"
ask POST "/jobs/api~2Fmorning/runs" -H "Idempotency-Key: first-try" -d '{}'

echo "== follow what it writes until it has ended"
ask GET "/runs/api~2Fmorning~21first-try/logs" -H "Accept: text/event-stream"

echo "== why does it run next?"
ask GET "/jobs/api~2Fmorning/why"

echo "== remove it"
ask DELETE "/jobs/api~2Fmorning"
