"""The git program: called by ourselves, with everything off that asks, runs something else, or has no bound.

Only the commands that talk to a remote read the user's own git configuration (credential helpers, proxies,
an ssh command); all others read that of the clone alone, so that no filter or hook of the host takes part.
"""

from __future__ import annotations

import os
import re
import subprocess
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import IO

from foliot.errors import shorten
from foliot.sources.git.address import SCHEMES, Address
from foliot.sources.git.errors import GitError, GitMissingError

_KEPT = 20_000
_MOST = 1 << 20
_TELLING = re.compile(r"(?:fatal|error|ERROR|ssh): ")
_SSH_FAILED = "Could not read from remote repository."
_LET_IN = "put a user and a token before the host, or set up a git credential helper for the daemon's user"
_BOTH_WAYS = (
    "give the path or the URL of a git repository, or a directory that has a rollcron.yaml: `foliot init` "
    "writes one"
)
_HINTS = {
    "terminal prompts disabled": _LET_IN,
    "Authentication failed": _LET_IN,
    "Permission denied (": "give the server the ssh key of the daemon's user; no password is ever typed",
    "Host key verification failed": "add the server to the known_hosts of the daemon's user",
    "does not appear to be a git repository": _BOTH_WAYS,
    "requested URL returned error: 30": "write the address that the server redirects to",
    "dubious ownership": "another user owns it: foliot serve --trust-path PATH says that this is meant",
}
_SSH = (
    "ssh -oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=15 -oServerAliveCountMax=3"
    " -oControlMaster=no -oControlPath=none"
)
_TOKEN = 16
_GUESSED = 3  # characters: what is as short is no secret, but stands in many a word
_LAST_WORDS = 1.0  # seconds: what git has started may hold its standard error for ever
_OUT_OF_MEMORY = re.compile(r"out of memory|cannot allocate memory", re.IGNORECASE)
_MAY_PASS = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH")
# Mistakes of old tools in real histories, in texts without effect: no reason to refuse them.
_HARMLESS = (
    "badDate",
    "badEmail",
    "badName",
    "badTimezone",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "multipleAuthors",
    "zeroPaddedDate",
    "zeroPaddedFilemode",
)
_OPTIONS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "core.bigFileThreshold=32m",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "gc.autoDetach=false",
    "maintenance.auto=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=30",
    "pack.threads=2",
    *(f"gpg.{form}program=/bin/false" for form in ("", "openpgp.", "x509.", "ssh.")),
    *(f"fetch.fsck.{fault}=ignore" for fault in _HARMLESS),
)


class CommandFailedError(Exception):
    """A git command ended with an error; `said` is what it wrote about it, within a bound."""

    def __init__(self, command: str, code: int, said: str) -> None:
        super().__init__(f"git {command} ended with {code}: {said}")
        self.code = code
        self.said = said

    @property
    def reason(self) -> str:
        """The most useful line of the error."""
        lines = [line.strip() for line in self.said.splitlines() if line.strip()]
        telling = [line for line in lines if _TELLING.match(line)] or lines[-1:]
        if lines and telling[0].endswith(_SSH_FAILED):  # the line before is ssh's own
            telling = lines[:1]
        return shorten(_TELLING.sub("", telling[0], count=1) if telling else f"git ended with {self.code}")

    @property
    def hint(self) -> str | None:
        """What a person can do about it, if that is known."""
        return next((hint for words, hint in _HINTS.items() if words in self.said), None)


class GitProgram:
    """Runs git for one repository. All calls block: this is for the git process."""

    def __init__(
        self, address: Address, home: Path, inherited: Mapping[str, str], trusted: Sequence[str] = ()
    ) -> None:
        """`trusted`: repositories of this host that git is to read, although another user owns them."""
        self._address = address
        self._home = home
        self._offline = _environment(inherited, home) | {"GIT_CONFIG_GLOBAL": "/dev/null"}
        self._online = _environment(inherited, home) | _credentials(address)
        self._trust = _trust_settings(trusted, inherited)
        if "GIT_SSH" not in inherited and "GIT_SSH_COMMAND" not in inherited and not self._has_ssh_command():
            self._online["GIT_SSH_COMMAND"] = _SSH

    def run(
        self, *arguments: str, repository: Path | None = None, online: bool = False, most: int = _MOST
    ) -> bytes:
        """What a command writes. CommandFailedError if it fails; GitError if it writes more than so much."""
        with self._started(arguments, repository, online=online) as process:
            written = _pipe(process.stdout).read(most + 1)
            if len(written) > most:
                process.kill()
                raise GitError(self._address.shown, f"git {arguments[0]} wrote more than {most} bytes")
        return written

    @contextmanager
    def stream(self, *arguments: str, repository: Path) -> Iterator[IO[bytes]]:
        """A command's output while it is written; when it was not read to its end, the command is killed."""
        with self._started(arguments, repository, online=False) as process:
            pipe = _pipe(process.stdout)
            try:
                yield pipe
            except BaseException:
                process.kill()
                raise

    @contextmanager
    def _started(
        self, arguments: tuple[str, ...], repository: Path | None, *, online: bool
    ) -> Iterator[subprocess.Popen[bytes]]:
        where = [f"--git-dir={repository}"] if repository else []
        options = [word for option in _OPTIONS for word in ("-c", option)]
        ears = _Ears()
        environment = self._offline
        if online:
            environment = self._online | self._trusting()
        try:
            process = subprocess.Popen(  # noqa: S603 - an address was checked; no shell is asked
                ["git", *where, *options, *arguments],  # noqa: S607 - the git that is on the PATH
                cwd=self._home,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=ears.mouth,
            )
        except OSError as error:
            hint = "install git and see that it is on the PATH"
            raise GitMissingError(
                self._address.shown, f"the git program does not start ({error.strerror})", hint=hint
            ) from error
        finally:
            os.close(ears.mouth)
        with process:
            yield process
            process.wait()
            ears.join(_LAST_WORDS)
        if process.returncode:
            said = self._without_secrets(ears.heard())
            if _OUT_OF_MEMORY.search(said):
                raise GitError(self._address.shown, f"git {arguments[0]} would need too much memory for it")
            raise CommandFailedError(arguments[0], process.returncode, said)

    def _trusting(self) -> dict[str, str]:
        """By a file: options and variables do not reach git's other end of a local path."""
        if not self._trust:
            return {}
        file = self._home / "trusted.gitconfig"
        file.write_text(self._trust)
        return {"GIT_CONFIG_GLOBAL": str(file)}

    def _without_secrets(self, said: str) -> str:
        """Mask secrets: a server may repeat them in its message."""
        for secret in _secrets(self._address):
            said = said.replace(secret, "…")
        return said.replace(self._address.url, self._address.shown)

    def _has_ssh_command(self) -> bool:
        if self._address.is_local or self._address.url.startswith(("http", "git://")):
            return True  # none is needed
        try:
            return bool(self.run("config", "--get", "core.sshCommand", online=True).strip())
        except CommandFailedError:
            return False


class _Ears(Thread):
    """Listens to all that a program complains, and remembers the beginning and the end of it.

    The program speaks into `mouth`. A pipe of its own, not `Popen`'s: that one would be closed while we read.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._pipe, self.mouth = os.pipe()
        self._head = self._tail = b""
        self.start()

    def run(self) -> None:
        while piece := os.read(self._pipe, 4096):
            room = _KEPT - len(self._head)
            self._head += piece[:room]
            self._tail = (self._tail + piece[room:])[-_KEPT:] if len(piece) > room else self._tail
        os.close(self._pipe)

    def heard(self) -> str:
        """What was said, within a bound."""
        return (self._head + self._tail).decode(errors="replace")


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:  # pragma: no cover - it is always asked for
        raise RuntimeError
    return pipe


def _environment(inherited: Mapping[str, str], home: Path) -> dict[str, str]:
    """The host's, without what a git that has called us says about its own repository."""
    kept = {k: v for k, v in inherited.items() if not k.startswith("GIT_") or k in _MAY_PASS}
    return kept | {
        "LC_ALL": "C",
        "LANGUAGE": "",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": ":".join(SCHEMES),
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_CEILING_DIRECTORIES": os.fspath(home.parent),
    }


def _credentials(address: Address) -> dict[str, str]:
    """By the environment: what stands among a program's arguments, every user of the host can read."""
    if address.authorization is None:
        return {}
    scheme, _, rest = address.url.partition("://")
    server = f"http.{scheme}://{rest.partition('/')[0]}/"
    return {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": f"{server}.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: {address.authorization}",
        "GIT_CONFIG_KEY_1": f"{server}.followRedirects",  # git would take the header along, to any host
        "GIT_CONFIG_VALUE_1": "false",
    }


def _trust_settings(trusted: Sequence[str], inherited: Mapping[str, str]) -> str:
    """Settings of git that trust these repositories, beside those of the daemon's user."""
    if not trusted:
        return ""
    user = Path(inherited.get("HOME", "/nonexistent"))
    settings = Path(inherited.get("XDG_CONFIG_HOME") or user / ".config")
    lines = [
        f"[include]\n\tpath = {_quoted(path)}" for path in (settings / "git/config", user / ".gitconfig")
    ]
    lines += [f"[safe]\n\tdirectory = {_quoted(path)}" for path in _with_git_folders(trusted)]
    return "\n".join(lines) + "\n"


def _with_git_folders(trusted: Sequence[str]) -> list[str]:
    """Git compares the folder of the repository itself, which is `.git` where there are files beside it."""
    paths = [os.path.realpath(path) for path in trusted]
    return [name for path in paths for name in (path, f"{path}/.git")]


def _quoted(path: object) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def _secrets(address: Address) -> list[str]:
    """What must not be repeated, longest first."""
    if address.authorization is None:
        return []
    code = address.authorization.rpartition(" ")[2]
    user, _, password = b64decode(code).decode().partition(":")
    told = {code, password}
    if not password or len(user) >= _TOKEN:  # some servers take a token as the user
        told.add(user)
    return sorted((text for text in told if len(text) > _GUESSED), key=len, reverse=True)
