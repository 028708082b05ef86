"""Files that people copy: the unit, manifests, the compose file, man pages and completion."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
BIN = Path(sys.executable).parent
IN_CI = os.environ.get("CI") == "true"

pytestmark = pytest.mark.req("OWN-20")


def call(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - programs of our own environment
        command, capture_output=True, text=True, check=False, env={**os.environ, **more}
    )


def need(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        assert not IN_CI, f"there is no {program}"
        pytest.skip(f"there is no {program} here")
    return found


def test_the_unit_exposes_little() -> None:
    done = call(need("systemd-analyze"), "security", "--offline=true", str(PACKAGING / "foliot.service"))
    found = re.search(r"exposure level for foliot.service: ([0-9.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    assert float(found[1]) <= 2.5


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    unit = (PACKAGING / "foliot.service").read_text().replace("/opt/foliot/bin/foliot", "/bin/true")
    (tmp_path / "foliot.service").write_text(unit)
    done = call(need("systemd-analyze"), "verify", str(tmp_path / "foliot.service"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["postgres", "sqlite"])
def test_kubernetes_understands_the_manifests(name: str) -> None:
    done = call(str(BIN / "kubernetes-validate"), "--strict", str(PACKAGING / f"kubernetes/{name}.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_compose_understands_its_file() -> None:
    done = call(
        str(BIN / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec",
        str(PACKAGING / "compose.yaml"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_probe_and_argument_is_one_of_our_commands() -> None:
    """A manifest that names an option that is gone would fail when it is too late."""
    documents = [
        document
        for name in ("postgres", "sqlite")
        for document in yaml.safe_load_all((PACKAGING / f"kubernetes/{name}.yaml").read_text())
    ]
    words = [
        container["args"]
        for document in documents
        if "template" in document["spec"]
        for container in document["spec"]["template"]["spec"]["containers"]
    ]
    words += [one["command"] for one in _services().values() if "command" in one]
    assert len(words) >= 4
    for command, *arguments in words:
        text = call(str(BIN / "foliot"), command, "--help").stdout
        for option in (word for word in arguments if word.startswith("--")):
            assert option in text, f"foliot {command} has no {option}"


def _services() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = yaml.safe_load((PACKAGING / "compose.yaml").read_text())[
        "services"
    ]
    return found


@pytest.mark.prove
def test_man_reads_every_page_without_a_warning(tmp_path: Path) -> None:
    man = need("man")
    made = call(sys.executable, str(ROOT / "tools/man_pages.py"), str(tmp_path))
    assert made.returncode == 0, made.stderr
    pages = sorted(tmp_path.glob("*.1"))
    assert {"foliot.1", "foliot-serve.1", "foliot-job-why.1", "rollcron.1"} <= {page.name for page in pages}
    for page in pages:
        done = call(man, "--warnings", "-l", str(page), MANWIDTH="80", LC_ALL="C.UTF-8", MANPAGER="cat")
        assert (done.returncode, done.stderr) == (0, ""), page.name


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("foliot jo", "job"), ("foliot job wh", "why"), ("foliot serve --fol", "--follow-rewrites")],
)
def test_a_real_bash_completes_commands_and_options(typed: str, offered: str) -> None:
    bash = need("bash")
    words = typed.split()
    script = f"""
        eval "$(_FOLIOT_COMPLETE=bash_source foliot)"
        COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}
        _foliot_completion foliot
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = call(bash, "--norc", "-c", script, PATH=f"{BIN}:{os.environ['PATH']}")
    assert offered in done.stdout.split(), done.stdout + done.stderr
