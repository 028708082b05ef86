"""All that a host starts by time: tables, directories, timers. What cannot be read is told, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from foliot.importers.anacron import read_anacrontab
from foliot.importers.crontab import Setting, read_crontab
from foliot.importers.draft import Line, LineKind, Source
from foliot.importers.model.vixie import Flavour
from foliot.importers.registry import Registry
from foliot.importers.switch_off import command, put_aside
from foliot.importers.systemd import Unit, read_timer

_UNITS = (
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
)
_SPOOLS = ("var/spool/cron/crontabs", "var/spool/cron")
_PARTS = ("cron.hourly", "cron.daily", "cron.weekly", "cron.monthly")
_LARGEST = 4_000_000
_ROOT = "root"  # who runs services and anacron's jobs that name no user


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host: its root, which is `/` but in tests, its zone and its cron; `split` as in `Setting`."""

    root: Path
    zone: str
    flavour: Flavour
    split: bool = False


def read_host(host: Host, names: Registry) -> Iterator[Source]:
    """Every source below the root."""
    root = host.root
    for path in (root / "etc/crontab", *_files(root / "etc/cron.d")):
        yield from _table(path, host, names, owner="", is_system=True)
    for spool in _SPOOLS:
        for path in _files(root / spool):
            yield from _table(path, host, names, owner=path.name, is_system=False)
    if (anacrontab := root / "etc/anacrontab").exists():
        setting = Setting(
            name=str(anacrontab), zone=host.zone, user=_ROOT, switch_off=(put_aside(anacrontab),),
            split=host.split, root=root,
        )  # fmt: skip
        data = _read(anacrontab)
        yield data if isinstance(data, Source) else read_anacrontab(data, setting, names)
    for folder in _PARTS:
        yield from _scripts(root / "etc" / folder)
    yield from timers(_timers_of(root), host.zone, names)


def timers(files: list[Path], zone: str, names: Registry) -> Iterator[Source]:
    """The sources of timer files, each with the service that lies beside it or where units lie."""
    for path in files:
        data = _read(path)
        if isinstance(data, Source):
            yield data
            continue
        unit = next(
            (
                line.partition("=")[2].strip()
                for line in data.decode(errors="replace").splitlines()
                if line.strip().startswith("Unit=")
            ),
            "",
        )
        wanted = unit or path.name.removesuffix(".timer") + ".service"
        template = wanted.partition("@")[0] + "@.service" if "@" in wanted else wanted
        places = [path.parent / wanted, path.parent / template]
        service = next((place for place in places if place.is_file()), None)
        held = _read(service) if service else None
        found = Unit(wanted, held) if isinstance(held, bytes) else None
        yield from read_timer(Unit(path.name, data), found, zone, names, _owner_of(path))


def _owner_of(path: Path) -> str:
    """Who runs the service of a unit that names no user: root, if it is one of the system's units."""
    return _ROOT if path.absolute().parent.parts[-2:] == ("systemd", "system") else ""


def _table(path: Path, host: Host, names: Registry, *, owner: str, is_system: bool) -> Iterator[Source]:
    if not path.is_file():
        return
    data = _read(path)
    if isinstance(data, Source):
        yield data
        return
    off = put_aside(path) if is_system else command("crontab", "-u", owner, "-r")
    setting = Setting(
        name=str(path), flavour=host.flavour, zone=host.zone, owner=owner, user=owner, is_system=is_system,
        switch_off=(off,), split=host.split, root=host.root,
    )  # fmt: skip
    yield read_crontab(data, setting, names)


def _scripts(folder: Path) -> Iterator[Source]:
    """A directory of run-parts: the line of /etc/crontab starts it as a whole; its scripts are listed."""
    found = _files(folder)
    if found:
        lines = [Line(n, path.name, LineKind.SETTING) for n, path in enumerate(found, start=1)]
        yield Source(name=f"{folder} (started by its line in /etc/crontab)", lines=tuple(lines))


def _timers_of(root: Path) -> list[Path]:
    seen: dict[str, Path] = {}
    for folder in _UNITS:
        for path in _files(root / folder):
            if path.suffix == ".timer":
                seen.setdefault(path.name, path)
    return [seen[name] for name in sorted(seen)]


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError:
        return []


def _read(path: Path) -> bytes | Source:
    try:
        with path.open("rb") as stream:
            return stream.read(_LARGEST)
    except OSError as error:
        return Source(name=str(path), failure=error.strerror or str(error))
