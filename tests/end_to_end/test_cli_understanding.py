"""`map`, `symbol` and `search` as they are typed, on a real repository."""

import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from support.cli import Shell
from support.gitrepos import make_repo
from support.indexing import bulky_project
from support.mcp_clients import until

CART = '''from shop.money import Money


class Cart:
    """What a customer is about to buy."""

    def add(self, price: Money) -> None:
        self.total = self.total.plus(price)
'''
MONEY = f"""class Money:
    def plus(self, other: "Money") -> "Money":
        return Money()


TOKEN = "ghp_{"a" * 36}"
"""
JAVASCRIPT = "export function render(cart) {\n  return cart.total;\n}\n"


@pytest.fixture
def shell(tmp_path):
    files = {
        "shop/cart.py": CART,
        "shop/money.py": MONEY,
        "web/page.js": JAVASCRIPT,
        "tests/test_cart.py": "import shop\n",
    }
    return Shell(tmp_path, make_repo(tmp_path / "shop", files))


def test_map_shows_definitions_of_all_languages_within_the_budget(shell):
    done = shell.typed("map", "--max-tokens", "300", "--json")
    assert done.code == 0
    data = done.document
    assert data["tokens"] <= 300 and data["indexed"] == 1
    assert "class Cart" in data["text"] and "export function render(cart)" in data["text"]
    assert {"shop/cart.py", "web/page.js"} <= set(data["files"])


def test_map_for_people_is_the_text(shell):
    done = shell.typed("map")
    assert done.code == 0
    assert "class Money" in done.out and "plus(self, other" in done.out


def test_map_begins_with_what_is_in_focus(shell):
    assert Shell(shell.base, shell.cwd / "web").typed("map", "page.js").out.splitlines()[0].startswith("web/page.js")
    assert shell.typed("map", "Cart").out.splitlines()[0].startswith("shop/cart.py")
    assert "no file, no definition" in shell.typed("map", "Nothing").out


def test_map_leaves_the_repository_as_it_is(shell):
    shell.typed("map")
    status = subprocess.run(("git", "status", "--porcelain"), cwd=shell.cwd, capture_output=True, text=True, check=True)
    assert status.stdout == ""


def test_symbol_tells_where_a_name_is_defined_and_used(shell):
    data = shell.typed("symbol", "Money.plus", "--references", "--json").document
    assert [(d["path"], d["line"], d["signature"]) for d in data["definitions"]] == [
        ("shop/money.py", 2, 'def plus(self, other: "Money") -> "Money"')
    ]
    assert ("shop/cart.py", 8, "call", "Cart.add") in [
        (r["path"], r["line"], r["kind"], r["symbol"]) for r in data["references"]
    ]


def test_symbol_that_is_not_there_gets_names_like_it(shell):
    done = shell.typed("symbol", "Mony")
    assert done.code == 0
    assert "did you mean: Money" in done.out


def test_search_prints_places_as_grep_does_and_masks_secrets(shell):
    done = shell.typed("search", "total", "**/*.py", "--context", "1")
    assert done.code == 0
    assert "shop/cart.py:8:14:         self.total = self.total.plus(price)" in done.out
    assert "web/page.js" not in done.out
    assert "ghp_" not in shell.typed("search", "TOKEN").out


def test_search_takes_regular_expressions_and_explains_bad_ones(shell):
    assert "money.py:2" in shell.typed("search", "--regex", r"def pl\w+\(").out
    bad = shell.typed("search", "--regex", "def plus(", "--json")
    assert (bad.code, bad.document["error"]["kind"]) == (2, "invalid_arguments")
    assert "no match" in shell.typed("search", "nowhere at all").out


def test_a_changed_file_is_seen_at_once(shell):
    shell.typed("map")
    (shell.cwd / "shop" / "cart.py").write_text(CART.replace("class Cart", "class Basket"))
    assert "class Basket" in shell.typed("map").out
    assert shell.typed("symbol", "Cart", "--json").document["definitions"] == []


def test_an_interrupt_ends_a_map_that_would_take_long(shell):
    bulky_project(shell.cwd, 400, 1500)
    with shell.started("map") as process:
        until(lambda: bool(children_of(process.pid, "worker.py")), "a parser at work")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert children_of(process.pid, "worker.py") == []


def children_of(pid: int, script: str) -> list[int]:
    """The processes that a process has started with this script: it tells them its number."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # gone meanwhile
            words = entry.read_bytes().decode("utf-8", "replace").split("\0")
            if str(pid) in words and any(word.endswith(f"/{script}") for word in words):
                found.append(int(entry.parent.name))
    return found
