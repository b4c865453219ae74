"""The rows of the JavaScript runners, and of the package managers that run a package's `test` script.

What a script is cannot be seen here: its words are checked against all runners at once, and can be checked again with
`check_words` once the runner is known.
"""

from __future__ import annotations

import re

from regreen.commands.grammar import Row, Schema
from regreen.commands.refusals import CHANGES, LOADS, MOVES, RUNS, SENDS, WAITS, WRITES, because
from regreen.commands.validators import Validator, either, expression, number, one_of, path_pattern, pattern

_WORKERS = pattern(r"[0-9]{1,2}%?", "a number of workers, or a share such as 50%,")
_SHARD = pattern(r"[0-9]{1,3}/[0-9]{1,3}", "a share such as 1/3")
_FALSE = one_of("false")
_BOOL = one_of("true", "false")
_MS = number(0, 3_600_000)
_TIME = pattern(r"[0-9]{1,7}(ms|s|m)?", "a time such as 5000 or 5s")
_NAME = pattern(r"[\w@][\w@./\-]{0,99}", "a project's name")

_LOADING = because(
    LOADS, "--config", "-c", "--globals", "--globalSetup", "--globalTeardown", "--setupFiles*", "--testEnvironment*",
    "--environment", "--env", "--transform*", "--resolver", "--runner", "--testRunner", "--preset", "--projects",
    "--require", "-r", "--import", "--loader", "--experimental-loader", "--file", "--package", "--opts",
    "--moduleNameMapper", "--modulePaths", "--roots", "--snapshotSerializers", "--prettierPath", "--haste",
    "--testSequencer", "--watchPlugins", "--workspace", "--env-file*", "--plugin", "--mode", "--typecheck*",
    "--testResultsProcessor", "--node-option", "-n", "--execArgv*", "-e", "--eval", "-p", "--print",
    "--reporters", "--reporter", "--coverageProvider", "--browser*", "--test-reporter", "--test-global-setup",
    "--poolOptions*",
)  # fmt: skip
_WRITING = because(
    WRITES, "--outputFile*", "--coverageDirectory", "--coverage.*", "--cacheDirectory", "--updateSnapshot", "-u",
    "--update", "--coverageReporters", "--init", "--reporter-option*", "-O", "--test-reporter-destination",
    "--test-update-snapshots", "--cpu-prof*", "--heap-prof*", "--report-*", "--clearCache", "--attachmentsDir",
)  # fmt: skip
_WAITING = because(WAITS, "--watch*", "-w", "--ui", "--api*", "--inspect*", "--debug*", "--standalone", "--open")
_MOVING = because(MOVES, "--rootDir", "--root", "--prefix", "-C", "--cwd", "--dir")
_REFUSED = {**_LOADING, **_WRITING, **_WAITING, **_MOVING}

_JEST = Schema(
    switches=frozenset(
        (
            *("--bail", "-b", "--silent", "--verbose", "--ci", "--no-coverage", "--coverage", "--runInBand", "-i"),
            *("--passWithNoTests", "--detectOpenHandles", "--forceExit", "--onlyFailures", "-f", "--no-cache"),
            *("--expand", "--colors", "--no-colors", "--color", "--no-color", "--errorOnDeprecated", "--listTests"),
            *("--noStackTrace", "--findRelatedTests", "--runTestsByPath", "--randomize", "--showSeed", "--no-watchman"),
            *("--logHeapUsage", "--no-watch", "--no-watchAll"),
        )
    ),
    options={
        "-t": expression,
        "--testNamePattern": expression,
        "--testPathPattern": expression,
        "--testPathPatterns": expression,
        "--testPathIgnorePatterns": expression,
        "--maxWorkers": _WORKERS,
        "--workerThreads": _BOOL,
        "--maxConcurrency": number(1, 100),
        "--testTimeout": _MS,
        "--seed": number(0, 999_999_999),
        "--shard": _SHARD,
        "--selectProjects": _NAME,
    },
    attached={
        "--bail": number(0, 10000),
        "--watchAll": _FALSE,
        "--watch": _FALSE,
        "--watchman": _FALSE,
        "--coverage": _BOOL,
        "--ci": _BOOL,
        "--verbose": _BOOL,
        "--silent": _BOOL,
        "--cache": _BOOL,
    },
    positional=path_pattern,
    dashes="same",
    refused=_REFUSED | because(RUNS, "-o", "--onlyChanged", "--changedSince", "--lastCommit", "--changedFilesWith*"),
)

_VITEST_REPORTER = one_of("default", "verbose", "dot", "json", "tap", "tap-flat", "basic", "tree")
_VITEST = Schema(
    switches=frozenset(
        (
            *("--silent", "--run", "--no-coverage", "--coverage", "--passWithNoTests", "--no-file-parallelism"),
            *("--no-fileParallelism", "--no-isolate", "--no-color", "--logHeapUsage", "--allowOnly"),
            *("--hideSkippedTests", "--disable-console-intercept", "--disableConsoleIntercept", "--no-watch"),
            *("--no-cache", "--no-typecheck", "--no-api", "--no-ui"),
        )
    ),
    options={
        "-t": expression,
        "--testNamePattern": expression,
        "--test-name-pattern": expression,
        "--bail": number(0, 10000),
        "--reporter": _VITEST_REPORTER,
        "--maxWorkers": _WORKERS,
        "--minWorkers": _WORKERS,
        "--pool": one_of("threads", "forks", "vmThreads", "vmForks"),
        "--testTimeout": _MS,
        "--test-timeout": _MS,
        "--hookTimeout": _MS,
        "--retry": number(0, 10),
        "--shard": _SHARD,
        "--project": _NAME,
        "--maxConcurrency": number(1, 100),
        "--exclude": path_pattern,
        "--sequence.seed": number(0, 999_999_999),
    },
    attached={
        "--watch": _FALSE,
        "--coverage.enabled": _BOOL,
        "--coverage": _BOOL,
        "--silent": _BOOL,
        "--sequence.shuffle": _BOOL,
        "--file-parallelism": _BOOL,
        "--fileParallelism": _BOOL,
        "--isolate": _BOOL,
        "--typecheck": _FALSE,
        "--ui": _FALSE,
    },
    positional=path_pattern,
    dashes="same",
    refused=_REFUSED | because(RUNS, "--changed"),
)

_MOCHA_REPORTER = one_of("spec", "dot", "min", "list", "tap", "json", "nyan", "landing", "progress", "doc", "markdown")
_MOCHA_SWITCHES = frozenset(
    (
        *("--invert", "--bail", "--exit", "--no-exit", "--recursive", "--color", "--no-color", "--colors"),
        *("--no-colors", "--check-leaks", "--forbid-only", "--forbid-pending", "--full-trace", "--parallel"),
        *("--no-parallel", "--no-timeouts", "--inline-diffs", "--diff", "--no-diff", "--sort", "--allow-uncaught"),
        *("--fail-zero", "--pass-on-failing-test-suite", "--dry-run"),
    )
)
_MOCHA_OPTIONS: dict[str, Validator] = {
    "--grep": expression,
    "-g": expression,
    "--fgrep": expression,
    "--timeout": _TIME,
    "--slow": _TIME,
    "--retries": number(0, 10),
    "--jobs": number(1, 64),
    "--ignore": path_pattern,
    "--spec": path_pattern,
    "--extension": pattern(r"[\w][\w.,]{0,60}", "an extension such as ts"),
    "--reporter": _MOCHA_REPORTER,
}
_MOCHA = Schema(
    switches=_MOCHA_SWITCHES | {"-b", "-i"},
    options={
        **_MOCHA_OPTIONS,
        "-f": expression,
        "-t": _TIME,
        "-s": _TIME,
        "-R": _MOCHA_REPORTER,
        "-j": number(1, 64),
        "--ui": one_of("bdd", "tdd", "qunit", "exports"),
    },
    positional=path_pattern,
    dashes="same",
    refused={**_REFUSED, "-u": LOADS},
)

_NODE_OPTIONS: dict[str, Validator] = {
    "--test-name-pattern": expression,
    "--test-skip-pattern": expression,
    "--test-concurrency": number(1, 64),
    "--test-timeout": _MS,
    "--test-shard": _SHARD,
    "--test-reporter": one_of("spec", "tap", "dot", "junit"),
    "--test-isolation": one_of("process", "none"),
}
_NODE_SWITCHES = frozenset((
    *("--test-only", "--test-force-exit", "--experimental-test-coverage", "--experimental-test-module-mocks"),
    *("--experimental-strip-types", "--experimental-transform-types", "--no-warnings", "--trace-warnings"),
    *("--enable-source-maps", "--experimental-vm-modules", "--trace-uncaught"),
))  # fmt: skip
_NODE = Schema(
    switches=_NODE_SWITCHES,
    options=_NODE_OPTIONS,
    positional=path_pattern,
    refused=_REFUSED | because(RUNS, "-i", "--interactive"),
)

_SCRIPT = Schema(  # of no known runner: the long options of all, and the short ones that mean the same to all
    switches=_JEST.switches - {"-f"} | _VITEST.switches | _MOCHA_SWITCHES | {"--test-only", "--test-force-exit"},
    options={
        **_NODE_OPTIONS,
        **_JEST.options,
        **_VITEST.options,
        **_MOCHA_OPTIONS,
        "--bail": number(0, 10000),
        "--reporter": either(_VITEST_REPORTER, _MOCHA_REPORTER),
    },
    attached={**_JEST.attached, **_VITEST.attached},
    positional=path_pattern,
    dashes="same",
    by_shell=True,
    refused=_REFUSED,
)

_MANAGER = (
    because(RUNS, "--script-shell", "--shell*", "--node-options", "--call", "-c", "--git")
    | because(LOADS, "--userconfig", "--globalconfig", "--config*", "--rc-file", "--use-yarnrc")
    | because(MOVES, "--prefix", "-C", "--dir", "--cwd", "--workspace*", "-w", "--filter", "-F", "-r", "--recursive")
    | because(MOVES, "-g", "--global", "--location", "--include-workspace-root")
    | because(SENDS, "--registry", "--proxy", "--https-proxy", "-y", "--yes")
    | because(CHANGES, "--ignore-scripts", "--if-present=*", "--production", "--env")
)
_NPM = Schema(
    switches=frozenset(("--silent", "-s", "--if-present", "--no-color", "--no-audit", "--no-fund", "--quiet")),
    options={"--loglevel": one_of("silent", "error", "warn", "notice", "http", "info")},
    positional=path_pattern,
    dashes="inner",
    inner=_SCRIPT,
    hands_on=True,
    by_shell=True,
    refused=_WAITING | _MANAGER,
)
_PASSED = Schema(
    switches=_SCRIPT.switches, options=_SCRIPT.options, attached=_SCRIPT.attached, positional=path_pattern,
    dashes="same", by_shell=True, refused=_REFUSED | _MANAGER,
)  # fmt: skip

_SCRIPT_NAME = re.compile(r"test(?!.*watch)([:\-][A-Za-z0-9_\-]{1,40}){1,4}", re.ASCII)
_SILENT = ((), ("-s",), ("--silent",))
_LOCAL: tuple[tuple[str, ...], ...] = (
    (),
    ("npx",),
    ("yarn",),
    ("pnpm",),
    ("pnpm", "exec"),
    ("npx", "--no-install"),
    ("npx", "--no"),
)

ROWS = (
    *(Row(("npm", *s, *script), "npm", _NPM) for s in _SILENT
      for script in (("test",), ("t",), ("tst",), ("run", "test"), ("run-script", "test"), ("run", _SCRIPT_NAME))),
    *(Row((manager, *s, *script), manager, _PASSED, through=True) for manager in ("pnpm", "yarn") for s in _SILENT
      for script in (("test",), ("run", "test"), ("run", _SCRIPT_NAME), (_SCRIPT_NAME,))),
    Row(("pnpm", "t"), "pnpm", _PASSED, through=True),
    *(Row((*before, *words), words[0], schema) for before in _LOCAL
      for words, schema in ((("vitest", "run"), _VITEST), (("vitest", "--run"), _VITEST), (("jest",), _JEST),
                            (("mocha",), _MOCHA))),
    Row(("node", "--test"), "node", _NODE),
)  # fmt: skip
