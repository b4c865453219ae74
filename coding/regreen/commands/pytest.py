"""The rows of pytest. Left out on purpose: whatever loads code or settings from elsewhere, writes files outside of the
usual places, or waits for a terminal. `--` does not protect: pytest reads options behind it."""

from __future__ import annotations

from regreen.commands.grammar import Row, Schema
from regreen.commands.refusals import CHANGES, LOADS, MOVES, RUNS, SENDS, WAITS, WRITES, because
from regreen.commands.validators import either, expression, node_id, number, one_of, pattern, relative_path

_LEVEL = one_of("debug", "info", "warning", "error", "critical", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_PLUGIN = pattern(r"no:[A-Za-z_][\w.\-]*", "only no:NAME, which switches a plugin off,")

SCHEMA = Schema(
    switches=frozenset(
        (
            *("-x", "--exitfirst", "-q", "--quiet", "-v", "-vv", "--verbose", "-s", "-l", "--showlocals"),
            *("--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first", "--sw", "--stepwise"),
            *("--sw-skip", "--stepwise-skip", "--co", "--collect-only", "--runxfail", "--cache-clear", "--setup-show"),
            *("--no-header", "--no-summary", "--disable-warnings", "--strict-markers", "--strict-config", "--strict"),
            *("--full-trace", "--continue-on-collection-errors", "--doctest-modules", "--no-showlocals"),
            *("--no-cov", "--cov", "--cov-branch", "--no-cov-on-fail", "--keep-duplicates"),
        )
    ),
    options={
        "-k": expression,
        "-m": expression,
        "--maxfail": number(1, 10000),
        "--tb": one_of("auto", "long", "short", "line", "native", "no"),
        "-r": pattern(r"[A-Za-z]{1,10}", "a few letters such as fE"),
        "--durations": number(0, 1000),
        "--durations-min": pattern(r"[0-9]{1,5}(\.[0-9]{1,5})?", "a number of seconds"),
        "--verbosity": number(0, 4),
        "--color": one_of("yes", "no", "auto"),
        "--code-highlight": one_of("yes", "no"),
        "--timeout": number(1, 3600),
        "-n": pattern(r"[0-9]{1,2}|auto|logical", "a number of workers or auto"),
        "--numprocesses": pattern(r"[0-9]{1,2}|auto|logical", "a number of workers or auto"),
        "--dist": one_of("no", "load", "loadscope", "loadfile", "loadgroup", "worksteal"),
        "--deselect": node_id,
        "--ignore": relative_path,
        "--ignore-glob": relative_path,
        "--import-mode": one_of("prepend", "append", "importlib"),
        "-W": pattern(
            r"(ignore|error|always|default|module|once|all)(:[^:,]{0,200}(:(|[A-Z][A-Za-z]*Warning))?)?",
            "a warning filter with a built-in category, such as ignore::DeprecationWarning,",
        ),
        "--capture": one_of("fd", "sys", "no", "tee-sys"),
        "--show-capture": one_of("no", "stdout", "stderr", "log", "all"),
        "--log-level": _LEVEL,
        "--log-cli-level": _LEVEL,
        "--asyncio-mode": one_of("auto", "strict"),
        "--randomly-seed": either(number(0, 999_999_999), one_of("last")),
        "-p": _PLUGIN,
    },
    attached={
        "--cov": relative_path,
        "--cov-report": one_of("", "term", "term-missing", "term:skip-covered", "term-missing:skip-covered"),
        "--cov-fail-under": number(0, 100),
    },
    glued="rnkmW",
    bundle="xqvsl",
    positional=node_id,
    dashes="same",
    reads_at=True,
    refused=because(LOADS, "-p*", "-c", "--config-file", "-o", "--override-ini", "--confcutdir", "--pyargs",
                    "--cov-config", "--doctest-glob", "--noconftest", "--pdbcls")
    | because(MOVES, "--rootdir")
    | because(WRITES, "--junitxml", "--junit-xml", "--log-file*", "--debug", "--basetemp", "--report-log", "--html",
              "--cov-report", "--snapshot-update", "--cov-append")
    | because(WAITS, "--pdb", "--trace", "--looponfail", "-f", "--looponfailroots")
    | because(SENDS, "--pastebin")
    | because(RUNS, "--tx", "--rsyncdir", "--px")
    | because(CHANGES, "--rsyncignore", "-d"),
)  # fmt: skip

ROWS = tuple(
    Row(words, "pytest", SCHEMA)
    for words in (("pytest",), ("py.test",), ("python", "-m", "pytest"), ("python3", "-m", "pytest"))
)
