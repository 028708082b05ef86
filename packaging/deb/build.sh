#!/bin/sh
# Build the Debian package: foliot in an environment of its own under /usr/lib/foliot, its unit, man pages and completion.
# usage: packaging/deb/build.sh OUTPUT-DIRECTORY [OPTIONS OF pip install …]
#
# The system's Python makes the environment, because that one will run it. PYTHON has Foliot and its tools (`make test`
# makes such an environment); PIP is the pip to use.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
output=$(cd "$1" && pwd)
shift
pip=${PIP:-python3 -m pip}
python_with_tools=${PYTHON:-$top/.venv/bin/python}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$top/pyproject.toml")
python=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
next=$(/usr/bin/python3 -c 'import sys; print("%d.%d" % (sys.version_info[0], sys.version_info[1] + 1))')
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
umask 022

home=/usr/lib/foliot
/usr/bin/python3 -m venv --without-pip "$stage$home"
$pip --disable-pip-version-check --python "$stage$home/bin/python" install --quiet --no-compile "$@" "$top[all]"
find "$stage$home/bin" -type f ! -name foliot ! -name rollcron ! -name celery -delete
rm -f "$stage$home/.gitignore"
find "$stage$home" -name __pycache__ -prune -exec rm -rf {} +
# An environment knows where it is: it was made here, and will be there.
grep -rIl "$stage" "$stage$home" | xargs -r sed -i "s#$stage##g"

mkdir -p "$stage/usr/bin" "$stage/usr/share/man/man1" "$stage/usr/share/bash-completion/completions" \
    "$stage/usr/share/zsh/vendor-completions" "$stage/usr/share/fish/vendor_completions.d" \
    "$stage/lib/systemd/system" "$stage/usr/lib/sysusers.d" "$stage/etc/foliot" \
    "$stage/usr/share/doc/foliot" "$stage/usr/share/lintian/overrides" "$stage/DEBIAN"
for program in foliot rollcron; do ln -s "../lib/foliot/bin/$program" "$stage/usr/bin/$program"; done

find "$stage$home" -name '*.so*' -exec chmod 644 {} +

# Pages and completion come from the commands themselves.
run() { PYTHONPATH="$(echo "$stage$home"/lib/python*/site-packages)" /usr/bin/python3 "$stage/.run" "$@"; }
printf 'import sys\nfrom foliot.cli.main import main\nsys.argv[0] = "foliot"\nsys.exit(main())\n' >"$stage/.run"
_FOLIOT_COMPLETE=bash_source run >"$stage/usr/share/bash-completion/completions/foliot"
_FOLIOT_COMPLETE=zsh_source run >"$stage/usr/share/zsh/vendor-completions/_foliot"
_FOLIOT_COMPLETE=fish_source run >"$stage/usr/share/fish/vendor_completions.d/foliot.fish"
rm "$stage/.run"
$python_with_tools "$top/tools/man_pages.py" "$stage/usr/share/man/man1"
gzip -9n "$stage"/usr/share/man/man1/*.1
find "$stage$home" -name __pycache__ -prune -exec rm -rf {} +

at_home='s#/opt/foliot/bin/#/usr/bin/#'
sed "$at_home; s#^Environment=REPO=.*#EnvironmentFile=/etc/foliot/foliot.env#; /^#/d" \
    "$top/packaging/foliot.service" >"$stage/lib/systemd/system/foliot.service"
echo 'u foliot - "Foliot, a durable cron" /var/lib/foliot' >"$stage/usr/lib/sysusers.d/foliot.conf"
cp "$top/packaging/deb/foliot.env" "$stage/etc/foliot/foliot.env"
chmod 640 "$stage/etc/foliot/foliot.env"
sed "$at_home" "$top/packaging/loose.conf" >"$stage/usr/share/doc/foliot/loose.conf"
cp "$top/packaging/deb/copyright" "$stage/usr/share/doc/foliot/copyright"
cp "$top/packaging/deb/lintian-overrides" "$stage/usr/share/lintian/overrides/foliot"
printf 'foliot (%s-1) stable; urgency=medium\n\n  * See CHANGELOG.md of the source.\n\n -- The Foliot authors <foliot@localhost>  %s\n' \
    "$version" "$(date -R -u -d @"${SOURCE_DATE_EPOCH:-0}")" | gzip -9n >"$stage/usr/share/doc/foliot/changelog.Debian.gz"

sed "s/@VERSION@/$version-1/; s/@PYTHON@/$python/; s/@NEXT@/$next/; s/@SIZE@/$(du -sk "$stage" | cut -f1)/; s/@ARCH@/$(dpkg --print-architecture)/" \
    "$top/packaging/deb/control" >"$stage/DEBIAN/control"
echo /etc/foliot/foliot.env >"$stage/DEBIAN/conffiles"
for script in postinst prerm postrm; do install -m 755 "$top/packaging/deb/$script" "$stage/DEBIAN/$script"; done
(cd "$stage" && find usr lib etc -type f -print0 | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
dpkg-deb --root-owner-group -Zxz --build "$stage" "$output/foliot_$version-1_$(dpkg --print-architecture).deb" >/dev/null
echo "$output/foliot_$version-1_$(dpkg --print-architecture).deb"
