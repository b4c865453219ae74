"""Warm runs of pytest, which tests call which function, and whether to spread a cold run over processes."""

from __future__ import annotations

from regreen.testing.warm.coverage import CoverageMap, Function, cover
from regreen.testing.warm.pytest_warm import WarmPytest
from regreen.testing.warm.refusals import own_words
from regreen.testing.warm.values import NotWarm
from regreen.testing.warm.workers import choose_workers, has_xdist

__all__ = ["CoverageMap", "Function", "NotWarm", "WarmPytest", "choose_workers", "cover", "has_xdist", "own_words"]
