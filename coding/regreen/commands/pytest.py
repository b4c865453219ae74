"""The rows of pytest. Left out on purpose: whatever loads code or settings from elsewhere (`-p NAME`, `-c`, `-o`,
`--rootdir`, `--pyargs`), writes files (`--junitxml`, `--basetemp`, ...) or waits for a terminal (`--pdb`)."""

from __future__ import annotations

from regreen.commands.grammar import Row, Schema
from regreen.commands.validators import expression, node_id, number, one_of, pattern, relative_path

_SCHEMA = Schema(
    switches=frozenset(
        (
            *("-x", "--exitfirst", "-q", "--quiet", "-v", "-vv", "--verbose", "-s", "-l", "--showlocals"),
            *("--lf", "--last-failed", "--ff", "--nf", "--sw", "--co", "--collect-only", "--runxfail"),
            *("--no-header", "--no-summary", "--disable-warnings", "--strict-markers", "--full-trace"),
        )
    ),
    options={
        "-k": expression,
        "-m": expression,
        "--maxfail": number(1, 10000),
        "--tb": one_of("auto", "long", "short", "line", "native", "no"),
        "-r": pattern(r"[A-Za-z]{1,10}", "a few letters such as fE"),
        "--durations": number(0, 1000),
        "--color": one_of("yes", "no", "auto"),
        "--timeout": number(1, 3600),
        "-n": pattern(r"[0-9]{1,2}|auto", "a number of workers or auto"),
        "--deselect": node_id,
        "--ignore": relative_path,
        "--import-mode": one_of("prepend", "append", "importlib"),
        "-W": pattern(
            r"(ignore|error|always|default|module|once|all)(:[^:,]{0,200}(:(|[A-Z][A-Za-z]*Warning))?)?",
            "a warning filter with a built-in category, such as ignore::DeprecationWarning,",
        ),
        "--capture": one_of("fd", "sys", "no", "tee-sys"),
        "--show-capture": one_of("no", "stdout", "stderr", "log", "all"),
        "-p": pattern(r"no:[A-Za-z_][\w.\-]*", "only no:NAME, which switches a plugin off,"),
    },
    glued="rnkmW",
    bundle="xqvsl",
    positional=node_id,
    same_after_dashes=True,
)

ROWS = tuple(
    Row(words, "pytest", _SCHEMA)
    for words in (("pytest",), ("py.test",), ("python", "-m", "pytest"), ("python3", "-m", "pytest"))
)
