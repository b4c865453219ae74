#!/bin/sh
# Installs the locked test runners of JavaScript into a folder.
# usage: sh tests/js_runners/install.sh [FOLDER]      (default: .ci-tools/js in the repository)
# Exit 3, with the reason on stderr, where they cannot be had; the tests that need them then skip and say so.
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
to=${1:-$here/../../.ci-tools/js}

if [ -f "$to/.installed" ] && cmp -s "$here/package-lock.json" "$to/.installed"; then
    exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
    echo "test runners of JavaScript: npm was not found; tests that start them will be skipped" >&2
    exit 3
fi
mkdir -p "$to" || exit 3
rm -rf "$to/.installed" "$to/node_modules"
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$to/" || exit 3
# `install`, not `ci`: the latter refuses a lock in which an optional package of another platform is missing.
if ! (cd "$to" && npm install --no-save --loglevel=error) >&2; then
    echo "test runners of JavaScript: npm could not install them; tests that start them will be skipped" >&2
    exit 3
fi
cp "$here/package-lock.json" "$to/.installed"
