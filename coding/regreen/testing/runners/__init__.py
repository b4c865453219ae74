"""The table of test runners: one row and one file each. Where several would do, the order here decides."""

from __future__ import annotations

from regreen.testing.runners import (
    cargo,
    custom,
    dotnet,
    go,
    gradle,
    jest,
    make,
    maven,
    mocha,
    node,
    nox,
    npm,
    phpunit,
    pytest,
    rspec,
    tox,
    unittest,
    vitest,
)
from regreen.testing.runners.row import Row

__all__ = ["BY_NAME", "NAMES", "ROWS", "Row"]

ROWS: tuple[Row, ...] = (
    pytest.ROW,
    unittest.ROW,
    vitest.ROW,
    jest.ROW,
    mocha.ROW,
    node.ROW,
    go.ROW,
    cargo.ROW,
    maven.ROW,
    gradle.ROW,
    dotnet.ROW,
    rspec.ROW,
    phpunit.ROW,
    make.ROW,
    tox.ROW,
    nox.ROW,
    npm.ROW,
    npm.PNPM,
    npm.YARN,
    custom.ROW,
    cargo.NEXTEST_ROW,
)

BY_NAME: dict[str, Row] = {row.name: row for row in ROWS}
NAMES: tuple[str, ...] = tuple(BY_NAME)
