"""The repository as a session knows it: map, names, text and signatures, right at once, and without leaving a trace."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cases import ALL
from support.engines import engine_on, ok, refused
from support.gitrepos import differences, git, make_repo, whole_state, write
from support.indexing import bulky_project

import regreen
from regreen.repo import read_symbols
from regreen.session import Engine, Session
from regreen.settings import default_environ, load_settings

FIXTURES = Path(__file__).parent.parent / "corpora" / "signatures"
TOKEN = "ghp_" + "a1B2" * 9
SHOP: dict[str, str | bytes] = {
    "shop/cart.py": "from shop.tax import rate_of\n\n\nclass Cart:\n    def total(self, items):\n"
                    "        return sum(item * rate_of(item) for item in items)\n",
    "shop/tax.py": "RATES = {}\n\n\ndef rate_of(item):\n    return RATES.get(item, 1)\n",
    "shop/stock.py": "class Stock:\n    def reserve_items(self, cart): ...\n",
    "web/pages.py": "from shop.cart import Cart\n\n\ndef render_page():\n    return Cart().total([])\n",
    "web/static.js": "export function openMenu(event) { return event; }\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_total_of_nothing():\n"
                          "    assert Cart().total([]) == 1\n",
    "tests/test_tax.py": "def test_rates():\n    assert True\n",
    "README.md": "# Shop\n\n## Use of the shop\n",
    ".gitignore": "build/\n.env\n",
}  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "shop", dict(SHOP))


@contextmanager
def opened(root: Path) -> Iterator[Session]:
    with regreen.open(root, sandbox="off") as session:
        yield session


def defined(session: Session, name: str) -> int:
    return session.find_symbol(name).definitions_total


# --- the budget --------------------------------------------------------------------------------------

words = st.text("abcdefgxyz_é", min_size=1, max_size=24).map(lambda text: f"n{text}")
functions = st.builds("def {}({}):\n    return {}()\n\n\n".format, words, words, words)
classes = st.builds("class {}:\n    def {}(self): ...\n\n    size: int = 3\n\n\n".format, words, words)
modules = st.lists(st.one_of(functions, classes), max_size=30).map("".join)
trees = st.dictionaries(st.builds("{}/{}.py".format, words, words), modules, min_size=1, max_size=8)


@given(trees, st.lists(st.tuples(st.integers(100, 3000), words), min_size=3, max_size=6))
@settings(max_examples=20 if ALL else 10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_map_is_within_its_budget_and_fills_it(files: dict[str, str], asked: list[tuple[int, str]]) -> None:
    with TemporaryDirectory() as folder:
        for path, text in files.items():
            write(Path(folder, path), text)
        with opened(Path(folder)) as session:
            whole = session.repo_map(max_tokens=20_000)
            for most, word in asked:
                found = session.repo_map([word] if most % 2 else [], max_tokens=most)
                assert found.tokens == math.ceil(len(found.text.encode()) / 3.5) <= most
                if whole.tokens >= most * 1.5:
                    assert found.tokens >= most * 0.95
                if whole.tokens <= most * 0.9:
                    assert len(found.ranked_symbols) == whole.total_symbols


# --- the same for everybody --------------------------------------------------------------------------

_MAPS = """
import hashlib, sys
import regreen
with regreen.open(sys.argv[1]) as session:
    maps = [session.repo_map(focus, max_tokens=most).text
            for focus in ([], ["shop"], ["Cart.total", "web/*.py"]) for most in (100, 150, 3000)]
print(hashlib.sha256("\\0".join(maps).encode()).hexdigest(), len(set(maps)))
"""


def test_the_map_is_the_same_to_the_byte_in_every_process_with_a_cold_and_a_warm_index(root: Path) -> None:
    write(root / "shop" / "tax.py", SHOP["shop/tax.py"] + "\n\ndef changed_here(): ...\n")  # type: ignore[operator]
    for number in range(12):
        write(root / "more" / f"part_{number}.py", f"from shop.cart import Cart\nclass Part{number}(Cart): ...\n")
    found: set[str] = set()
    for seed, cache in (("0", "one"), ("1", "one"), ("random", "two")):
        environ = {**os.environ, "PYTHONHASHSEED": seed, "REGREEN_CACHE_DIR": str(root.parent / cache)}
        run = subprocess.run([sys.executable, "-c", _MAPS, str(root)], env=environ, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        found.add(run.stdout)
    assert len(found) == 1


@pytest.mark.parametrize("path", sorted(p.name for p in FIXTURES.iterdir() if p.suffix not in (".json", ".pyc")
                                        and p.is_file()))  # fmt: skip
def test_signatures_from_the_index_are_those_of_the_file(path: str, fixtures: Session) -> None:
    direct = read_symbols(fixtures.workspace, path)
    page = fixtures.signatures([f"{path[:-1]}?"], max_tokens=20_000, docstrings=True)
    files = list(page.files)
    while page.cursor:
        page = fixtures.signatures([f"{path[:-1]}?"], max_tokens=20_000, docstrings=True, cursor=page.cursor)
        files += page.files
    assert [symbol for file in files for symbol in file.symbols] == list(direct.symbols)  # type: ignore[union-attr]
    assert [(file.path, file.language) for file in files[:1]] == [(path, direct.language)]  # type: ignore[union-attr]
    assert files[0].errors == direct.errors  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def fixtures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    root = tmp_path_factory.mktemp("fixtures")
    for file in FIXTURES.iterdir():
        if file.is_file() and file.suffix != ".json":
            write(root / file.name, file.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        for name in ("REGREEN_STATE_DIR", "REGREEN_CACHE_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp("state")))
        with opened(root) as session:
            assert session.repo_map().indexed == 1
            yield session


# --- no trace ----------------------------------------------------------------------------------------

READING: list[tuple[str, dict[str, Any]]] = [
    ("repo_skeleton", {}),
    ("extract_signatures", {"paths": ["**/*.py"]}),
    ("repo_map", {"focus": ["shop"]}),
    ("find_symbol", {"name": "Cart", "references": True}),
    ("search_text", {"pattern": r"\bCart\b", "regex": True}),
    ("read_file", {"path": "shop/cart.py"}),
]


def test_nothing_is_left_in_the_work_tree(root: Path) -> None:
    write(root / "shop" / "tax.py", "def rate_of(item): ...\n")
    write(root / "new.py", "NEW = 1\n")
    write(root / "build" / "out.py", "BUILT = 1\n")
    before, status = whole_state(root), git(root, "status", "--porcelain", "--ignored")
    with engine_on(root) as engine:
        for tool, arguments in READING:
            ok(engine, tool, **arguments)
        assert differences(before, whole_state(root)) == []
    assert git(root, "status", "--porcelain", "--ignored") == status
    assert differences(before, whole_state(root)) == []


def test_secrets_are_masked_and_secret_files_are_never_found(root: Path) -> None:
    write(root / "shop" / "keys.py", f'ACCESS = "{TOKEN}"\n\n\ndef connect_with(key="{TOKEN}"): ...\n')
    write(root / ".env", f"SECRET_PLACE={TOKEN}\n")
    write(root / "deploy" / ".env", "SECRET_PLACE=kept\n")
    with engine_on(root) as engine:
        texts = [
            engine.call("search_text", {"pattern": "ACCESS"}),
            engine.call("find_symbol", {"name": "connect_with", "references": True}),
            engine.call("find_symbol", {"name": "ACCESS", "references": True}),
            engine.call("repo_map", {"focus": ["shop/keys.py"]}),
            engine.call("extract_signatures", {"paths": ["shop/keys.py"]}),
            engine.call("read_file", {"path": "shop/keys.py"}),
        ]
        for result in texts:
            assert not result.is_error, result.text
            assert "[redacted:" in result.text + str(result.data)
            assert TOKEN not in result.text + str(result.data)
        for pattern in ("SECRET_PLACE", TOKEN):  # no answer tells what a secret is
            assert ok(engine, "search_text", pattern=pattern)["matches"] == []
        assert ok(engine, "find_symbol", name="SECRET_PLACE", references=True)["references_total"] == 0
        assert refused(engine, "read_file", path="deploy/.env")["kind"] == "path_protected"


# --- what comes first --------------------------------------------------------------------------------


def many(root: Path) -> None:
    """A tree of 40 modules in a ring: each uses the next, and none matters more than another."""
    for n in range(40):
        after = (n + 1) % 40
        text = f"from ring.m{after} import Link{after}\n\n\nclass Link{n}:\n    held = Link{after}\n"
        write(root / "ring" / f"m{n}.py", text)
    for n in (9, 31):
        test = f"def test_link_{n}():\n    if not True:\n        from ring.m{n} import Link{n}\n    assert False\n"
        write(root / "tests" / f"test_ring_{n}.py", test)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "ring")


def test_what_is_being_changed_comes_up_and_goes_down_once_it_is_committed(root: Path) -> None:
    many(root)
    changed = root / "ring" / "m17.py"
    with opened(root) as session:
        plain = session.repo_map(max_tokens=150)
        assert "ring/m17.py" not in plain.files
        write(changed, changed.read_text() + "# changed\n")
        assert "ring/m17.py" in session.repo_map(max_tokens=150).files
        git(root, "commit", "-q", "-am", "changed")
        assert session.repo_map(max_tokens=150).files == plain.files


def test_files_of_tests_that_failed_last_come_up_with_what_they_use(root: Path) -> None:
    many(root)
    with engine_on(root) as engine:

        def places() -> list[str]:
            return [symbol["path"] for symbol in ok(engine, "repo_map")["ranked_symbols"]]

        before = places()
        ok(engine, "run_tests", selection=["tests/test_ring_31.py"])
        assert places()[0] == "ring/m31.py"
        assert places().index("tests/test_ring_31.py") < places().index("tests/test_ring_9.py")
        ok(engine, "run_tests", selection=["tests/test_ring_9.py"])
        both = places()
        assert set(both[:2]) == {"ring/m31.py", "ring/m9.py"}
        assert both.index("tests/test_ring_9.py") < before.index("tests/test_ring_9.py")


@pytest.mark.parametrize(
    ("focus", "first"),
    [
        (["web/*.js"], "web/static.js"),
        (["web/static.js"], "web/static.js"),
        (["./web/static.js"], "web/static.js"),
        (["shop/stock.py", "Stock"], "shop/stock.py"),
        (["reserve_items"], "shop/stock.py"),
        (["Stock.reserve_items"], "shop/stock.py"),
        (["openMenu"], "web/static.js"),
        (["tests/test_tax.py"], "tests/test_tax.py"),
        (["tests/"], "tests/"),
        (["web"], "web/"),
    ],
)
def test_what_is_named_comes_first(root: Path, focus: list[str], first: str) -> None:
    with opened(root) as session:
        found = session.repo_map(focus)
        assert found.files[0].startswith(first)
        assert found.notes == ()


def test_names_that_mean_nothing_are_noted_and_change_nothing(root: Path) -> None:
    with opened(root) as session:
        plain = session.repo_map()
        found = session.repo_map(["nowhere_at_all"])
        assert found.notes == ("nowhere_at_all: no file, no definition",)
        assert found.text == plain.text
        with pytest.raises(regreen.RegreenError, match="matches no file") as caught:
            session.repo_map(["nowhere/*.py"])
        assert caught.value.kind == "not_found"


# --- as it is now ------------------------------------------------------------------------------------


def test_changes_renames_deletions_and_branches_are_seen_at_once(root: Path) -> None:
    with opened(root) as session:
        assert defined(session, "Stock") == 1
        write(root / "shop" / "stock.py", "class Shelf: ...\n")
        assert (defined(session, "Stock"), defined(session, "Shelf")) == (0, 1)
        assert "class Shelf" in session.repo_map().text
        git(root, "mv", "-f", "shop/stock.py", "shop/shelf.py")
        assert session.find_symbol("Shelf").definitions[0].path == "shop/shelf.py"
        (root / "shop" / "shelf.py").unlink()
        assert defined(session, "Shelf") == 0
        assert "Shelf" not in session.repo_map().text
        git(root, "checkout", "-q", "-f", "-b", "other", "HEAD")
        write(root / "shop" / "other.py", "class Other: ...\n")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "other")
        assert (defined(session, "Other"), defined(session, "Stock")) == (1, 1)
        git(root, "checkout", "-q", "main")
        assert defined(session, "Other") == 0
        assert "shop/other.py" not in session.repo_map().files
        git(root, "checkout", "-q", "other")
        assert session.search("class Other").matches[0].path == "shop/other.py"
        assert session.signatures(["shop"]).files[-1].path == "shop/tax.py"


def test_a_part_of_the_index_is_said_to_be_one_and_the_rest_follows(tmp_path: Path) -> None:
    bulky_project(tmp_path / "large", 120, functions=120)
    with opened(tmp_path / "large") as session:
        found = session.repo_map(wait_s=0)
        assert found.indexed < 1
        assert found.text.splitlines()[-1].startswith("index ")
        symbol = session.find_symbol("name_0_0_that_is_not", wait_s=0)
        assert symbol.indexed == 1 or any("there may be more" in note for note in symbol.notes)
        told: list[str] = []
        whole = session.repo_map(on_progress=told.append)
        assert whole.indexed == 1
        assert whole.total_files == 120
        assert not whole.text.splitlines()[-1].startswith("index ")
        assert all(line.startswith("index: ") for line in told)


# --- several at once ---------------------------------------------------------------------------------


def test_two_engines_on_one_cache_answer_alike_while_files_change(root: Path) -> None:
    bulky_project(root, 8, functions=40)
    faults: list[str] = []

    def work(engine: Engine) -> None:
        for number in range(4):
            result = engine.call("find_symbol", {"name": f"name_{number}_3"})
            if result.is_error or result.data["definitions_total"] != 1:
                faults.append(result.text)
            if engine.call("repo_map", {"focus": [f"part{number % 7}"]}).is_error:
                faults.append("map")

    with engine_on(root) as one, engine_on(root) as two:
        assert one.settings.cache_dir == two.settings.cache_dir
        threads = [threading.Thread(target=work, args=(engine,)) for engine in (one, two, one, two)]
        for thread in threads:
            thread.start()
        for number in range(10):
            write(root / "late.py", f"def late_{number}(): ...\n")
        for thread in threads:
            thread.join()
        assert faults == []
        for engine in (one, two):
            assert ok(engine, "find_symbol", name="late_9")["definitions_total"] == 1
        assert ok(one, "repo_map")["text"] == ok(two, "repo_map")["text"]


def test_a_session_that_many_threads_begin_with_at_once_indexes_once(root: Path) -> None:
    bulky_project(root, 20, functions=40)
    with engine_on(root) as engine:
        session, found = engine.session(), list[str]()
        threads = [threading.Thread(target=lambda: found.append(session.repo_map().text)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        assert len(set(found)) == 1
        names = [thread.name for thread in threading.enumerate()]
    assert names.count("regreen-index") <= 1


# --- shapes of repositories --------------------------------------------------------------------------


def _worktree(root: Path) -> Path:
    git(root, "worktree", "add", "-q", "-b", "side", str(root.parent / "side"))
    return root.parent / "side"


def _subfolder(root: Path) -> Path:
    return root / "shop"


def _submodule(root: Path) -> Path:
    outer = make_repo(root.parent / "outer", {"main.py": "def main(): ...\n"})
    git(outer, "submodule", "add", "-q", str(root), "parts/shop")
    git(outer, "commit", "-q", "-m", "part")
    return outer / "parts" / "shop"


def _plain(root: Path) -> Path:
    for path in sorted((root / ".git").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (root / ".git").rmdir()
    return root


@pytest.mark.parametrize("shape", [_worktree, _subfolder, _submodule, _plain])
def test_every_shape_of_repository_is_understood(root: Path, shape: Callable[[Path], Path]) -> None:
    place = shape(root)
    before = whole_state(place)
    with opened(place) as session:
        (found,) = session.find_symbol("Cart", references=True).definitions
        assert found.path.endswith("cart.py")
        assert session.search("class Cart").files_matched == 1
        assert session.signatures([found.path]).files[0].symbols[0].name == "Cart"
        assert found.path in session.repo_map().files
        assert differences(before, whole_state(place)) == []
        write(place / "added.py", "def just_added(): ...\n")
        assert defined(session, "just_added") == 1
        assert "added.py" in session.repo_map().files


def test_a_submodule_is_named_and_not_searched_from_outside(root: Path) -> None:
    outer = _submodule(root).parents[1]
    with opened(outer) as session:
        assert defined(session, "Cart") == 0
        assert defined(session, "main") == 1
        assert session.repo_map().total_files == 1
        assert any("parts/shop" in note for note in session.files().notes)
        assert git(outer, "status", "--porcelain") == ""


def test_a_root_that_is_made_anew_is_opened_anew(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "repo", {"old.py": "def old(): ...\n"})
    environ = {**default_environ(), "REGREEN_STATE_DIR": str(tmp_path / "s"), "REGREEN_CACHE_DIR": str(tmp_path / "c")}
    with Engine(load_settings(environ, roots=(root,)), cwd=root) as engine:
        assert "def old()" in engine.call("repo_map", {}).text
        root.rename(tmp_path / "moved")
        make_repo(root, {"new.py": "def new(): ...\n"})
        text = engine.call("repo_map", {}).text
        assert "def new()" in text and "def old()" not in text
