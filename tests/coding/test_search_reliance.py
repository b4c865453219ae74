"""What the offline search takes the word of: tests with two faults, tests that fail by themselves; and why it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.searching import brief, make_project, propose, search

SHOP = "def half(n):\n    return n * 2\n\n\ndef names(text):\n    return sorted(text.split(';'))\n"
ADD = "def add(a, b):\n    return a - b\n"
ADD_TEST = "from add import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
FLAKY_TEST = """

def test_only_the_first_time():
    count = Path(__file__).with_name("count.txt")
    n = int(count.read_text()) if count.exists() else 0
    count.write_text(str(n + 1))
    assert n == 0
"""


def test_a_step_is_found_although_the_simplest_test_fails_for_two_reasons(tmp_path: Path) -> None:
    tests = (
        "from shop import names\n\n\ndef test_both():\n    assert names('a,b') == ['b', 'a']\n\n\n"
        "def test_split():\n    assert names('a,b') == ['a', 'b']\n"
    )
    root = make_project(tmp_path / "repo", {"shop.py": SHOP, "test_shop.py": tests})
    proposal = propose(search(root, tmp_path, budget_s=4), brief("test_shop.py::test_both", "test_shop.py::test_split"))
    assert proposal is not None
    assert "split(',')" in proposal.replacements[0].replace.replace('"', "'")
    assert "1 of 2 failing ones repaired" in proposal.note


@pytest.mark.parametrize("known", [(), ("test_add.py::test_only_the_first_time",)])
def test_a_test_that_fails_without_a_change_too_keeps_no_candidate_from_being_proposed(
    tmp_path: Path, known: tuple[str, ...]
) -> None:
    tests = f"from pathlib import Path\n\n{ADD_TEST}{FLAKY_TEST}"
    root = make_project(tmp_path / "repo", {"add.py": ADD, "test_add.py": tests})
    proposal = propose(search(root, tmp_path, flaky=known), brief("test_add.py::test_add"))
    assert proposal is not None
    assert proposal.replacements[0].replace == "    return a + b\n"


@pytest.mark.parametrize(
    "files, failing, says",
    [
        ({"add.py": "def add(:\n", "test_add.py": ADD_TEST}, "test_add.py", "`add.py` has a syntax error"),
        ({"add.txt": "", "test_add.py": "def test_add():\n    assert 0\n"}, "test_add.py::test_add", "no Python file"),
        ({"add.py": "A = 1\n", "test_add.py": "def test_add():\n    assert 0\n"}, "test_add.py::test_add", "none made"),
    ],
)  # fmt: skip
def test_a_search_that_finds_nothing_says_why(tmp_path: Path, files: dict[str, str], failing: str, says: str) -> None:
    proposer = search(make_project(tmp_path / "repo", files), tmp_path, budget_s=3)
    assert propose(proposer, brief(failing)) is None
    assert says in proposer.why
