#!/bin/sh
# Installs the locked MCP test clients into a folder: those of npm with a Node new enough for them, and FastMCP in a
# Python environment of its own (`fastmcp` in the folder), since it must not decide which versions the product gets.
# usage: sh tests/node/install.sh [FOLDER]      (default: .ci-tools in the repository)
# Exit 3, with the reason on stderr, where the former cannot be had; without the latter, says so. The tests that need
# what is missing skip and say so.
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
to=${1:-$here/../../.ci-tools}

installed() { # FOLDER LOCK: exactly what the lock names is there already
    [ -f "$1/.installed" ] && cmp -s "$2" "$1/.installed"
}

node_clients() {
    installed "$to" "$here/package-lock.json" && return 0
    if ! command -v npm >/dev/null 2>&1; then
        echo "node test clients: npm was not found; tests that drive them will be skipped" >&2
        return 3
    fi
    rm -rf "$to/.installed" "$to/node_modules"
    cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$to/" || return 3
    # `install`, not `ci`: the latter refuses a lock in which an optional package of another platform is missing.
    if ! (cd "$to" && npm install --no-save --loglevel=error) >&2; then
        echo "node test clients: npm could not install them; tests that drive them will be skipped" >&2
        return 3
    fi
    cp "$here/package-lock.json" "$to/.installed"
}

python_client() { # NAME: what NAME.txt lists, in an environment of that name
    installed "$to/$1" "$here/$1.txt" && return 0
    rm -rf "${to:?}/$1"
    python=$(sh "$here/../../scripts/find_python.sh") &&
        "$python" -m venv "$to/$1" &&
        "$to/$1/bin/python" -m pip install -qqq --disable-pip-version-check --no-deps --no-compile -r "$here/$1.txt" &&
        cp "$here/$1.txt" "$to/$1/.installed" ||
        echo "SKIPPED: $1 could not be installed; tests that drive it will be skipped" >&2
}

mkdir -p "$to" || exit 3
python_client fastmcp &
node_clients
code=$?
wait
exit $code
