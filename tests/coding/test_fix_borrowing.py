"""A fix that needs what only regreen's own environment has."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.engines import engine_on, replacement, run_script, script
from support.fixing import LOOKS
from support.repos import BUG, FIX, red_repo

from regreen.fix.borrowing import REMARK, borrowed
from regreen.fix.tamper import TextChange
from regreen.fix.verification import GOAL_RUNS

pytestmark = pytest.mark.usefixtures("few_looks")

FILES: Mapping[str, str] = {
    "app.py": "import attrs\n", "shop/prices.py": "", "tests/test_app.py": "from requests.sessions import Session\n",
    "notes.txt": "import numpy\n",
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "named"), [
    ("", "import rich\n", ["rich"]),
    ("", "from rich.table import Table as T\n", ["rich"]),
    ("", "def f():\n    import regreen.api, json\n", ["regreen"]),
    ("", "import importlib\nx = importlib.import_module('rich.text')\n", ["rich"]),
    ("", "x = __import__('mcp')\n", ["mcp"]),
    ("", "import numpy\n", ["numpy"]),
    ("import rich.text\n", "from rich import print\n", []),
    ("", "import attrs, requests, json, shop.prices, app, new\nfrom . import rich\nfrom .rich import x\n", []),
    ("", "import shop.prices as rich\nprint('import mcp')\n", []),
])  # fmt: skip
def test_a_package_is_borrowed_that_nothing_shows_to_be_the_projects(before: str, after: str, named: list[str]) -> None:
    changes = [TextChange("shop/prices.py", before, after), TextChange("new.py", None, "x = 1\n")]
    told = borrowed(changes, [*FILES, "new.py"], lambda path: FILES.get(path, ""))
    assert [t.split("`")[1] for t in told] == named
    assert all("comes from regreen's own environment: the project has none" in t for t in told)


def test_a_fix_that_rests_on_regreens_own_environment_says_so(tmp_path: Path) -> None:
    change = [replacement("calc.py", BUG, f"    import rich\n{FIX}")]
    root = red_repo(tmp_path / "none")
    with engine_on(root) as engine:
        evidence = run_script(engine, script(tmp_path, [change]))["outcome"]["evidence"]
    assert evidence["remarks"] == [REMARK]
    assert [w for w in evidence["warnings"] if w.startswith("`rich` comes from regreen's own environment")]


def test_an_environment_that_the_user_has_named_is_not_remarked_on(tmp_path: Path) -> None:
    change = [replacement("calc.py", BUG, f"    import rich\n{FIX}")]
    root = red_repo(tmp_path / "named")
    with engine_on(root, python=sys.executable) as engine:
        evidence = run_script(engine, script(tmp_path, [change]))["outcome"]["evidence"]
    assert evidence["goal_runs"] == "3/3"
    assert evidence["test_runs"] == LOOKS + GOAL_RUNS  # what leaves nothing new has no further run
    assert (evidence["remarks"], evidence["warnings"]) == ([], [])
