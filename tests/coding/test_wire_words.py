"""Words of ours around numbers and names."""

import pytest

from regreen.wire import counted, outcomes_counted


@pytest.mark.parametrize(
    "number, words, said",
    [
        (0, ("test",), "0 tests"),
        (1, ("test",), "1 test"),
        (2, ("test",), "2 tests"),
        (1, ("try", "tries"), "1 try"),
        (2, ("try", "tries"), "2 tries"),
        (1, ("patch passes", "patches pass"), "1 patch passes"),
    ],
)
def test_a_noun_agrees_with_its_number(number, words, said):
    assert counted(number, *words) == said


def test_what_tests_came_to_is_told_in_the_order_asked_for_and_one_error_is_no_errors():
    counts = {"passed": 3, "failed": 1, "errors": 1, "skipped": 0, "total": 5}
    assert outcomes_counted(counts) == "1 failed, 1 error, 3 passed"
    assert outcomes_counted(counts, ("passed", "errors")) == "3 passed, 1 error"
    assert outcomes_counted({**counts, "errors": 2}, ("errors",)) == "2 errors"
    assert outcomes_counted({"passed": 0}) == ""
