"""The rows of `cargo test` and `cargo nextest run`. Words behind `--` go to the test's own program."""

from __future__ import annotations

from regreen.commands.grammar import Row, Schema
from regreen.commands.refusals import CHANGES, LOADS, MOVES, RUNS, WRITES, because
from regreen.commands.validators import Validator, expression, number, one_of, pattern

_NAME = pattern(r"[\w][\w\-]{0,99}", "a name")
_PACKAGE = pattern(r"[\w][\w\-@.]{0,99}", "a package's name")
_FEATURES = pattern(r"[\w][\w\-,/ ]{0,199}", "names of features")
_TEST = pattern(r"[\w:]{1,300}", "a test's name such as module::tests::name")
_WHEN = one_of("auto", "always", "never")
_THREADS = number(1, 64)

_SWITCHES = frozenset(
    (
        *("--lib", "--bins", "--tests", "--examples", "--all-targets", "--all", "--workspace", "--all-features"),
        *("--no-default-features", "--no-fail-fast", "--release", "-r", "--offline", "--locked", "--frozen", "-q"),
        *("--quiet", "-v", "-vv", "--verbose", "--no-run"),
    )
)
_OPTIONS: dict[str, Validator] = {
    "-p": _PACKAGE,
    "--package": _PACKAGE,
    "--exclude": _PACKAGE,
    "--bin": _NAME,
    "--test": _NAME,
    "--example": _NAME,
    "-F": _FEATURES,
    "--features": _FEATURES,
    "--color": _WHEN,
}
_REFUSED = (
    because(LOADS, "--config*", "-Z*", "--manifest-path", "--tool-config-file", "--lockfile-path")
    | because(MOVES, "-C", "--target-dir")
    | because(WRITES, "--out-dir", "--artifact-dir", "--timings", "--archive-file", "--logfile")
    | because(RUNS, "--target", "--bench", "--benches")
    | because(CHANGES, "--message-format", "--format", "--list")
)
_LIBTEST = Schema(
    switches=frozenset(
        (
            *("--nocapture", "--no-capture", "--exact", "--ignored", "--include-ignored", "--show-output"),
            *("-q", "--quiet"),
        )
    ),
    options={"--test-threads": _THREADS, "--skip": _TEST, "--color": _WHEN},
    positional=_TEST,
    refused=_REFUSED,
)
_TEST_SCHEMA = Schema(
    switches=_SWITCHES | {"--doc"},
    options={**_OPTIONS, "-j": number(1, 32), "--jobs": number(1, 32), "--profile": _NAME},
    glued="pFj",
    positional=_TEST,
    dashes="inner",
    inner=_LIBTEST,
    refused=_REFUSED,
)
_OUTPUT = one_of("immediate", "immediate-final", "final", "never")
_STATUS = one_of("none", "fail", "retry", "slow", "leak", "pass", "skip", "all")
_NEXTEST_SCHEMA = Schema(
    switches=_SWITCHES | {"--fail-fast", "--no-capture", "--nocapture", "--hide-progress-bar"},
    options={
        **_OPTIONS,
        "-j": _THREADS,
        "--test-threads": _THREADS,
        "-E": expression,
        "--filterset": expression,
        "--filter-expr": expression,
        "-P": _NAME,
        "--profile": _NAME,
        "--cargo-profile": _NAME,
        "--retries": number(0, 10),
        "--run-ignored": one_of("default", "only", "ignored-only", "all"),
        "--max-fail": number(1, 10000),
        "--no-tests": one_of("pass", "warn", "fail"),
        "--failure-output": _OUTPUT,
        "--success-output": _OUTPUT,
        "--status-level": _STATUS,
        "--final-status-level": _STATUS,
    },
    glued="pFjEP",
    positional=_TEST,
    dashes="inner",
    inner=_LIBTEST,
    refused=_REFUSED,
)

ROWS = (
    Row(("cargo", "test"), "cargo", _TEST_SCHEMA),
    Row(("cargo", "t"), "cargo", _TEST_SCHEMA),
    Row(("cargo", "nextest", "run"), "nextest", _NEXTEST_SCHEMA),
    Row(("cargo", "nextest", "r"), "nextest", _NEXTEST_SCHEMA),
)
