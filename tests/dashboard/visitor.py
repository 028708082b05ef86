"""A person without a script: logs in, follows links, sends forms as a browser would."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import httpx

from api.stage import Stage

SAME = {"Sec-Fetch-Site": "same-origin"}
HTML = {"Accept": "text/html,application/xhtml+xml"}
_ALONE = httpx.Limits(max_keepalive_connections=0)  # nothing is left open between requests


class Reader(HTMLParser):
    """What a page has: its tags with their attributes, its texts, its forms."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.forms: list[dict[str, Any]] = []
        self._button: list[str] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag == "form":
            self.forms.append(
                {"action": found.get("action"), "method": found.get("method"), "fields": [], "buttons": []}
            )
        elif tag in ("input", "textarea", "select") and self.forms and found.get("name"):
            is_off = found.get("type") in ("checkbox", "radio") and "checked" not in found
            if not is_off:
                self.forms[-1]["fields"].append((found["name"], found.get("value") or ""))
        elif tag == "button" and self.forms:
            self._button = []
            self.forms[-1]["buttons"].append((found, self._button))

    def handle_endtag(self, tag: str) -> None:
        if tag == "button":
            self._button = None

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._button is not None:
            self._button.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def links(self) -> list[str]:
        return [str(found["href"]) for tag, found in self.tags if tag == "a" and found.get("href")]

    def form(self, label: str) -> dict[str, Any]:
        """The form that has a button of that name."""
        for form in self.forms:
            if any("".join(text).strip() == label for _, text in form["buttons"]):
                return form
        raise AssertionError(f"no button {label!r} in {[b for f in self.forms for _, b in f['buttons']]}")


class Visitor:
    """A browser without JavaScript, as one identity."""

    def __init__(self, stage: Stage, who: str = "admin") -> None:
        self.client = httpx.Client(base_url=stage.base, timeout=60, headers=HTML, limits=_ALONE)
        answer = self.client.post("/login", data={"token": stage.tokens[who]}, headers=SAME)
        assert answer.status_code == 303, answer.text
        self.page = ""

    def get(self, path: str, code: int = 200) -> Reader:
        answer = self.client.get(path, follow_redirects=True)
        assert answer.status_code == code, (path, answer.status_code, answer.text[:2000])
        self.page = answer.text
        return Reader(answer.text)

    def press(self, page: Reader, label: str, code: int = 200, **typed: Any) -> Reader:
        """Fill in a form, and press one of its buttons; the page that follows."""
        form = page.form(label)
        button = next(found for found, text in form["buttons"] if "".join(text).strip() == label)
        fields = [(name, value) for name, value in form["fields"] if name not in typed]
        for name, value in typed.items():
            fields += [(name, one) for one in (value if isinstance(value, list) else [value])]
        if button.get("name"):
            fields.append((button["name"], button.get("value") or ""))
        if form["method"] == "get":
            answer = self.client.get(form["action"].partition("#")[0], params=fields, follow_redirects=True)
        else:
            headers = {**SAME, "Content-Type": "application/x-www-form-urlencoded"}
            answer = self.client.post(
                form["action"], content=urlencode(fields), headers=headers, follow_redirects=True
            )
        assert answer.status_code == code, (label, answer.status_code, Reader(answer.text).text)
        self.page = answer.text
        return Reader(answer.text)

    def walk(self, start: str = "/", most: int = 400) -> Iterator[tuple[str, httpx.Response]]:
        """Follow every link of our own, each once."""
        waiting, seen = [start], {start}
        while waiting and len(seen) < most + len(waiting):
            path = waiting.pop(0)
            answer = self.client.get(path, follow_redirects=True)
            yield path, answer
            if "text/html" not in answer.headers.get("content-type", ""):
                continue
            for link in Reader(answer.text).links:
                plain = link.partition("#")[0]
                if plain.startswith("/") and plain not in seen:
                    seen.add(plain)
                    waiting.append(plain)
