"""`foliot serve --app`: an application of the user's own, with and without a repository."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from daemon.harness import Daemons, Host
from daemon.repositories import Repository, job
from daemon.test_start import says
from foliot.testing.servers.process import free_port

SHOP = """
from foliot import Foliot

app = Foliot("sqlite:///shop.db", name="shop", drain="2s")
class inner:
    app = app
number = 7

@app.job("@every 1s")
async def tick(run):
    with open({witness!r}, "a") as file:
        print(run.key, file=file)
"""


@pytest.fixture
def shop(host: Host, tmp_path: Path) -> Path:
    """Where a program called `shop` lies."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "shop.py").write_text(SHOP.format(witness=str(host.witness / "tick")))
    (folder / "broken.py").write_text("import no_such_module_xyz\n")
    return folder


def test_an_application_is_run_without_any_repository(daemons: Daemons, host: Host, shop: Path) -> None:
    daemon = daemons.serve("--app", "shop:app", folder=shop)

    host.wait_for_lines("tick", 2)

    daemon.send(signal.SIGHUP)  # nothing to pull, and no reason to end
    host.wait_for_lines("tick", len(host.lines("tick")) + 1)
    assert daemon.stop() == 0
    assert (shop / "shop.db").exists()
    assert not host.file.exists()
    assert not daemon.all("source_followed")


def test_an_application_and_a_repository_share_a_daemon_and_a_store(
    daemons: Daemons, host: Host, shop: Path, repository: Repository
) -> None:
    repository.push(one=job(f"echo x >> {host.witness}/one"))
    host.file.parent.mkdir(parents=True)

    daemon = daemons.serve(
        "--app", "shop:inner.app", "--store", f"sqlite:///{host.file}", repository.remote, folder=shop
    )

    host.wait_for_lines("tick", 2)
    host.wait_for_lines("one", 2)
    assert {view.key.partition("-")[0] for view in host.jobs().values()} == {"shop/tick", "ops"}
    assert daemon.stop() == 0
    assert not (shop / "shop.db").exists()
    assert not [run for run in host.runs() if run.is_open]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shop", "module and name"),
        (":app", "module and name"),
        ("shop:", "module and name"),
        ("nowhere:app", "No module named 'nowhere'"),
        ("broken:app", "no_such_module_xyz"),
        ("shop:nothing", "'nothing'"),
        ("shop:number", "type int"),
    ],
)
def test_a_name_that_means_no_application_is_refused_and_says_why(
    daemons: Daemons, shop: Path, name: str, said: str
) -> None:
    assert said in says(daemons.start("foliot serve", "--app", name, folder=shop), code=3)
    assert not (shop / "shop.db").exists()


def test_metrics_of_an_application_that_has_none_are_refused(daemons: Daemons, shop: Path) -> None:
    words = ("--app", "shop:app", "--metrics", str(free_port()))
    assert "has no metrics" in says(daemons.start("foliot serve", *words, folder=shop), code=3)


def test_a_store_that_cannot_be_is_refused(daemons: Daemons, repository: Repository, host: Host) -> None:
    repository.push(one=job("true"))
    for store, code in ((f"sqlite:///{host.folder}/no/jobs.db", 3), ("oracle://x", 3), ("jobs.db", 3)):
        text = says(daemons.start("foliot serve", "--store", store, repository.remote), code=code)
        assert text.startswith("error: invalid store")
    (host.folder / "text.db").write_text(json.dumps("no database") * 100)
    text = says(
        daemons.start("foliot serve", "--store", f"sqlite:///{host.folder}/text.db", repository.remote),
        code=1,
    )
    assert "not a database" in text
