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

# Programs of the system that tests start, each with its packages. They are installed in CI, and where we are root, as on
# a fresh machine. On a laptop a test that misses one is skipped, and says so. No service is started: each test session has servers of its own. (PostgreSQL, Valkey and MongoDB are wheels.)
programs='
redis-server redis-server
npm nodejs npm
chromium chromium fonts-dejavu-core
nginx nginx-light
cron cron
faketime faketime
systemd-analyze systemd
mmdebstrap mmdebstrap
buildah buildah
lintian lintian
man man-db
pipx pipx
'
if [ "$lock" = requirements/dev.lock ] && { [ "${CI:-}" = true ] || [ "$(id -u)" -eq 0 ]; }; then
    packages=$(printf '%s\n' "$programs" | while read -r program names; do
        [ -z "$program" ] || PATH="$PATH:/usr/sbin:/sbin" command -v "$program" >/dev/null || printf '%s ' "$names"
    done)
    # shellcheck disable=SC2086 # words are packages
    [ -z "$packages" ] || RUNLEVEL=1 apt_install --no-install-recommends $packages ||
        say "not all of these could be installed: $packages"
fi

say "setting up $environment with $python"
"$environment/bin/python" -c "$oldest" 2>/dev/null || "$python" -m venv --clear "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
# An environment of developers has what builds the package; another one fetches it for the moment of the build.
isolation=--no-build-isolation
"$environment/bin/python" -c 'import editables, hatchling' 2>/dev/null || isolation=
# shellcheck disable=SC2086 # no word, if it is empty
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps $isolation -e .
for folder; do
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e "$folder"
done
