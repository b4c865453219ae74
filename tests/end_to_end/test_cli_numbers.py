"""Numbers that are typed: what is too large, or none, is refused with what is wanted."""

from __future__ import annotations

import pytest

from regreen.cli.parser import parse
from regreen.errors import UsageError

HUGE = "99999999999999999999"


@pytest.mark.parametrize("value", [HUGE, "9" * 5_000, "0", "-1", "inf", "nan", "x"])
@pytest.mark.parametrize(
    "typed",
    [
        "runs list --limit",
        "fix --max-attempts",
        "fix --budget-s",
        "fix --budget-cpu-s",
        "fix --budget-tokens",
        "fix --budget-usd",
        "test --timeout-s",
        "skeleton --depth",
        "skeleton --max-tokens",
    ],
)
def test_number_that_cannot_be_is_refused_with_what_is_wanted(typed: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse([*typed.split(), value])
    assert "number above 0, at most" in caught.value.message
    assert len(caught.value.message) < 300
