"""Short texts are looked at in another way than long ones, with the same result."""

from hypothesis import given
from hypothesis import strategies as st

from regreen.redact import Redactor

PIECES = [
    "sk-", "ghp_", "AKIA", "eyJ", "a" * 25, "A1" * 10, ".", " ", "…", "\n", "npm", "_", "Bearer ", "Authorization: ",
    "-", "x://u:pass@h",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_one_look_for_all_marks_masks_what_a_look_for_each_does(text: str) -> None:
    blanks = " " * 500  # change nothing but the length
    assert Redactor()(f"{text} ") + blanks == Redactor()(f"{text} {blanks}")
