"""The few pages that there are: log in, a page that says what is here, and the documentation of the API.

Every text is escaped. Nothing is inline, so the policy of the browser allows our own files only.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from starlette.responses import HTMLResponse, Response

from foliot.access import Identity

CSP = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_STATIC = Path(__file__).parent / "static"
_TYPES = {"login.js": "text/javascript", "style.css": "text/css"}


def static_file(name: str) -> Response | None:
    """One of our own files."""
    if name not in _TYPES:
        return None
    return Response((_STATIC / name).read_bytes(), media_type=_TYPES[name])


def page(root: str, title: str, body: str, *, script: str = "", status: int = 200) -> HTMLResponse:
    """A page; `body` is HTML whose texts are escaped."""
    base = escape(root, quote=True)
    scripts = f'<script src="{base}/static/{script}" defer></script>' if script else ""
    html = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="stylesheet" href="{base}/static/style.css">{scripts}</head>'
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>"
    )
    return HTMLResponse(html, status, {"Content-Security-Policy": CSP})


def login_page(root: str, *, is_refused: bool = False) -> Response:
    """Asks for a token; a code behind the `#` of the address is sent by itself."""
    told = '<p role="alert">That is no valid token, and no code that was not used.</p>' if is_refused else ""
    action = escape(root, quote=True)
    form = (
        f'{told}<form method="post" action="{action}/login"><label>Token or code '
        '<input type="password" name="token" autocomplete="off" required></label> '
        "<button>Log in</button></form><p>The server prints a link with a code when it starts. "
        "<code>foliot token create</code> makes a token.</p>"
    )
    return page(root, "Log in to Foliot", form, script="login.js", status=401 if is_refused else 200)


def home_page(root: str, identity: Identity) -> Response:
    """What is here, and for who."""
    base, who = escape(root, quote=True), f"{escape(identity.name)}, scope {escape(identity.scope)}"
    body = (
        f'<p>You are logged in as {who}.</p><ul><li><a href="{base}/docs">The API</a></li>'
        f'<li><a href="{base}/openapi.json">Its OpenAPI document</a></li></ul>'
        f'<form method="post" action="{base}/logout"><button>Log out</button></form>'
    )
    return page(root, "Foliot", body)


def docs_page(root: str, document: dict[str, Any]) -> Response:
    """All paths with their parameters, from the OpenAPI document."""
    parts = [f"<p>{escape(document['info']['description'])}</p>"]
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            parts.append(_operation(path, verb, operation))
    return page(root, "The API of Foliot", "".join(parts))


def _operation(path: str, verb: str, operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(one['name'])}</code></td><td>{escape(one['in'])}</td>"
        f"<td>{escape(_kind(one['schema']))}</td><td>{escape(one.get('description', ''))}</td></tr>"
        for one in operation["parameters"]
    )
    table = f"<table><tr><th>name</th><th>in</th><th>type</th><th></th></tr>{rows}</table>" if rows else ""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    takes = f"<p>Body: <code>{escape(_kind(body))}</code></p>" if body else ""
    scope = escape(operation["x-foliot-scope"])
    return (
        f'<section id="{escape(operation["operationId"], quote=True)}">'
        f"<h2><code>{verb.upper()} {escape(path)}</code></h2><p>{escape(operation['description'])}</p>"
        f"<p>Scope: {scope}</p>{takes}{table}</section>"
    )


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    options = [_kind(one) for one in schema.get("anyOf", ())]
    return " or ".join(options) or str(schema.get("format") or schema.get("type", "anything"))
