#!/bin/sh
# Prints an interpreter that can run this project (3.11 or newer), or nothing, with status 1.
#   find_python.sh                 the first that works: $PYTHON, python3, python3.N, then pyenv's folder
#   find_python.sh --newest-but X  the newest that works and is not version X (such as 3.11)
# Each candidate is run, not only looked up: a version manager's shim may stand for nothing.

candidates() {
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        command -v "$name" 2>/dev/null
    done
    for file in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
        [ -x "$file" ] && echo "$file"
    done
}

# One line each: minor version, path of the interpreter itself (a shim depends on the folder it is called in).
working() {
    candidates | while read -r python; do
        "$python" -c 'import sys, venv, ensurepip
if sys.version_info >= (3, 11) and sys.implementation.name == "cpython":
    print(sys.version_info[1], sys.executable)' 2>/dev/null
    done
}

if [ "${1:-}" = --newest-but ]; then
    found=$(working | grep -v "^${2#3.} " | sort -n | tail -1)
else
    found=$(working | head -1)
fi
[ -n "$found" ] || exit 1
echo "${found#* }"
