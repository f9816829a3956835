#!/usr/bin/env bash
# Fetches libpng's test pictures (PngSuite, testpngs, crashers) out of Debian's source package into the folder $1.
# Changes nothing in the system: the source index goes into a folder of its own. Exits with 77 where it cannot be had.
set -euo pipefail
target=$1
[ -e "$target/complete" ] && exit 0
skip() { echo "skipped: $*"; exit 77; }
command -v apt-get >/dev/null || skip "there is no apt-get"
sources=/etc/apt/sources.list.d/debian.sources
[ -r "$sources" ] || skip "$sources is not there"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/parts" "$work/lists/partial" "$target"
sed 's/^Types: .*/Types: deb-src/' "$sources" >"$work/parts/source.sources"
options=(-qq -o Dir::Etc::SourceParts="$work/parts" -o Dir::Etc::SourceList=/dev/null -o Dir::State::Lists="$work/lists"
         -o APT::Sandbox::User=root)
cd "$work"
# A network that answers slowly or not at all is none.
timeout 100 apt-get "${options[@]}" update || skip "the source index cannot be fetched"
# A changed index need not spoil the archive.
timeout 100 apt-get "${options[@]}" source --download-only --tar-only libpng1.6 || true
archive=$(find . -maxdepth 1 -name 'libpng1.6_*.orig.tar.*' ! -name '*.asc' | head -n 1)
[ -n "$archive" ] || skip "the source package cannot be fetched"
tar -xf "$archive" -C "$target" --strip-components=2 --wildcards '*/contrib/pngsuite' '*/contrib/testpngs' ||
    skip "the source package did not come whole"
touch "$target/complete"
