"""What a REPO means: a directory or file on this host or a URL, checked before any program sees it.

git understands more than we let through: `ext::` runs commands, a leading dash is an option, a host that
begins with a dash is an option of ssh. Only the schemes below, paths, and `user@host:path` are followed.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from foliot.errors import shorten
from foliot.sources.git.errors import InvalidRepositoryError

SCHEMES = ("https", "http", "ssh", "git", "file")
_CONFIG = "rollcron.yaml"
_LONGEST = 2000
_LONGEST_NAME = 30  # with the hash, an @ and the longest job id it is a file name
_HELPER = re.compile(r"[A-Za-z0-9+.-]*::")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SCP = re.compile(r"(?:(?P<user>[^@/:]+)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^@/:]+):(?P<path>.+)")
_PASSWORD = re.compile(r":[^/@]*@|:[^@]*@[^/@]*:")  # of what is no URL: `me:password@…`
_HINT = f"write a path, user@host:path, or a URL that begins with {', '.join(SCHEMES[:-1])} or file"


@dataclass(frozen=True, slots=True)
class Address:
    """A repository: its URL for git, its text for people, and the name of its directories.

    `authorization` is for the HTTP server; neither `url` nor `shown` contains a secret.
    """

    url: str = field(repr=False)  # options in it may be secrets
    shown: str
    slug: str
    is_local: bool = False
    is_plain: bool = False  # a directory or a file without git
    authorization: str | None = field(default=None, repr=False)


def parse_address(text: str, *, base: Path | None = None) -> Address:
    """Read a REPO as a person writes it; a relative path counts from `base`, or from where the process is.

    InvalidRepositoryError if it is nothing that we follow.
    """
    if not text or len(text) > _LONGEST or not text.isprintable():
        raise _refusal(text, f"must be a printable text of 1 to {_LONGEST} characters")
    if text.startswith("-"):
        raise _refusal(
            text, "begins with a dash, which programs take for an option", f"write ./{shown_of(text)}"
        )
    if _HELPER.match(text):
        raise _refusal(text, "names a transport helper, which could run any command")
    if found := _SCHEME.match(text):
        scheme = found[1].lower()
        if scheme not in SCHEMES:
            raise _refusal(text, f"has a scheme that is not followed: {shorten(scheme)}")
        return _KINDS.get(scheme, _by_url)(text)
    colon = text.find(":")
    if colon > 0 and "/" not in text[:colon]:  # as git tells them apart
        _check_password(text)
        return _by_ssh(text)
    return _by_path(text, base)


def _refusal(text: str, reason: str, hint: str | None = None) -> InvalidRepositoryError:
    return InvalidRepositoryError(shown_of(text), reason, hint=hint or _HINT)


def shown_of(text: str) -> str:
    """The text without what may be a secret: all before the last @ of a URL, and its options."""
    scheme, found, rest = text.partition("://")
    if not found:
        return f"…@{text.rpartition('@')[2]}" if _PASSWORD.search(text) else text
    plain = re.split(r"[?#]", rest, maxsplit=1)[0]
    if "@" in rest[len(plain) :]:  # of a password, or of a query: who knows
        return f"{scheme}://…"
    return f"{scheme}://{plain.rpartition('@')[2]}"


def _by_url(text: str) -> Address:
    parts = _split(text)
    host = (parts.hostname or "").lower()
    _check_host(text, host, unquote(parts.username or ""))
    port = f":{parts.port}" if parts.port else ""
    shown_host = f"[{host}]" if ":" in host else host
    shown = f"{parts.scheme}://{shown_host}{port}{parts.path}"
    user = f"{parts.username}@" if parts.username and parts.scheme == "ssh" else ""
    url = f"{parts.scheme}://{user}{shown_host}{port}{parts.path}"
    identity = f"{parts.scheme}://{user}{shown_host}{port}{_plain(parts.path)}"
    if parts.query:
        raise _refusal(text, "has a query, which git does not hand on", "write user:token@ before the host")
    is_http = parts.scheme in ("http", "https")
    known = is_http and (parts.username or parts.password)
    return Address(url, shown, _slug(parts.path, identity), authorization=_basic(parts) if known else None)


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        bad = not parts.hostname or (parts.port is None and _looks_cut(parts))
    except ValueError:
        bad, parts = True, urlsplit("")
    if bad:
        raise _refusal(text, "has no host that can be read", "percent-encode a password: / is %2F, @ is %40")
    return parts


def _looks_cut(parts: SplitResult) -> bool:
    """Whether a password with a slash in it was taken for a host and a path."""
    return "@" in parts.path and "@" not in parts.netloc and ":" in parts.netloc


def _basic(parts: SplitResult) -> str:
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return f"Basic {b64encode(pair.encode()).decode()}"


def _by_ssh(text: str) -> Address:
    found = _SCP.fullmatch(text)
    if not found:
        raise _refusal(text, "is neither a path, nor user@host:path, nor a URL")
    _check_host(text, found["host"], found["user"] or "")
    if found["path"].startswith("-"):
        raise _refusal(text, "has a path that begins with a dash")
    identity = text.removesuffix(found["path"]) + _plain(found["path"])
    return Address(text, text, _slug(found["path"], identity))


def _check_host(text: str, host: str, user: str) -> None:
    if host.startswith("-") or user.startswith("-"):
        raise _refusal(text, "has a host or a user that begins with a dash, an option for ssh")


def _check_password(text: str) -> None:
    if _PASSWORD.search(text):
        raise _refusal(
            text, "seems to hold a password, but is no URL", "write https://user:password@host/path"
        )


def _by_file_url(text: str) -> Address:
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/") or "\0" in unquote(parts.path):
        raise _refusal(text, "must have an absolute path after file://")
    return _by_path(unquote(parts.path), None)


def _by_path(text: str, base: Path | None) -> Address:
    try:
        path = ((base or Path.cwd()) / Path(text).expanduser()).resolve()
    except (OSError, RuntimeError) as error:
        raise _refusal(text, f"is a path that cannot be followed ({error.__class__.__name__})") from error
    if not path.exists():
        _check_password(text)
    top, is_git = _top(path)
    is_plain = not is_git and (path.is_file() or (path / _CONFIG).is_file())
    return Address(str(top), str(top), _slug(str(top), str(top)), is_local=True, is_plain=is_plain)


def _top(path: Path) -> tuple[Path, bool]:
    """The work tree that a directory lies in, or the bare repository; itself, and False, if it is neither."""
    for place in (path, *path.parents):
        if place.name == ".git" and _is_bare(place):
            return place.parent, True
        if (place / ".git").exists() or _is_bare(place):
            return place, True
    return path, False


def _is_bare(place: Path) -> bool:
    return (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir()


def _plain(path: str) -> str:
    return path.rstrip("/").removesuffix(".git").rstrip("/")


def _slug(path: str, identity: str) -> str:
    """`<repo>-<hash>`: the same for the same address, with or without slash, `.git` and password."""
    last = _plain(path).replace(":", "/").rpartition("/")[2]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip(".-")[:_LONGEST_NAME].rstrip(".-")
    return f"{name or 'repo'}-{sha256(os.fsencode(identity)).hexdigest()[:12]}"


_KINDS: dict[str, Callable[[str], Address]] = {"file": _by_file_url}
