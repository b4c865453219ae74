"""The table of test runners: one row and one file each. Where several would do, the order here decides."""

from __future__ import annotations

from regreen.testing.runners import pytest
from regreen.testing.runners.row import Row

__all__ = ["BY_NAME", "NAMES", "ROWS", "Row"]

ROWS: tuple[Row, ...] = (pytest.ROW,)

BY_NAME: dict[str, Row] = {row.name: row for row in ROWS}
NAMES: tuple[str, ...] = tuple(BY_NAME)
