"""Which actions of the kind `http` are refused, and how the others are read."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.errors import InvalidJobError
from foliot.executors.http_action import check_action, read_call
from foliot.model.job import Action
from foliot.wiring import check_action as check_any

URL = "https://example.org/hook"


def test_all_fields() -> None:
    call = read_call(
        "http",
        {
            "url": "http://example.org:8080/a?b=c",
            "method": "patch",
            "headers": {"X-A": "b"},
            "body": "text",
            "secret": "env:KEY",
            "expect": [204, "3xx"],
            "timeout": "1m30s",
            "follow": True,
            "max_output": "2k",
        },
    )

    assert call.url == ("http", "example.org", 8080, "/a?b=c")
    assert (call.method, call.headers, call.body) == ("PATCH", {"X-A": "b"}, b"text")
    assert call.secret is not None
    assert call.secret.reference == "env:KEY"
    assert [status for status in range(100, 600) if call.expects(status)] == [204, *range(300, 400)]
    assert (call.timeout, call.follow, call.max_output) == (timedelta(seconds=90), True, 2048)


def test_what_holds_where_nothing_is_said() -> None:
    call = read_call("http", {"url": URL, "method": None, "body": None})

    assert (call.method, dict(call.headers), call.body, call.secret) == (None, {}, None, None)
    assert [status for status in range(100, 600) if call.expects(status)] == list(range(200, 300))
    assert (call.timeout, call.follow, call.max_output) == (timedelta(seconds=30), False, 65536)


@pytest.mark.parametrize(
    ("data", "field", "reason"),
    [
        ({}, "url", "is missing"),
        ({"url": 7}, "url", "must be a text"),
        ({"url": "example.org"}, "url", "no address of the web"),
        ({"url": "https://user:c4nary@example.org/"}, "url", "credentials"),
        ({"url": "https://example.org/c4nary\r\nX: y"}, "url", "characters"),
        ({"url": "https://example.org:99999/c4nary"}, "url", "port"),
        ({"url": URL, "tls": False}, "tls", "is not known"),
        ({"url": URL, "method": "CONNECT"}, "method", "is not known"),
        ({"url": URL, "method": "GET / HTTP/1.1\r\nX:"}, "method", "is not known"),
        ({"url": URL, "headers": ["a"]}, "headers", "at most 50 texts"),
        ({"url": URL, "headers": {f"X-{n}": "" for n in range(51)}}, "headers", "at most 50 texts"),
        ({"url": URL, "headers": {"a b": "c"}}, "headers", "no name of a header"),
        ({"url": URL, "headers": {"": "c"}}, "headers", "no name of a header"),
        ({"url": URL, "headers": {"A:": "c"}}, "headers", "no name of a header"),
        ({"url": URL, "headers": {"A": "c4nary\r\nB: d"}}, "headers.A", "printable ASCII"),
        ({"url": URL, "headers": {"A": "c4nary\n"}}, "headers.A", "printable ASCII"),
        ({"url": URL, "headers": {"A": "c4näry"}}, "headers.A", "printable ASCII"),
        ({"url": URL, "headers": {"A": 7}}, "headers.A", "printable ASCII"),
        ({"url": URL, "headers": {"A": "c4nary" * 1000}}, "headers.A", "printable ASCII"),
        ({"url": URL, "headers": {"host": "c4nary"}}, "headers.host", "set by Foliot"),
        ({"url": URL, "headers": {"Content-Length": "1"}}, "headers.Content-Length", "set by Foliot"),
        ({"url": URL, "headers": {"TRANSFER-ENCODING": "x"}}, "headers.TRANSFER-ENCODING", "set by Foliot"),
        ({"url": URL, "headers": {"Idempotency-Key": "1"}}, "headers.Idempotency-Key", "set by Foliot"),
        ({"url": URL, "headers": {"foliot-run": "1"}}, "headers.foliot-run", "set by Foliot"),
        ({"url": URL, "headers": {"Webhook-Id": "1"}}, "headers.Webhook-Id", "set by Foliot"),
        ({"url": URL, "body": "x" * 262_145}, "body", "longer than 262,144 bytes"),
        ({"url": URL, "body": {"a": "ü" * 131_072}}, "body", "longer than 262,144 bytes"),
        ({"url": URL, "secret": "whsec_c4nary"}, "secret", "is the secret itself"),
        ({"url": URL, "secret": "file:relative"}, "secret", "no absolute path"),
        ({"url": URL, "secret": 7}, "secret", "must be a text"),
        ({"url": URL, "expect": []}, "expect", "names no status"),
        ({"url": URL, "expect": 99}, "expect", "is no status"),
        ({"url": URL, "expect": True}, "expect", "is no status"),
        ({"url": URL, "expect": "6xx"}, "expect", "is no status"),
        ({"url": URL, "expect": [200, "ok"]}, "expect", "is no status"),
        ({"url": URL, "timeout": 30}, "timeout", "must be a text"),
        ({"url": URL, "timeout": "soon"}, "timeout", "cannot be read"),
        ({"url": URL, "timeout": "0s"}, "timeout", "between nothing and a day"),
        ({"url": URL, "timeout": "25h"}, "timeout", "between nothing and a day"),
        ({"url": URL, "follow": "yes"}, "follow", "true or false"),
        ({"url": URL, "max_output": "1M"}, "max_output", "at most 65536"),
        ({"url": URL, "max_output": 65_537}, "max_output", "at most 65536"),
        ({"url": URL, "max_output": -1}, "max_output", "at most 65536"),
        ({"url": URL, "max_output": True}, "max_output", "at most 65536"),
    ],
)
def test_what_is_refused(data: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(InvalidJobError, match=reason) as refused:
        check_action(Action(kind="http", data=data), None)

    assert refused.value.details["field"] == f"action.data.{field}"
    assert "c4n" not in f"{refused.value}{refused.value.details}"


def test_the_kind_has_no_parts() -> None:
    with pytest.raises(InvalidJobError, match="http:get: is no kind"):
        check_any(Action(kind="http:get", data={"url": URL}))
    check_any(Action(kind="https", data={}))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = st.sampled_from(
    ["url", "method", "headers", "body", "secret", "expect", "timeout", "follow", "max_output", "x"]
)


@given(st.dictionaries(_FIELDS, _JSON | st.just(URL), max_size=5))
def test_whatever_is_given_is_read_or_refused(data: dict[str, Any]) -> None:
    try:
        check_action(Action(kind="http", data=data), None)
    except InvalidJobError as error:
        assert error.details["field"].startswith("action.data.")  # noqa: PT017 - either is right


@pytest.mark.parametrize(
    "reference",
    [
        "env:SHOP",
        "env:FOLIOT_API_TOKEN",
        "env:FOLIOT_SECRET_",
        "env:foliot_secret_shop",
        "credential:database",
        "file:/etc/foliot/FOLIOT_SECRET_SHOP",
        "file:/FOLIOT_SECRET_/../etc/shadow",
    ],
)
def test_a_job_of_the_api_may_not_use_a_secret_that_has_another_name(reference: str) -> None:
    action = Action(kind="http", data={"url": URL, "secret": reference})
    with pytest.raises(InvalidJobError, match="is not for jobs of the API") as refusal:
        check_any(action, "api")

    assert refusal.value.details["field"] == "action.data.secret"
    assert "env:FOLIOT_SECRET_SHOP" in str(refusal.value.hint)
    check_any(action)  # the author of a program may name any


@pytest.mark.parametrize("reference", ["env:FOLIOT_SECRET_SHOP", "credential:FOLIOT_SECRET_SHOP"])
def test_a_job_of_the_api_may_use_a_secret_that_the_operator_named_for_it(reference: str) -> None:
    check_any(Action(kind="http", data={"url": URL, "secret": reference}), "api")
