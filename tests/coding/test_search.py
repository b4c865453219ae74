from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.cases import sample
from support.processes import carrying
from support.searching import INTERPRETER, apply, brief, listed, make_project, propose, search, settings_for

from regreen.model import Proposal
from regreen.proposers.search import SearchProgress, localise
from regreen.repo import FileList
from regreen.sandbox import Cancel
from regreen.workspace import Workspace

BUGS = Path(__file__).parent.parent / "corpora" / "bugs"

PRICES = '''\
"""Prices."""


def total(prices, discount=0):
    # sum in cents
    result = sum(prices)
    if result > 100:  # the boundary counts
        result -= discount
    return result
'''
PRICES_TEST = """\
from prices import total


def test_below():
    assert total([10, 20], 5) == 30


def test_boundary():
    assert total([50, 50], 5) == 95


def test_above():
    assert total([100, 50], 5) == 145
"""


def green(root: Path) -> bool:
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(argv, cwd=root, capture_output=True, timeout=60, check=False).returncode == 0


def state(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        p.relative_to(root).as_posix(): (p.read_bytes(), p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()
    }


def test_wrong_operator_is_repaired_in_place_and_nothing_else_is_touched(tmp_path: Path) -> None:
    files = {  # the copy is imported although the project is found through a path entry
        "src/prices.py": PRICES,
        "tests/test_prices.py": PRICES_TEST,
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    }
    root = make_project(tmp_path / "repo", files)
    before = state(root)
    proposer = search(root, tmp_path)
    proposal = propose(proposer, brief("tests/test_prices.py::test_boundary"))
    assert state(root) == before
    assert proposal is not None
    apply(root, proposal)
    assert (root / "src" / "prices.py").read_text("utf-8") == PRICES.replace("> 100", ">= 100")
    assert "comparison operator at src/prices.py:7" in proposal.note
    assert "plausible, not proven correct" in proposal.note.lower()
    assert any(s.line == 7 for s in proposer.suspicious)
    assert 0 < proposer.cpu_s < 6


def test_patch_that_is_not_accepted_is_followed_by_another_one(tmp_path: Path) -> None:
    files = {
        "one.py": "def one(x):\n    return x - 1\n",
        "test_one.py": "from one import one\n\n\ndef test_one():\n    assert one(0) == 1\n",
    }
    root = make_project(tmp_path / "repo", files)
    proposer = search(root, tmp_path)
    first = propose(proposer, brief("test_one.py::test_one"))
    second = propose(proposer, brief("test_one.py::test_one", refused=1))
    assert first is not None and second is not None
    assert first.replacements != second.replacements
    assert "competing" in first.note


def test_two_faults_are_repaired_one_after_the_other(tmp_path: Path) -> None:
    code = PRICES + "\n\ndef last(items):\n    return items[0]\n"
    tests = PRICES_TEST.replace("import total", "import last, total") + (
        "\n\ndef test_last():\n    assert last([1, 2, 3]) == 3\n\n\ndef test_last_of_one():\n"
        "    assert last([4]) == 4\n"
    )
    root = make_project(tmp_path / "repo", {"prices.py": code, "test_prices.py": tests})
    proposer = search(root, tmp_path, budget_s=5)
    first = propose(proposer, brief("test_prices.py::test_boundary", "test_prices.py::test_last"))
    assert first is not None and "A step, not the whole repair" in first.note
    apply(root, first)
    left = "test_prices.py::test_last" if ">= 100" in first.replacements[0].replace else "test_prices.py::test_boundary"
    second = propose(proposer, brief(left))
    assert second is not None
    apply(root, second)
    assert green(root)


def test_missing_import_that_stops_collection_is_repaired(tmp_path: Path) -> None:
    files = {
        "words.py": 'PATTERN = re.compile(r"\\w+")\n\n\ndef words(text):\n    return PATTERN.findall(text)\n',
        "test_words.py": "from words import words\n\n\ndef test_words():\n    assert words('a b') == ['a', 'b']\n",
    }
    root = make_project(tmp_path / "repo", files)
    proposal = propose(search(root, tmp_path), brief("test_words.py"))
    assert proposal is not None
    apply(root, proposal)
    assert (root / "words.py").read_text("utf-8").startswith("import re\n")
    assert green(root)


def test_endless_loop_is_repaired(tmp_path: Path) -> None:
    files = {
        "count.py": "def down(n):\n    out = []\n    while n > 0:\n        out.append(n)\n        n += 1\n"
        "    return out\n",
        "test_count.py": "from count import down\n\n\ndef test_none():\n    assert down(0) == []\n\n\n"
        "def test_down():\n    assert down(3) == [3, 2, 1]\n",
    }
    root = make_project(tmp_path / "repo", files)
    proposal = propose(search(root, tmp_path, budget_s=15), brief("test_count.py::test_down"))
    assert proposal is not None
    apply(root, proposal)
    assert green(root)


def test_module_constant_is_repaired(tmp_path: Path) -> None:
    files = {
        "units.py": "FACTORS = {'km': 1000, 'mile': 1906, 'm': 1}\n\n\ndef metres(n, unit):\n"
        "    return n * FACTORS[unit]\n",
        "test_units.py": "from units import metres\n\n\ndef test_km():\n    assert metres(2, 'km') == 2000\n\n\n"
        "def test_mile():\n    assert metres(2, 'mile') == 3218\n",
    }
    root = make_project(tmp_path / "repo", files)
    proposal = propose(search(root, tmp_path), brief("test_units.py::test_mile"))
    assert proposal is not None
    assert "1609" in proposal.replacements[0].replace


def test_nothing_is_proposed_when_only_the_test_is_wrong(tmp_path: Path) -> None:
    files = {
        "name.py": "def name():\n    return 'a'\n",
        "test_name.py": "from name import name\n\n\ndef test_name():\n    assert name() == 'a'\n\n\n"
        "def test_contradiction():\n    assert name() == 'b'\n",
    }
    root = make_project(tmp_path / "repo", files)
    before = state(root)
    assert propose(search(root, tmp_path, budget_s=2), brief("test_name.py::test_contradiction")) is None
    assert state(root) == before


def test_guard_in_front_of_a_deletion_is_never_mutated(tmp_path: Path) -> None:
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "gold.txt").write_text("gold", "utf-8")
    code = f"""\
import shutil

TREASURE = {str(treasure)!r}


def wipe(path):
    shutil.rmtree(path)


def clean(path, force):
    if not force:
        return "kept"
    wipe(path)
    return "gone"


def report(force):
    state = clean(TREASURE, force)
    return "was " + state


def label(force):
    return "force" if force else "soft"
"""
    tests = """\
from cleaner import label, report


def test_report():
    assert report(False) == "is kept"


def test_label():
    assert label(False) == "gentle"
"""
    root = make_project(tmp_path / "repo", {"cleaner.py": code, "test_cleaner.py": tests})
    propose(search(root, tmp_path, budget_s=3), brief("test_cleaner.py::test_report", "test_cleaner.py::test_label"))
    assert (treasure / "gold.txt").read_text("utf-8") == "gold"


def test_cancelled_search_ends_at_once_and_leaves_no_process(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    mark = f"search of {tmp_path}"
    tests = f"""\
import os, subprocess, sys
from pathlib import Path
from prices import total


def test_boundary():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)", {mark!r}])
    with Path({str(seen)!r}, "runs").open("a") as f:
        f.write("x")
    assert total([50, 50], 5) == 95


def test_impossible():
    assert total([1], 0) == "never"
"""
    root = make_project(tmp_path / "repo", {"prices.py": PRICES, "test_prices.py": tests})
    cancel = Cancel()

    def stop(progress: SearchProgress) -> None:
        if progress.tried > 20:
            cancel.set()

    before = threading.active_count()
    proposer = search(root, tmp_path, budget_s=60, cancel=cancel, on_progress=stop, writable=(seen,))
    assert propose(proposer, brief("test_prices.py::test_boundary", "test_prices.py::test_impossible")) is None
    assert cancel.is_set()
    assert proposer.cpu_s < 30
    assert threading.active_count() == before
    assert len((seen / "runs").read_text("utf-8")) > 4
    assert carrying(mark) == []


def test_localise_names_the_faulty_line_first(tmp_path: Path) -> None:
    root = make_project(tmp_path / "repo", {"prices.py": PRICES.replace("-=", "+="), "test_prices.py": PRICES_TEST})
    with Workspace(root) as workspace:
        lines = localise(
            workspace, FileList(listed(root)), INTERPRETER, settings_for(tmp_path),
            paths=("prices.py",), failing=("test_prices.py::test_above",), cancel=Cancel(),
        )  # fmt: skip
    assert (lines[0].path, lines[0].line, lines[0].score) == ("prices.py", 8, 1.0)


KNOWN = (
    "bus-match", "deep-copy", "inv-low", "ini-comment", "jobs-await", "mat-transpose", "org-typo", "rooms-overlap",
    "slug-plus", "todo-exit",
)  # fmt: skip


@pytest.mark.parametrize("case", sample(KNOWN, 4))
def test_known_bug_is_repaired_within_a_small_budget(tmp_path: Path, case: str) -> None:
    root = tmp_path / "repo"
    shutil.copytree(BUGS / case / "repo", root)
    failing = json.loads((BUGS / case / "case.json").read_text("utf-8"))["failing"]
    proposal = propose(search(root, tmp_path, budget_s=8), brief(*failing))
    assert isinstance(proposal, Proposal)
    apply(root, proposal)
    assert green(root)
