"""What the default run of the tests leaves to the whole one: `make test-all`, which sets REGREEN_ALL_CASES.

The default run has a test of every behaviour. What only repeats one over more rows, levels or runners is sampled.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")
Test = TypeVar("Test", bound=Callable[..., object])

ALL = bool(os.environ.get("REGREEN_ALL_CASES"))


def sample(rows: Sequence[T], every: int, offset: int = 0) -> list[T]:
    """Every so-many-th row, from `offset` on; all of them in the whole run."""
    return list(rows) if ALL else list(rows[offset::every])


def thorough(test: Test) -> Test:
    """A test of the whole run alone, because the default run has another one of the same behaviour."""
    return pytest.mark.thorough(test)
