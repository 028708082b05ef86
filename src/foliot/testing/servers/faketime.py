"""Programs whose wall clock is what a file says (libfaketime); time that only grows stays the machine's."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from foliot.testing.servers.process import MissingServerError

OFFSET_FILE = "offset"  # in the folder of a server
ADVICE = "no libfaketime that works: pip install libfaketime, or set FOLIOT_LIBFAKETIME"
_CHECK = (
    "import time; a = time.monotonic(); time.sleep(0.01); assert time.time() > 0 and time.monotonic() > a"
)


@cache
def find_library() -> str | None:
    """One that works. Debian 12's own build makes `time.sleep` fail; that of the package on PyPI works."""
    spec = find_spec("libfaketime")
    folders = spec.submodule_search_locations or [] if spec else []
    found = [str(path) for folder in folders for path in Path(folder).rglob("libfaketime.so.1")]
    found += [os.environ["FOLIOT_LIBFAKETIME"]] if "FOLIOT_LIBFAKETIME" in os.environ else []
    return next((path for path in found if _works(path)), None)


def environment(library: str, file: Path) -> dict[str, str]:
    """With this, a program's clock is off by what the file says: "+3600", in seconds."""
    return {
        "LD_PRELOAD": library,
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def clock_of_its_own(folder: Path) -> dict[str, str]:
    """Prepare the folder of a server whose clock can be set; what it must remember. MissingServerError."""
    library = find_library()
    if library is None:
        raise MissingServerError(ADVICE)
    (folder / OFFSET_FILE).write_text("+0", encoding="ascii")
    return {"faketime": library}


def set_offset(file: Path, seconds: float) -> None:
    """From now on the clock is off by so much."""
    fresh = file.with_suffix(".new")
    fresh.write_text(f"{seconds:+g}", encoding="ascii")
    fresh.replace(file)


def _works(library: str) -> bool:
    faked = environment(library, Path("/nonexistent"))
    return subprocess.run([sys.executable, "-c", _CHECK], env=faked, check=False).returncode == 0  # noqa: S603 - our own line
