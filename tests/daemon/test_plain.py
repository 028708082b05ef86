"""`foliot serve` of a directory or a file without git."""

from __future__ import annotations

import json

from daemon.harness import Daemons, Host
from daemon.repositories import CONFIG, config, job


def test_a_plain_directory_is_followed_without_git(daemons: Daemons, host: Host) -> None:
    folder = host.folder / "plain"
    folder.mkdir()
    (folder / "say").write_text(f"#!/bin/sh\necho $1 >> {host.witness}/said\n")
    (folder / "say").chmod(0o755)
    (folder / CONFIG).write_text(config({"one": job("./say first")}))

    daemon = daemons.serve("-i", "1", folder=folder, PATH="/nowhere/git:/bin:/usr/bin")
    daemon.wait_for("run_succeeded", name="one")
    (folder / CONFIG).write_text(config({"one": job("./say second")}))
    daemon.wait_for("source_moved")
    host.wait_for_lines("said", 2)
    (folder / CONFIG).write_text("jobs: [")
    failed = daemon.wait_for("source_failed")
    daemon.stop()

    assert "not valid YAML" in failed["error"]
    assert set((host.witness / "said").read_text().split()) >= {"first"}
    sources = json.dumps(host.foliot("source", "list"))
    assert str(folder) in sources


def test_a_plain_file_is_followed_alone(daemons: Daemons, host: Host) -> None:
    folder = host.folder / "plain"
    folder.mkdir()
    (folder / "other").touch()
    (folder / "my-jobs.yaml").write_text(
        config({"one": job(f"ls > {host.witness}/ls.new; mv {host.witness}/ls.new {host.witness}/ls")})
    )

    daemon = daemons.serve(folder / "my-jobs.yaml")
    daemon.wait_for("run_succeeded", name="one")
    daemon.stop()

    assert host.wait_for_lines("ls", 1) == ["my-jobs.yaml"]
