"""Which tests call which functions: learnt from a run, kept, and renewed only for what has changed."""

import textwrap

import pytest
from support.suites import project
from support.warming import warm

from regreen.sandbox import Cancel
from regreen.testing.warm import CoverageMap, Function, NotWarm, cover
from regreen.testing.warm.outline import MODULE, outline

FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": """
    RATE = 2
    def shared(f):
        return f
    def total(x):
        return add(x) * RATE
    @shared
    def add(x):
        return sum(i for i in x)
    class Cart:
        def size(self):
            def inner(): return 1
            return inner()
    def unused(): pass
    """,
    "tests/conftest.py": """
    import pytest, threading
    from shop.cart import Cart
    @pytest.fixture(scope="session")
    def cart():
        return Cart().size()
    """,
    "tests/test_cart.py": """
    import threading, pytest
    from shop.cart import total, add
    def test_total(): assert total([1]) == 2
    def test_thread():
        thread = threading.Thread(target=add, args=([1],)); thread.start(); thread.join()
    def test_first(cart): assert cart == 1
    @pytest.mark.parametrize("n", [1, 2])
    def test_second(cart, n): assert cart == 1
    def test_nothing(): pass
    """,
}
CART = "shop/cart.py"


def covered(w) -> CoverageMap:
    request = w.request()
    try:
        found = cover(w.server, request, Cancel())
    finally:
        request.workspace.close()
    assert not isinstance(found, NotWarm), found
    return found


def names(tests):
    return {t.partition("::test_")[2] for t in tests}


@pytest.fixture
def shop(tmp_path):
    with warm(project(tmp_path, {k: textwrap.dedent(v) for k, v in FILES.items()})) as w:
        yield w


def test_map_holds_functions_of_calls_threads_and_shared_fixtures(shop):
    found = covered(shop)
    assert names(found.tests) == {"total", "thread", "first", "second[1]", "second[2]", "nothing"}
    touching = {f.qualname: names(tests) for f, tests in found.touching().items() if f.path == CART}
    assert touching == {"total": {"total"}, "add": {"total", "thread"},
                        "Cart.size": {"first", "second[1]", "second[2]"},
                        "Cart.size.<locals>.inner": {"first", "second[1]", "second[2]"}}  # fmt: skip
    assert Function(CART, "shared") in found.importing
    assert Function(CART, MODULE) in found.importing


def test_tests_are_chosen_by_file_and_function(shop):
    found = covered(shop)
    assert names(found.tests_touching(functions=[Function(CART, "total")])) == {"total"}
    assert names(found.tests_touching([CART])) == {"total", "thread", "first", "second[1]", "second[2]"}
    assert found.tests_touching(functions=[Function(CART, "shared")]) == found.tests
    assert found.tests_touching(["shop/__init__.py"]) == found.tests
    assert found.tests_touching(["readme.md"], [Function(CART, "unused")]) == frozenset()


def test_only_tests_whose_functions_have_changed_run_again(shop):
    first = covered(shop)
    cart = shop.root / CART
    assert first.fresh(shop.root) == first.tests
    cart.write_text(
        cart.read_text().replace("sum(i for i in x)", "sum(x)").replace("    return f\n", "    return f  # f\n\n")
    )
    assert names(first.tests - first.fresh(shop.root)) == {"total", "thread"}
    logs = set((shop.root.parent / "store").glob("tests-*.log"))
    second = covered(shop)
    (log,) = set((shop.root.parent / "store").glob("tests-*.log")) - logs
    assert "2 passed" in log.read_text()
    assert second.tests == first.tests
    assert second.fresh(shop.root) == second.tests
    assert covered(shop) == second
    cart.write_text(cart.read_text().replace("RATE = 2", "RATE = 3"))
    assert names(second.fresh(shop.root)) == {"nothing"}


def test_new_tests_are_added_and_those_that_are_gone_left_out(shop):
    covered(shop)
    (shop.root / "tests/test_cart.py").write_text("def test_new(): pass\n")
    assert names(covered(shop).tests) == {"new"}


def test_map_in_an_odd_file_is_made_anew(shop):
    first = covered(shop)
    (place,) = (shop.root.parent / "cache" / "coverage").glob("*.json")
    place.write_text("{}")
    assert covered(shop) == first


def test_outline_tells_functions_from_the_rest_of_the_module():
    text = "import a\n@a.b\ndef f():\n    return 1\n\nclass C:\n    x = 1\n    def g(self): pass\n"
    found = outline(text)
    assert [(p.qualname, p.first, p.last) for p in found.parts] == [(MODULE, 1, 9), ("f", 2, 4), ("C.g", 8, 8)]
    assert [found.at(n).qualname for n in (1, 2, 4, 7, 8)] == [MODULE, "f", "f", MODULE, "C.g"]
    body = outline(text.replace("return 1", "return 2")).digests
    assert {n for n, d in found.digests.items() if body[n] != d} == {"f"}
    rest = outline(text.replace("x = 1", "x = 2")).digests
    assert {n for n, d in found.digests.items() if rest[n] != d} == {MODULE}
    assert outline(text + "# more\n\n").digests == found.digests
    assert outline("def f(:\n").parts[0].qualname == MODULE
