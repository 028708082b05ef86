"""Where the store comes from, and under which name the jobs are kept."""

from __future__ import annotations

from typing import Any

import pytest
from celery import Celery

from doors.celery_beat.beat_stage import make_app
from foliot.doors.celery_beat.errors import BeatSettingError
from foliot.doors.celery_beat.setting import read_settings
from foliot.errors import InvalidStoreError

ENVIRONMENT = {"FOLIOT_STORE": "sqlite:///of-the-environment.db"}


class DjangoSettings:
    CELERY_FOLIOT_STORE = "sqlite:///of-django.db"
    CELERY_FOLIOT_NAMESPACE = "site"
    CELERY_BROKER_URL = "memory://"


def test_the_configuration_names_the_store() -> None:
    app = make_app(foliot_store="sqlite:///of-celery.db")

    assert read_settings(app, environment=ENVIRONMENT).store == "sqlite:///of-celery.db"
    assert (
        read_settings(app, store="sqlite:///given.db", environment=ENVIRONMENT).store == "sqlite:///given.db"
    )


def test_a_namespace_of_django_is_heeded() -> None:
    app = Celery("proj", set_as_current=False)
    app.config_from_object(DjangoSettings, namespace="CELERY")

    settings = read_settings(app, environment={})

    assert (settings.store, settings.namespace) == ("sqlite:///of-django.db", "site")


def test_the_environment_names_the_store_where_the_configuration_does_not() -> None:
    assert read_settings(make_app(), environment=ENVIRONMENT).store == "sqlite:///of-the-environment.db"


def test_without_a_store_it_is_refused_and_the_broker_is_not_taken() -> None:
    app = Celery("proj", broker="redis://:secret@localhost/0", set_as_current=False)

    with pytest.raises(BeatSettingError, match="foliot_store is not set") as caught:
        read_settings(app, environment={})

    assert "The broker is not taken for it" in (caught.value.hint or "")
    assert "secret" not in f"{caught.value}{caught.value.hint}"


def test_a_store_that_is_none_is_refused_without_its_password() -> None:
    with pytest.raises(InvalidStoreError) as caught:
        read_settings(make_app(foliot_store="mysql://me:secret@host/db"), environment={})

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("main", "expected"), [("proj", "proj"), ("__main__", "celery"), (None, "celery")])
def test_the_application_names_the_source(main: str | None, expected: str) -> None:
    app = Celery(main, broker="memory://", set_as_current=False)

    assert read_settings(app, store="memory://").namespace == expected


@pytest.mark.parametrize("given", ["a/b", "", "x\n", 5])
def test_a_namespace_that_is_no_name_is_refused(given: Any) -> None:
    with pytest.raises(BeatSettingError, match="foliot_namespace is"):
        read_settings(make_app(foliot_namespace=given), store="memory://")


def test_refused_entries_are_skipped_only_if_somebody_says_so() -> None:
    assert not read_settings(make_app(), store="memory://").skips_refused
    assert read_settings(make_app(), store="memory://", skips_refused=True).skips_refused
    assert read_settings(make_app(foliot_skip_refused=True), store="memory://").skips_refused
    with pytest.raises(BeatSettingError, match="foliot_skip_refused is yes"):
        read_settings(make_app(foliot_skip_refused="yes"), store="memory://")
