#!/bin/sh
# make_venv.sh FOLDER PYTHON: a virtual environment in FOLDER with exactly the versions of requirements.lock, and
# this project (editable) without its dependencies being resolved again. uv where there is one, else venv and pip;
# both take the package index that the environment configures. An environment that works is updated in place.
set -eu
folder=$1
python=$2

pip_setting() { # NAME: what pip would use: its variable, else its configuration files
    variable=PIP_$(echo "$1" | tr 'a-z-' 'A-Z_')
    eval "value=\${$variable:-}"
    [ -n "$value" ] || value=$("$python" -m pip config get "global.$1" 2>/dev/null) || value=
    echo "$value" | tr '\n' ' ' | sed 's/^ *//; s/ *$//'
}

with_uv() {
    # uv reads none of pip's settings: hand them on, unless uv has its own.
    if [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}${UV_INDEX:-}${UV_EXTRA_INDEX_URL:-}${UV_CONFIG_FILE:-}" ]; then
        index=$(pip_setting index-url)
        extra=$(pip_setting extra-index-url)
        links=$(pip_setting find-links)
        [ -z "$index" ] || export UV_DEFAULT_INDEX="$index"
        [ -z "$extra" ] || export UV_INDEX="$extra" UV_INDEX_STRATEGY=unsafe-best-match
        [ -z "$links" ] || export UV_FIND_LINKS="$(echo "$links" | tr ' ' ',')"
        [ -n "${SSL_CERT_FILE:-}" ] || [ -z "${PIP_CERT:-}" ] || export SSL_CERT_FILE="$PIP_CERT"
    fi
    export UV_PYTHON_DOWNLOADS=never
    { [ -x "$folder/bin/python" ] || uv venv --quiet --clear --python "$python" "$folder"; } &&
        uv pip install --quiet --python "$folder/bin/python" --no-deps -r requirements.lock &&
        uv pip install --quiet --python "$folder/bin/python" --no-deps --no-build-isolation -e .
}

with_pip() {
    "$folder/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear "$folder"
    pip="$folder/bin/python -m pip install -qq --disable-pip-version-check --no-deps"
    $pip -r requirements.lock
    $pip --no-build-isolation -e .
}

"$folder/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || rm -rf "$folder"
made=
if command -v uv >/dev/null 2>&1; then
    with_uv && made=yes || echo "uv could not make $folder; trying venv and pip" >&2
fi
[ -n "$made" ] || with_pip
"$folder/bin/python" scripts/hide_plugins.py
