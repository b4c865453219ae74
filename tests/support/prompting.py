"""A brief with everything in it, and sources in memory: what prompts of the model proposer are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from regreen.fix.brief import EDIT_RULE
from regreen.model import AttemptState, Brief, Failure, SuspiciousLine, Tried

TASK = (
    "Make 1 failing test pass without breaking a test that passes. Change the code under test, not the tests; fix the "
    f"cause and only the cause. {EDIT_RULE}If no right code can pass these tests, say needs_test_change and why."
)
CALC = "RATE = 1\n\n\ndef total(prices, rate):\n    s = sum(prices)\n    return s - s * rate\n"
TESTS = "from shop.calc import total\n\n\ndef test_total():\n    assert total([10, 20], 0.5) == 45\n"
README = "Use it:\n\n````\n```\ntotal([1], 0)\n```\n````\n"

FAILURE = Failure(
    id="tests/test_calc.py::test_total",
    file="tests/test_calc.py",
    line=5,
    kind="AssertionError",
    message="assert 15.0 == 45",
    excerpt="E   assert 15.0 == 45\nE    +  where 15.0 = total([10, 20], 0.5)\ntests/test_calc.py:5 in test_total\n"
    ">    5 |     assert total([10, 20], 0.5) == 45",
    signature="AssertionError tests/test_calc.py:test_total 0123abcd",
    note="1 more test fails for the same cause",
)
WORSE = Tried(
    1,
    AttemptState.WORSE,
    "The rate is taken off.",
    "--- a/shop/calc.py\n+++ b/shop/calc.py\n@@ -6 +6 @@\n-    return s - s * rate\n+    return s * rate\n",
    "worse: 0 of 1 goal tests pass; broke 1: tests/test_calc.py::test_none",
)
REFUSED = Tried(
    2,
    AttemptState.REFUSED,
    "",
    "",
    "edit 1: no_match: `shop/calc.py`: these lines do not stand there\n  line 6: sent '    return s-s*rate', found "
    "'    return s - s * rate'",
)
BRIEF = Brief(
    task=TASK,
    failing=(FAILURE.id,),
    failures=(FAILURE,),
    suspicious=(SuspiciousLine("shop/calc.py", 6, 1.0, "    return s - s * rate"),),
    signatures=("shop/calc.py: def total(prices, rate)",),
    tried=(),
    attempts_left=6,
    failing_total=1,
)
LATER = replace(
    BRIEF,
    tried=(WORSE, REFUSED),
    attempts_left=1,
    failing_total=3,
    advice="The last tries changed nothing for the better: look at where the value comes from.",
)


@dataclass
class MemorySources:
    """Sources from a mapping; `focus` is what the map was last asked for."""

    texts: Mapping[str, str] = field(
        default_factory=lambda: {"shop/calc.py": CALC, "tests/test_calc.py": TESTS, "shop/README.md": README}
    )
    drawn: str = "shop/calc.py:\n  def total(prices, rate)"
    focus: Sequence[str] = ()
    reads: list[str] = field(default_factory=list[str])

    def map(self, focus: Sequence[str], max_tokens: int) -> str:
        self.focus = tuple(focus)
        return self.drawn

    def read(self, path: str) -> str | None:
        self.reads.append(path)
        return self.texts.get(path)
