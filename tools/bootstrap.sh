#!/bin/sh
# Make a virtual environment from a lock file on a bare Debian or Ubuntu with python3.
# usage: tools/bootstrap.sh ENVIRONMENT LOCKFILE [FOLDER …]; packages in the folders are installed, too, to be edited
set -eu

environment=$1
lock=$2
shift 2
oldest='import sys; sys.exit(sys.version_info < (3, 11))'

say() { printf '%s\n' "$*" >&2; }

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo -n "$@"; else return 1; fi
}

apt_install() {
    command -v apt-get >/dev/null || return 1
    say "installing $* with apt-get"
    as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "$@" >&2
}

find_python() {
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null && "$name" -c "$oldest" 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    return 1
}

python=$(find_python) || { apt_install python3.11 python3.11-venv && python=$(find_python); } || {
    say "Foliot needs Python 3.11 or newer; none was found and none could be installed."
    exit 1
}

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    apt_install "python$version-venv" || {
        say "$python has no venv module; install the package python$version-venv."
        exit 1
    }
fi

# PostgreSQL and Valkey for tests come as wheels; of Redis there is none that is new enough. On a laptop the tests
# that need it are skipped, and say so. The service is not started: each test session has a server of its own.
if [ "${CI:-}" = true ] && ! command -v redis-server >/dev/null; then
    RUNLEVEL=1 apt_install --no-install-recommends redis-server || say "redis-server could not be installed"
fi

# Tests let Node's mongodb-cron work beside the documents door; they, too, are skipped on a laptop without it.
if [ "${CI:-}" = true ] && ! command -v npm >/dev/null; then
    apt_install --no-install-recommends nodejs npm || say "nodejs could not be installed"
fi

say "setting up $environment with $python"
"$environment/bin/python" -c "$oldest" 2>/dev/null || "$python" -m venv --clear "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
for folder; do
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e "$folder"
done
