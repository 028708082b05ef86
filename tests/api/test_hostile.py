"""Raw requests that no honest client sends: each gets a problem of the 400s, and nothing is stored."""

# ruff: noqa: E501, Q000 - tables of bytes are read as rows

from __future__ import annotations

import json
import socket
from base64 import urlsafe_b64encode

import pytest

from api.stage import NEW, Stage
from foliot.api.cursor import write_cursor
from foliot.api.jobs import JobsQuery
from foliot.api.runs import RunsQuery
from foliot.model.query import JobOrder

HOST = b"Host: 127.0.0.1\r\n"
JSON = b"Content-Type: application/json\r\n"
GOOD = json.dumps(NEW).encode()


def raw(stage: Stage, request: bytes) -> tuple[int, bytes, bytes]:
    """The status, the headers and the body of the answer to some bytes."""
    port = int(stage.base.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request.replace(b"TOKEN", stage.tokens["admin"].encode()))
        answer = b""
        while part := connection.recv(65536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 "), (request[:200], answer[:200])
    length = next(
        (line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0"
    )
    return int(head[9:12]), head, body[: int(length.partition(b":")[2])]


def get(path: bytes, *headers: bytes, verb: bytes = b"GET") -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return verb + b" " + path + b" HTTP/1.1\r\n" + HOST + b"Authorization: Bearer TOKEN\r\n" + lines + CLOSE


CLOSE = b"Connection: close\r\n\r\n"


def post(body: bytes, *headers: bytes, path: bytes = b"/api/v1/jobs", verb: bytes = b"POST") -> bytes:
    length = b"Content-Length: %d\r\n" % len(body)
    kind = b"" if any(h.lower().startswith(b"content-type") for h in headers) else JSON
    lines = b"".join(header + b"\r\n" for header in headers)
    start = verb + b" " + path + b" HTTP/1.1\r\n" + HOST + b"Authorization: Bearer TOKEN\r\n"
    return start + kind + length + lines + CLOSE + body


def with_field(name: str, value: bytes) -> bytes:
    """A good body, but for one field."""
    rest = json.dumps({field: inner for field, inner in NEW.items() if field != name}).encode()
    return rest[:-1] + b', "%s": %s}' % (name.encode(), value)


MALFORMED = [
    b"[", b"{", b"nonsense", b"\xff\xfe", b"\xef\xbb\xbf{}", b'{"name": NaN}', b'{"name": Infinity}', b'{"a": 1e999}',
    b'{"a": 1, "a": 2}', b'{"name": "\\ud800"}', b'{"name": "\\u0000"}', b'{"x": ' + b"9" * 40 + b"}", b"[" * 5000,
    b'{"a":' * 200 + b"1" + b"}" * 200, b"{}{}", b"{'a': 1}", b'{"a": 01}', b'{"a": .5}', b'{"a": "\n"}', b"\x00",
    b'{"a": tru}', b'{"a": 1,}', b'{"a" 1}', b'{a: 1}', b'"\\x41"', b"{}\x00", b'{"a": -}', b"[1 2]", b"/**/{}",
    b'{"' + b"a" * 10 + b'": "' + b"\xc3\x28" + b'"}',
]  # fmt: skip
MISFITS = [
    b"null", b"[]", b"1", b'"text"', b"true", b"{}", b'{"name": 1}', b'{"jobs": []}', b'{"schedule": "0 3 * * *"}',
    *(with_field("schedule", value) for value in (
        b'""', b"null", b"1", b"[]", b"{}", b'"60 * * * *"', b'"* * * *"', b'"* * * * * * *"', b'"@never"', b'"@every 0s"',
        b'"0 0 31 2 *"', b'"2026-01-01T00:00:00"', b'"2026-13-01T00:00:00Z"', b'"0001-01-01T00:00:00Z"', b'"%s"' % (b"*" * 5000),
        b'"CRON_TZ=Mars/X * * * * *"', b'"*/0 * * * *"', b'"1-0 * * * *"', b'"\\u202e * * * *"', b'"; DROP TABLE jobs"',
        b'"9999-12-31T23:59:59Z"', b'"@every -1s"', b'"@every 1e9h"', b'"0 3 * * MON-"', b'"0 3 ? ? ?x"',
    )),
    *(with_field("timezone", value) for value in (
        b'"Mars"', b'"../../etc/passwd"', b"1", b"null", b'""', b'"UTC\\n"', b'"posixrules"', b'"%s"' % (b"A" * 300),
        b'"/etc/localtime"', b'"Europe"', b'"right/UTC"', b'"..\\\\"', b"[]",
    )),
    *(with_field("name", value) for value in (
        b'""', b"7", b"[]", b'"%s"' % (b"n" * 201), b'"a\\tb"', b'"\\u202e"', b'"a\\u0007"', b'{"a": 1}', b"true", b'"\\u200b"',
    )),
    *(with_field("action", value) for value in (
        b"null", b"{}", b'"python:x"', b'{"kind": ""}', b'{"kind": 1}', b'{"kind": "k", "payload": []}', b"[]",
        b'{"kind": "k", "payload": 1}', b'{"kind": "k", "data": {}}', b'{"kind": "shell:ops"}', b'{"kind": "code:x"}',
        b'{"kind": "alert:ops"}', b'{"kind": "declarative:x"}', b'{"kind": "a\\tb"}', b'{"kind": "%s"}' % (b"k" * 201),
        b'{"kind": "k", "payload": {"a": "%s"}}' % (b"x" * 300_000),
    )),
    *(with_field("queue", value) for value in (b'""', b"1", b'"%s"' % (b"q" * 201), b'"a\\tb"', b"null")),
    *(with_field("enabled", value) for value in (b'"yes"', b"1", b"null", b"[]")),
    *(with_field("repeat_until", value) for value in (b'"soon"', b'"2026-01-01T00:00:00"', b"1", b'"9999-12-31T23:59:59Z"')),
    *(with_field("dialect", value) for value in (b'"quartz"', b"1", b"null", b'""')),
    *(with_field("policy", value) for value in (
        b"[]", b"1", b'{"timeout": -1}', b'{"timeout": "0s"}', b'{"retry": {"max": "x"}}', b'{"retry": 3}', b'{"retry": {"max": 1e9}}',
        b'{"keep": {"last": -1}}', b'{"overlap": {"mode": "both"}}', b'{"misfire": {"mode": "all", "limit": -5}}',
        b'{"timeout": "999999999999999999999999h"}', b'{"retry": {"jitter": 1e308}}', b'{"colour": 1}', b'{"splay": "1"}',
        b'{"notify": "ops"}', b'{"expect": []}', b'{"retry": {"max": null, "x": {}}}',
    )),
]  # fmt: skip
PATHS = [
    b"/api/v1/jobs/", b"/api/v1/jobs//", b"/api/v1//jobs", b"/api/v1/jobs/ops%2Fbackup", b"/api/v1/jobs/ops%2fbackup",
    b"/api/v1/jobs/ops~2fbackup", b"/api/v1/jobs/ops~2Fback~75p", b"/api/v1/jobs/..%2f..%2fetc", b"/api/v1/jobs/~",
    b"/api/v1/jobs/%00", b"/api/v1/jobs/~00", b"/api/v1/jobs/ops~2F~00", b"/api/v1/runs/ops~2F~00~21x", b"/api/v1/sources/~00", b"/api/v1/jobs/a%00b", b"/api/v1/../v1/jobs", b"/api/v1/jobs/..", b"/api/v1/jobs/%2e%2e", b"/api/v2/jobs",
    b"/api/v1/jobs/ops~2Fbackup/", b"/api/v1/jobs/ops/backup", b"/api/v1/jobs/%F0%9F%98%80", b"/api/v1/jobs/" + b"a" * 3000,
    b"/api/v1/jobs/ops~2Fbackup/versions/0/diff", b"/api/v1/jobs/ops~2Fbackup/versions/x/diff", b"/api/v1/JOBS", b"/.env",
    b"/api/v1/jobs/ops~2Fbackup/versions/99999999999999/diff", b"/api/v1/jobs/ops~2Fbackup/versions/-1/diff", b"/api",
    b"/api/v1/runs/ops~2Fbackup", b"/api/v1/runs/ops~2Fbackup~40never", b"/api/v1/runs/~40~40", b"/api/v1/tokens/" + b"t" * 200,
    b"/api/v1/tokens/%27%20OR%201=1", b"/api/v1/sources/..", b"/api/v1/sources/~2E~2E", b"/api/v1/sources/a~2Fb", b"/static/../pages.py",
    b"/static/..%2fpages.py", b"/static/login.py", b"/api/v1/jobs/ops~2Fbackup%5C", b"/api/v1/jobs/%252F", b"/server-status",
    b"/api/v1/runs/ops~2Fbackup~402026-01-01T00~3A00~3A00Z/attempts/1/log",
]  # fmt: skip
QUERIES = [
    b"limit=-1", b"limit=1.5", b"limit=%00", b"limit=" + b"9" * 400, b"cursor=", b"cursor=AAAA", b"cursor=%FF", b"cursor=" + b"A" * 4001,
    b"source=%ff", b"state=", b"order=random", b"search=" + b"x" * 201, b"a", b"=1", b"&".join(b"x%d=1" % n for n in range(60)),
    b"limit=5&limit=6", b"dry_run=yes", b"removed=", b"key=" + b"k" * 401, b"source=a%00b", b"__proto__=1", b"limit[]=1",
]  # fmt: skip
TIMES = [
    b"2026-01-01", b"2026-01-01T00:00:00", b"now", b"2026-01-01T00:00:00+01:00", b"2026-06-30T23:59:60Z", b"9999-12-31T23:59:59Z",
    b"0000-01-01T00:00:00Z", b"2026-02-30T00:00:00Z", b"1767225600", b"2026-01-01T25:00:00Z", b"", b"10000-01-01T00:00:00Z",
    b"2026-01-01T00:00:00%2B25:00", b"-2026-01-01T00:00:00Z", b"2026-01-01T00:00:00Z%00",
]  # fmt: skip
PLACES = [
    [0, "a\0b"],
    [0, "x"],
    [0, "~"],
    [99, ""],
    [-1, "x"],
    ["0", ""],
    [0],
    "x",
    None,
    {},
    [0, "'; --"],
    [0, "\U0010ffff"],
]
CURSORS = [
    *(b"jobs?cursor=" + write_cursor("/api/v1/jobs", JobsQuery(), None, place).encode() for place in PLACES),
    *(
        b"jobs?order=soonest&cursor="
        + write_cursor("/api/v1/jobs", JobsQuery(order=JobOrder.SOONEST), None, place).encode()
        for place in PLACES
    ),
    *(b"runs?cursor=" + write_cursor("/api/v1/runs", RunsQuery(), None, place).encode() for place in PLACES),
    *(
        b"jobs?cursor=" + urlsafe_b64encode(text).rstrip(b"=")
        for text in (b"[]", b"{}", b"[1, 2]", b'["a", "b"]', b"null", b"\xff")
    ),
]
VERBS = [b"PATCH", b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"PROPFIND", b"BREW", b"get"]
PROTOCOL = [
    b"GET / HTTP/1.1\r\n\r\n", b"GET /\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET / HTTP/9.9\r\n" + HOST + CLOSE,
    b"GET / HTTP/1.1\r\n" + HOST + HOST + CLOSE, b"GET / HTTP/1.1\r\nHost: evil.example\r\n" + CLOSE, b"GET  / HTTP/1.1\r\n" + HOST + CLOSE,
    b"GET http://evil.example/api/v1/jobs HTTP/1.1\r\nHost: evil.example\r\n" + CLOSE,
    b"GET http://evil.example/ HTTP/1.1\r\n" + HOST + CLOSE, b"GET / HTTP/1.1\r\nHost: a@127.0.0.1\r\n" + CLOSE,
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1:99999999\r\n" + CLOSE, b"GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n" + CLOSE,
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1/x\r\n" + CLOSE, b"GET / HTTP/1.1\r\nHost:\r\n" + CLOSE, b"GET / HTTP/1.1\r\nHost: [::1\r\n" + CLOSE,
    b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 20_000 + b"\r\n" + CLOSE, b"GET / HTTP/1.1\r\n" + HOST + b"a b: c\r\n" + CLOSE,
    b"GET / HTTP/1.1\r\n" + HOST + b"X: a\x00b\r\n" + CLOSE, b"POST /api/v1/jobs HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n" + CLOSE,
    b"POST /api/v1/jobs HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n" + CLOSE + b"{}",
    b"POST /api/v1/jobs HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip\r\n" + CLOSE, b"* / HTTP/1.1\r\n" + HOST + CLOSE,
    b"POST /api/v1/jobs HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n", b"GET \xff HTTP/1.1\r\n" + HOST + CLOSE,
    b"OPTIONS * HTTP/1.1\r\n" + HOST + CLOSE, b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n" + CLOSE,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n" + HOST + CLOSE, b"A" * 20_000,
]  # fmt: skip
HEADERS = [
    b"Authorization: Basic dTpw", b"Authorization: Bearer", b"Authorization: Bearer  ", b"Authorization: bearer flt_x_y",
    b"Authorization: Bearer TOKENx", b"Authorization: Bearer \xff", b"Cookie: foliot_session=guess", b"Cookie: foliot_session=",
    b"Authorization: Bearer TOKEN\r\nAuthorization: Bearer TOKEN", b"Authorization: Token TOKEN", b"X-Api-Key: TOKEN",
    b"Authorization: Bearer " + b"a" * 9000, b"Authorization: Bearer flt_aaaaaaaaaa_" + b"a" * 43, b"X-Forwarded-For: 127.0.0.1",
]  # fmt: skip
CONDITIONS = [
    post(b"{}", b"If-Match: v1", path=b"/api/v1/jobs/api~2Fx", verb=b"PATCH"), post(GOOD, b"Idempotency-Key: a b"),
    post(GOOD, b"Idempotency-Key: "), post(GOOD, b"Idempotency-Key: " + b"k" * 201), post(GOOD, b"Idempotency-Key: a!b"),
    post(GOOD, b"Content-Type: text/plain"), post(GOOD, b"Content-Type: application/x-www-form-urlencoded"),
    post(GOOD, b"Content-Type: multipart/form-data; boundary=x"), post(GOOD, b"Content-Type: application/json; charset=utf-16"),
    post(GOOD, b"Content-Encoding: gzip"), post(GOOD, b"Content-Encoding: br"), post(GOOD, b"Content-Type: "),
    post(b" " * (1 << 20) + GOOD), post(b"{}", b"X-HTTP-Method-Override: DELETE", path=b"/api/v1/jobs/ops~2Fbackup"),
    post(b'{"token": 1}', path=b"/login"), post(b"token=x", b"Content-Type: application/x-www-form-urlencoded", path=b"/login"),
    post(b"{}", path=b"/logout"), post(b'{"action": "explode", "ids": ["a"]}', path=b"/api/v1/jobs/bulk"),
    post(b'{"action": "run", "ids": []}', path=b"/api/v1/jobs/bulk"), post(b'{"x": 1}', path=b"/api/v1/jobs/ops~2Fbackup/resume"),
    post(b'{"payload": []}', path=b"/api/v1/jobs/ops~2Fbackup/runs"), post(b'{"payload": {"a": 1}, "b": 2}', path=b"/api/v1/jobs/ops~2Fbackup/runs"),
    post(b'{"payload": {"a": "%s"}}' % (b"x" * 70_000), path=b"/api/v1/jobs/ops~2Fbackup/runs"),
    post(b'{"from": "2020-01-01T00:00:00Z"}', path=b"/api/v1/jobs/ops~2Fbackup/backfills"),
    post(b'{"reason": "%s"}' % (b"x" * 201), path=b"/api/v1/jobs/ops~2Fbackup/pause"),
]  # fmt: skip
REQUESTS = [
    *(post(body) for body in (*MALFORMED, *MISFITS)),
    *(get(path) for path in PATHS),
    *(get(b"/api/v1/jobs?" + query) for query in QUERIES),
    *(get(b"/api/v1/jobs/ops~2Fbackup/why?at=" + at) for at in TIMES),
    *(get(b"/api/v1/forecast?from=" + at) for at in TIMES),
    *(get(b"/api/v1/overview", verb=verb) for verb in VERBS),
    *PROTOCOL,
    *(b"GET /api/v1/jobs HTTP/1.1\r\n" + HOST + header + b"\r\n" + CLOSE for header in HEADERS),
    *CONDITIONS,
]


@pytest.mark.req("OWN-09")
def test_every_hostile_request_gets_a_problem_and_changes_nothing(stage: Stage) -> None:
    assert len(REQUESTS) >= 300
    before = stage.everything()
    wrong = []
    for request in REQUESTS:
        status, head, body = raw(stage, request)
        is_problem = b"content-type: application/problem+json" in head.lower()
        is_headed = b"x-content-type-options: nosniff" in head.lower() and b"request-id:" in head.lower()
        if not 400 <= status < 500 or not is_problem or not is_headed:
            wrong.append((status, request[:300], body[:300]))
            continue
        problem = json.loads(body)
        assert problem["status"] == status
        assert problem["code"].isupper()
        assert b"Traceback" not in body
        assert b"SELECT" not in body
    assert wrong == []
    assert stage.everything() == before


@pytest.mark.req("OWN-09")
def test_no_forged_cursor_gives_more_than_a_page_or_a_problem(stage: Stage) -> None:
    for cursor in CURSORS:
        status, _, body = raw(stage, get(b"/api/v1/" + cursor))
        assert status in (200, 400), (status, cursor, body)
