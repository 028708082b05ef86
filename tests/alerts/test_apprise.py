"""The library itself need not be here: a stand-in of its two names is put where the child looks."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from alerts.sample import FAILURE, HOSTILE, RECOVERY, many
from foliot.alerts import apprise
from foliot.alerts.apprise import Apprise
from foliot.alerts.channel import SENT, Fate, Sent
from foliot.alerts.message import Alert
from foliot.errors import InvalidChannelError

STAND_IN = """
import json, sys, time
class NotifyFormat:
    TEXT = "text"
class Apprise:
    def __init__(self):
        self.urls = []
    def add(self, url):
        self.urls.append(url)
        return "://" in url
    def notify(self, **asked):
        if "slow" in self.urls[0]:
            time.sleep(600)
        print("posting to", *self.urls)
        open(FILE, "w").write(json.dumps({"urls": self.urls, **asked}))
        return "down" not in self.urls[0]
"""

Install = Callable[[], Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    def put() -> Path:
        (tmp_path / "apprise.py").write_text(STAND_IN.replace("FILE", repr(str(tmp_path / "asked"))))
        program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{apprise._PROGRAM}"
        monkeypatch.setattr(apprise, "_PROGRAM", program)
        return tmp_path / "asked"

    return put


def send(url: str, *alerts: Alert, monkeypatch: pytest.MonkeyPatch, seconds: float = 60) -> Sent:
    monkeypatch.setenv("OPS", url)
    channel = Apprise("env:OPS", deadline=timedelta(seconds=seconds))
    said = asyncio.run(channel.send(alerts or [FAILURE]))
    assert "c4nary" not in f"{said}{channel!r}{channel.describe()}"
    return said


def test_a_child_sends(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    file = install()

    assert send("tgram://c4nary/1 mailto://c4nary", monkeypatch=monkeypatch) == SENT

    asked = json.loads(file.read_text())
    assert asked["urls"] == ["tgram://c4nary/1", "mailto://c4nary"]
    assert asked["title"] == "Backup failed (2 in a row)"
    assert "all 3 attempts failed" in asked["body"]
    assert (asked["notify_type"], asked["body_format"]) == ("failure", "text")
    assert "apprise" not in sys.modules


@pytest.mark.parametrize(
    ("alerts", "kind"), [([RECOVERY], "success"), (many(7), "warning"), ([HOSTILE], "failure")]
)
def test_what_is_sent(
    alerts: list[Alert], kind: str, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = install()

    assert send("tgram://x", *alerts, monkeypatch=monkeypatch) == SENT
    assert json.loads(file.read_text())["notify_type"] == kind


def test_what_goes_wrong(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install()

    assert send("nonsense-c4nary", monkeypatch=monkeypatch).fate is Fate.REFUSED
    said = send("down://c4nary/token", monkeypatch=monkeypatch)
    assert said == Sent.again("apprise could not send (posting to ***)")
    said = send("slow://c4nary", monkeypatch=monkeypatch, seconds=1)
    assert said == Sent.again("apprise did not end within 1 s")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apprise, "_PROGRAM", "import sys; sys.exit(3)")

    assert "pip install foliot[apprise]" in send("tgram://c4nary", monkeypatch=monkeypatch).reason


def test_urls_are_references_only() -> None:
    with pytest.raises(InvalidChannelError) as caught:
        Apprise("tgram://c4nary/1")

    assert "c4nary" not in f"{caught.value}{caught.value.details}"
