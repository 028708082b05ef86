"""What people install, on a bare Debian: the Debian package under a real systemd, and the image."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from packaging_.bare_system import Machine, booted, make_archive, unpack, why_not

ROOT = Path(__file__).parents[2]
STORE = "sqlite:////var/lib/foliot/foliot.db"
ASK = f"FOLIOT_STORE={STORE} foliot"
JOBS = """
jobs:
  hello:
    schedule: "@every 4s"
    run: "echo hello from $(id -un); touch /etc/x /usr/x; (setsid sleep 301 &)"
    exit_codes: {ok: [0, 1]}
  slow:
    schedule: "@every 2s"
    timeout: 1s
    run: sleep 302 & sleep 302
  long:
    schedule: "0 0 1 1 *"
    timeout: none
    run: sleep 303
"""

pytestmark = [pytest.mark.prove, pytest.mark.req("OWN-20")]


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


def call(*command: str, cwd: Path = ROOT, **more: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own scripts
        command, cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **more}
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if reason := why_not():
        assert os.environ.get("CI") != "true" or "root" in reason, reason
        pytest.skip(reason)
    return make_archive(tmp_path_factory.mktemp("debian"))


@pytest.fixture(scope="module")
def deb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("deb")
    pip = f"{sys.executable} -m pip"
    said = call(str(ROOT / "packaging/deb/build.sh"), str(place), PIP=pip, PYTHON=sys.executable)
    return Path(said.strip().splitlines()[-1])


def commit_jobs(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "rollcron.yaml").write_text(JOBS)
    call("git", "init", "-q", ".", cwd=folder)
    call("git", "add", "-A", cwd=folder)
    call("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "jobs", cwd=folder)


def test_the_package_is_installed_runs_is_upgraded_and_leaves(
    archive: Path, deb: Path, tmp_path: Path
) -> None:
    root = unpack(archive, tmp_path / "machine")
    shutil.copy(deb, root / "srv/foliot.deb")
    commit_jobs(root / "srv/jobs")
    with booted(root) as machine:
        play(live(machine))


async def live(machine: Machine) -> None:
    """From the installation to the purge, as an administrator would."""
    await machine.until("systemctl is-system-running", "running")
    machine.run("dpkg -i /srv/foliot.deb")
    assert "inactive" in machine.run("systemctl is-active foliot", check=False), "it waits for its settings"
    machine.run("echo REPO=/srv/jobs >> /etc/foliot/foliot.env")
    machine.run("echo FOLIOT_TRUST_PATH=/srv/jobs >> /etc/foliot/foliot.env")
    machine.run("systemctl start foliot")  # it returns when the daemon says that it is ready
    await _runs_in_its_sandbox(machine)

    machine.run("dpkg -i /srv/foliot.deb")  # an upgrade keeps settings and history, and restarts the daemon
    assert "REPO=/srv/jobs" in machine.run("cat /etc/foliot/foliot.env")
    await machine.until(f"{ASK} health", "1 engine works here")
    assert "succeeded" in machine.run(f"{ASK} run list --limit 200")

    machine.run("systemctl stop foliot")
    assert "sleep30" not in _processes(machine).replace(" ", "")
    machine.run("dpkg --remove foliot")
    assert "foliot.db" in machine.run("ls /var/lib/foliot"), "a removal keeps what was stored"
    machine.run("dpkg --purge foliot")
    left = machine.run("find / -xdev -name '*foliot*' -not -path '/srv/*' -not -path '/proc/*'", check=False)
    assert {line for line in left.splitlines() if "journal" not in line} == set()
    assert "foliot" not in machine.run("cat /etc/passwd")


async def _runs_in_its_sandbox(machine: Machine) -> None:
    """The unit's limits hold for jobs, and Foliot's own promises hold under the limits."""
    await machine.until(f"{ASK} job list -o json", '"last_outcome": "succeeded"')
    await machine.until(f"{ASK} run list --outcome timed_out", "slow")
    said = await machine.until(f"{ASK} run logs hello", "hello from foliot")
    assert "cannot touch '/etc/x'" in said
    assert "cannot touch '/usr/x'" in said
    assert "1 engine works here" in machine.run(f"{ASK} health")
    assert "drwx------" in machine.run("ls -ld /var/lib/foliot")
    assert "-rw-------" in machine.run("ls -l /var/lib/foliot/foliot.db")
    machine.run(f"{ASK} job trigger long")
    await machine.until("cat /proc/[0-9]*/cmdline | tr '\\0' ' '", "sleep 303")
    machine.run(f"{ASK} run cancel long")
    await machine.until(f"{ASK} run list --outcome cancelled", "long")
    assert "sleep 303" not in _processes(machine)


def _processes(machine: Machine) -> str:
    return machine.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '", check=False)


def test_the_unit_and_its_drop_in_start_the_program_of_the_package(deb: Path, tmp_path: Path) -> None:
    call("dpkg-deb", "--extract", str(deb), str(tmp_path))
    for name in ("lib/systemd/system/foliot.service", "usr/share/doc/foliot/loose.conf"):
        programs = re.findall(r"^ExecStart=(\S+)", (tmp_path / name).read_text(), re.MULTILINE)
        assert programs == ["/usr/bin/foliot"], name
        assert (tmp_path / programs[0].lstrip("/")).is_symlink()


def test_lintian_finds_no_error_in_the_package(deb: Path) -> None:
    if shutil.which("lintian") is None:
        assert os.environ.get("CI") != "true", "there is no lintian"
        pytest.skip("there is no lintian here")
    call("lintian", "--fail-on", "error", str(deb))


class Image:
    """The image, made by buildah without a daemon, and its files."""

    def __init__(self, place: Path) -> None:
        self._words = ("buildah", "--root", str(place / "store"), "--runroot", str(place / "run"),
                       "--storage-driver", "vfs")  # fmt: skip

    def call(self, *words: str, cwd: Path = ROOT) -> str:
        return call(*self._words, *words, cwd=cwd).strip()

    def build(self, archive: Path, context: Path) -> Path:
        """Build on a bare Debian in the place of the usual base; where the files of the image are."""
        base = self.call("from", "scratch")
        self.call("add", "--quiet", base, str(archive), "/")
        self.call("commit", "--quiet", base, "bare")
        self.call(
            "bud", "--quiet", "--isolation", "chroot", "--network", "host", "--layers=false",
            "--build-arg", "BASE=localhost/bare",
            "--build-arg", "PIP_ARGS=--no-index --find-links=/src/wheels",
            "-f", "packaging/Containerfile", "-t", "foliot", ".", cwd=context,
        )  # fmt: skip
        made = self.call("from", "--pull-never", "localhost/foliot")
        return Path(self.call("mount", made))


def make_context(place: Path) -> Path:
    """The sources as they are committed or edited here, with wheels of all that they need."""
    place.mkdir()
    files = call("git", "ls-files", "-co", "--exclude-standard", "src", "packaging", "pyproject.toml",
                 "README.md", "LICENSE", ".containerignore").split()  # fmt: skip
    for name in files:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / name)
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(place / "wheels"))
    call(*pip, "hatchling", "editables", "async-timeout", f"{ROOT}[all]")  # the last: for Debian's Python
    for own in (place / "wheels").glob("foliot-*"):
        own.unlink()
    return place


def in_image(files: Path, repo: Path, state: Path, *words: str, seconds: int = 20) -> str:
    """Run the image's command as process 1: as an unknown user, without HOME, on a read-only root."""
    script = f"""
        mount --bind {files} {files} && mount --bind {state} {files}/var/lib/foliot
        mkdir -p {files}/repo && mount --bind {repo} {files}/repo && mount -t proc proc {files}/proc
        mount --rbind /dev {files}/dev && mount -o remount,bind,ro {files}
        exec timeout --foreground --preserve-status -s TERM {seconds} chroot --userspec=23456:23456 {files} \\
            env -i PATH=/usr/local/bin:/usr/bin:/bin FOLIOT_STORE={STORE} STATE_DIRECTORY=/var/lib/foliot \\
            CACHE_DIRECTORY=/var/lib/foliot/cache FOLIOT_TRUST_PATH=/repo PYTHONDONTWRITEBYTECODE=1 \\
            foliot {" ".join(words)} 2>&1
    """
    command = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603
    return done.stdout + done.stderr


def test_the_image_runs_as_any_user_without_a_home(archive: Path, tmp_path: Path) -> None:
    if shutil.which("buildah") is None:
        assert os.environ.get("CI") != "true", "there is no buildah"
        pytest.skip("there is no buildah here")
    image = Image(tmp_path)
    try:
        files = image.build(archive, make_context(tmp_path / "context"))
        repo, state = tmp_path / "repo", tmp_path / "state"
        commit_jobs(repo)  # of this user: another one than the one in the image
        state.mkdir()
        os.chown(state, 23456, 23456)
        said = in_image(files, repo, state, "serve", "/repo", "--log-format", "json", seconds=15)
        assert '"event": "run_succeeded"' in said, said
        assert "stop_asked" in said, "SIGTERM drains it"
        assert "hello from" in in_image(files, repo, state, "run", "logs", "hello")
        assert "no engine of the host" in in_image(files, repo, state, "health")
        assert "Foliot" in image.call("inspect", "--type", "image", "localhost/foliot")
        assert (files / "opt/foliot/packages.txt").read_text().count("==") > 10
    finally:
        image.call("rm", "--all")
        image.call("rmi", "--all", "--force")
