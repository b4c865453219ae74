"""The order of candidates, and the order of patches that pass. Pure."""

from __future__ import annotations

from collections.abc import Mapping

MODE_COST: Mapping[str, float] = {"swap": 1.0, "exec": 1.0, "fresh": 0.35}
"""A candidate that needs a new import costs about ten times as much to try."""


def score(suspicion: float, prior: float, choices: int) -> float:
    """How promising a candidate is: `suspicion`^1.5 x `prior` / `choices`^0.6.

    `choices` counts what the template offers at that place with at least this weight: many options share one chance.
    """
    return suspicion**1.5 * prior / max(1, choices) ** 0.6


def patch_order(prior: float, removed: int, added: int, order: int) -> tuple[float, int]:
    """Sort key of plausible patches: likely template first, small change, little deletion, found early."""
    size = (removed + added) / 200
    deletion = max(0, removed - added) / 60
    return (-(prior - size - deletion), order)
