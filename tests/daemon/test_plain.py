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


def test_a_store_inside_of_the_directory_is_no_part_of_it(daemons: Daemons, host: Host) -> None:
    folder = host.folder / "plain"
    folder.mkdir()
    (folder / "jobs.db.txt").touch()
    (folder / CONFIG).write_text(config({"one": job(f"ls -A >> {host.witness}/ls")}))

    daemon = daemons.serve("-i", "1", "--store", "sqlite:///jobs.db", folder=folder)
    for _ in range(3):  # each of them writes to the store
        daemon.wait_for("run_succeeded", name="one")
    daemon.stop()

    assert (folder / "jobs.db").exists()
    assert not daemon.all("source_moved")
    assert not daemon.all("source_failed")
    assert set(host.lines("ls")) == {"jobs.db.txt", CONFIG}


def test_an_empty_directory_is_told_what_it_lacks(daemons: Daemons, host: Host) -> None:
    folder = host.folder / "empty"
    folder.mkdir()

    daemon = daemons.start("foliot serve .", folder=folder)

    assert daemon.wait() != 0
    for word in ("git repository", CONFIG, "foliot init"):
        assert word in daemon.told
