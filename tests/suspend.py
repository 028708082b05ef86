"""Programs that believe their host was suspended: CLOCK_BOOTTIME has gone on, CLOCK_MONOTONIC has not.

A host cannot be suspended in a test, so a small library stands before libc in the program: it adds what a
file says, in seconds, to CLOCK_BOOTTIME, and to no other clock.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

VARIABLE = "FOLIOT_TEST_SLEPT"
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(which, now);
    const char *path = getenv("%s");
    if (result == 0 && which == CLOCK_BOOTTIME && path) {
        char text[32] = {0};
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file >= 0) {
            if (read(file, text, sizeof text - 1) > 0) now->tv_sec += atol(text);
            close(file);
        }
    }
    return result;
}
"""


class Sleeper:
    """What makes programs believe that their host has slept."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("no C compiler: the library that shifts CLOCK_BOOTTIME cannot be built")
        self.library, self._file = folder / "slept.so", folder / "slept"
        source = folder / "slept.c"
        source.write_text(_SOURCE % VARIABLE)
        command = [compiler, "-shared", "-fPIC", "-o", str(self.library), str(source), "-ldl"]
        subprocess.run(command, check=True)  # noqa: S603 - our own source
        self._file.write_text("0")

    @property
    def environment(self) -> dict[str, str]:
        """With this, a program can be made to believe it."""
        return {**os.environ, "LD_PRELOAD": str(self.library), VARIABLE: str(self._file)}

    def sleep(self, seconds: int) -> None:
        """The host was suspended for that long, just now."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.replace(self._file)
