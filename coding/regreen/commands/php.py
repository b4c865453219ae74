"""The rows of PHPUnit."""

from __future__ import annotations

from regreen.commands.grammar import Row, Schema
from regreen.commands.refusals import CHANGES, LOADS, RUNS, WRITES, because
from regreen.commands.validators import Validator, expression, number, one_of, pattern, relative_path

_NAMES = pattern(r"[\w][\w,\- ]{0,99}", "names of groups or suites")
_OPTIONS: dict[str, Validator] = {
    "--filter": expression,
    "--exclude-filter": expression,
    "--group": _NAMES,
    "--exclude-group": _NAMES,
    "--testsuite": _NAMES,
    "--exclude-testsuite": _NAMES,
    "--order-by": one_of("default", "defects", "depends", "duration", "no-depends", "random", "reverse", "size"),
    "--random-order-seed": number(0, 999_999_999),
}
_SCHEMA = Schema(
    switches=frozenset(
        (
            *("--stop-on-failure", "--stop-on-error", "--stop-on-defect", "--stop-on-warning", "--stop-on-skipped"),
            *("--testdox", "--no-coverage", "--no-progress", "--do-not-cache-result", "--debug", "--verbose", "-v"),
            *("--display-deprecations", "--display-warnings", "--display-notices", "--display-errors"),
            *("--display-skipped", "--display-incomplete", "--display-all-issues", "--fail-on-warning"),
            *("--fail-on-risky", "--fail-on-deprecation", "--fail-on-notice", "--fail-on-empty-test-suite"),
            *("--list-tests", "--no-logging", "--colors"),
        )
    ),
    options=_OPTIONS,
    attached={"--colors": one_of("never", "auto", "always")},
    positional=relative_path,
    refused=because(LOADS, "--bootstrap", "-c", "--configuration", "--no-configuration", "--prepend", "--extension*",
                    "--include-path", "-d", "--loader", "--printer", "--test-suffix", "--no-extensions", "--all")
    | because(WRITES, "--log-*", "--coverage-*", "--cache-*", "--generate-*", "--migrate-configuration",
              "--testdox-*", "--list-tests-xml", "--path-coverage", "--warm-coverage-cache", "--dump-xdebug-filter")
    | because(RUNS, "--process-isolation", "--atleast-version")
    | because(CHANGES, "--repeat", "--static-backup", "--globals-backup", "--teamcity"),
)  # fmt: skip

ROWS = tuple(
    Row(words, "phpunit", _SCHEMA)
    for words in (("phpunit",), ("vendor/bin/phpunit",), ("./vendor/bin/phpunit",), ("php", "vendor/bin/phpunit"))
)
