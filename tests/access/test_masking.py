"""Secrets are masked wherever a name or a form gives them away, and other texts stay as they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.access import MASK, make_token, mask_text, mask_value
from foliot.access.masking import is_secret_name
from foliot.model.access import Scope
from foliot.testing.clock import ManualClock

SECRET = "hunter2hunter2"  # noqa: S105 - of no one


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "PASSWORD",
        "db_password",
        "dbPassword",
        "PGPASSWORD",
        "MYSQL_PWD",
        "passwd",
        "pass",
        "SMTP_PASS",
        "secret",
        "client-secret",
        "clientSecret",
        "token",
        "access_token",
        "accessToken",
        "GITHUB_TOKEN",
        "api_key",
        "apiKey",
        "APIKEY",
        "x-api-key",
        "private_key",
        "AWS_SECRET_ACCESS_KEY",
        "auth",
        "Authorization",
        "credentials",
        "cookie",
        "webhook_url",
        "dsn",
        "SENTRY_DSN",
        "passphrase",
        "signature",
    ],
)
def test_these_names_are_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "key",
        "name",
        "author",
        "compass",
        "passenger",
        "bypass_cache",
        "monkey",
        "keyboard",
        "path",
        "url",
        "user",
        "authored_by",
        "design",
        "assigned",
        "run",
        "env",
        "timeout",
        "PATH",
        "HOME",
        "cookiecutter",
    ],
)
def test_these_names_are_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "text",
    [
        f"mysql --password={SECRET} db",
        f"mysql --password {SECRET} db",
        f"mysql --db-password '{SECRET} x' db",
        f"PGPASSWORD={SECRET} pg_dump",
        f"export API_TOKEN={SECRET}; run",
        f"TOKEN='{SECRET}' run",
        f"curl https://example.org/?token={SECRET}&a=b",
        f"curl -H 'Authorization: Bearer {SECRET}' x",
        f"curl -H 'X-Api-Key: {SECRET}' x",
        f"postgresql://ann:{SECRET}@host/db",
        f"https://{SECRET}@git.example/x",
        f'{{"password": "{SECRET}", "a": 1}}',
        f"password: {SECRET}",
        f"client_secret = {SECRET}",
        f"Basic {SECRET}",
        f"run --a --token {SECRET} --b",
    ],
)
def test_a_secret_in_a_text_is_masked(text: str) -> None:
    masked = mask_text(text)
    assert "hunter2" not in masked
    assert MASK in masked


@pytest.mark.parametrize(
    "text",
    [
        "pg_dump --host db --dbname shop",
        "echo done; exit 0",
        "https://example.org/a?b=c",
        "the author is Ann",
        "ops/backup@2026-11-15T07:00:00Z",
        "user@example.org",
        "a=b c=d",
        "--key value",
        "",
        "no token was given",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert mask_text(text) == text


def test_a_token_of_ours_is_masked_anywhere_and_told_by_its_id() -> None:
    made = make_token("ci", Scope.READ, ManualClock().now())
    assert mask_text(f"x{made.text}y") == f"xflt_{made.token.id}_{MASK}y"
    assert mask_value({"note": [made.text]}) == {"note": [f"flt_{made.token.id}_{MASK}"]}


def test_a_value_under_a_name_of_a_secret_is_masked_whole_at_any_depth() -> None:
    value: dict[str, Any] = {
        "run": "load",
        "env": {"DB_PASSWORD": SECRET, "LEVEL": "3"},
        "steps": [{"token": 1234}, {"secret": {"a": SECRET}}, ({"auth": [SECRET]},)],
        "password": None,
        "pwd": "",
    }
    assert mask_value(value) == {
        "run": "load",
        "env": {"DB_PASSWORD": MASK, "LEVEL": "3"},
        "steps": [{"token": MASK}, {"secret": MASK}, [{"auth": MASK}]],
        "password": None,
        "pwd": "",
    }


@given(st.text(max_size=200))
def test_any_text_can_be_masked_and_masking_again_changes_nothing(text: str) -> None:
    once = mask_text(text)
    assert mask_text(once) == once


def test_a_long_text_is_masked_in_one_pass() -> None:
    """No text makes the search go back and forth."""
    for part in ("a", "-", "password ", "password=", "a://", "Bearer ", '"', "token: '"):
        assert mask_text(part * 100_000) is not None
