"""The tamper guard on test files: what is still asked, and what additions do to the tests that are there."""

# ruff: noqa: E501 (tables of code)
from __future__ import annotations

import pytest

from regreen.fix.tamper import TextChange, inspect, warnings
from regreen.model import TamperPolicy

OLD = '''\
"""Tests of totals."""

import pytest

from calc import Total, mean, total

RATES = [0.5, 2]


@pytest.fixture
def prices():
    return [10, 20]


@pytest.mark.parametrize(("rate", "expected"), [(0.5, 45), (2, 90)])
def test_rates(rate, expected):
    assert total([10, 20], rate) == expected


def test_total(prices):
    result = total(prices, 0.5)
    assert result == 45
    assert result > 0


def test_mean():
    assert mean([1, 2]) == pytest.approx(1.5, abs=1e-9)


def test_refuses():
    with pytest.raises(ValueError, match="empty"):
        total([], 0.5)


class TestTotal:
    def setup_method(self):
        self.total = Total(3)

    def test_value(self):
        assert self.total.value == 3
'''


def cheats(
    after: str | None, policy: TamperPolicy = "additions_only", before: str | None = OLD, path: str = "test_calc.py"
) -> set[str]:
    return {f.cheat for f in inspect([TextChange(path, before, after)], (), policy)}


def changed(old: str, new: str) -> str:
    assert old in OLD
    return OLD.replace(old, new)


TAMPERED = [
    ("removes_assert", changed("    assert result == 45\n", "")),
    ("weakens_assert", changed("result == 45", "result is not None")),
    ("weakens_assert", changed("result == 45", "result >= 45")),
    ("weakens_assert", changed("result == 45", "result in (45, 5)")),
    ("weakens_assert", changed("    assert result == 45", "    if result == 45:\n        assert result == 45")),
    ("changes_expected", changed("result == 45", "result == 5")),
    ("weakens_assert", changed("result == 45", "True")),
    ("changes_expected", changed("ValueError, match=\"empty\"", "ValueError, match=\"e\"")),
    ("weakens_assert", changed("pytest.raises(ValueError", "pytest.raises(Exception")),
    ("widens_tolerance", changed("abs=1e-9", "abs=10")),
    ("widens_tolerance", changed("abs=1e-9", "rel=1")),
    ("skips_test", changed("def test_total", "@pytest.mark.skip\ndef test_total")),
    ("skips_test", changed("def test_total", "@pytest.mark.skipif(True, reason='x')\ndef test_total")),
    ("skips_test", changed("def test_total", "@pytest.mark.xfail\ndef test_total")),
    ("skips_test", changed("    result = total(prices, 0.5)", "    pytest.skip('no')\n    result = total(prices, 0.5)")),
    ("skips_test", changed("    result = total(prices, 0.5)", "    pytest.importorskip('nothing')\n    result = total(prices, 0.5)")),
    ("skips_test", changed("class TestTotal:", "@pytest.mark.skip\nclass TestTotal:")),
    ("stops_run", changed("    result = total(prices, 0.5)", "    pytest.exit('done', returncode=0)\n    result = total(prices, 0.5)")),
    ("hides_assert", changed("    assert result == 45\n", "    try:\n        assert result == 45\n    except AssertionError:\n        pass\n")),
    ("hides_assert", changed("    assert result == 45\n", "    with contextlib.suppress(AssertionError):\n        assert result == 45\n")),
    ("returns_early", changed("    result = total(prices, 0.5)\n", "    result = total(prices, 0.5)\n    return\n")),
    ("changes_parametrize", changed("(0.5, 45), (2, 90)", "(2, 90)")),
    ("changes_parametrize", changed("(0.5, 45)", "(0.5, 5)")),
    ("removes_test", changed("def test_total", "def check_total")),
    ("removes_test", OLD[: OLD.index("class TestTotal")]),
    ("removes_test", None),
    ("changes_fixture", changed("return [10, 20]", "return []")),
    ("changes_fixture", changed("self.total = Total(3)", "self.total = Total(4)")),
    ("changes_test", changed("total(prices, 0.5)", "45")),
    ("changes_test", changed("RATES = [0.5, 2]", "RATES = [2]")),
    ("changes_test", changed("from calc import Total, mean, total", "from fake import Total, mean, total")),
    ("redefines_test", OLD + "\n\ndef test_total():\n    pass\n"),
    ("redefines_test", OLD + "\n\n    def test_value(self):\n        pass\n"),
    ("breaks_test_file", OLD + "\n\ndef broken(:\n"),
]  # fmt: skip


@pytest.mark.parametrize(("cheat", "after"), TAMPERED, ids=[f"{c}-{i}" for i, (c, _) in enumerate(TAMPERED)])
def test_what_a_change_does_to_old_tests_is_named(cheat: str, after: str | None) -> None:
    assert cheat in cheats(after)


INFLUENCES = [
    "def total(prices, rate):\n    return 45",
    "from calc import mean as total",
    "import fake as pytest",
    "from helpers import *",
    "@pytest.fixture(autouse=True)\ndef patched(monkeypatch):\n    monkeypatch.setattr('calc.total', lambda *a: 45)",
    "@pytest.fixture\ndef prices():\n    return []",
    "import calc\ncalc.total = lambda *a: 45",
    "import sys\nsys.modules['calc'] = None",
    "def setup_module(module):\n    module.total = lambda *a: 45",
    "def setup_function(function):\n    pass",
    "@change_everything\ndef test_new():\n    assert True",
    "test_total = None",
    "del test_total",
    "globals()['test_total'] = None",
    "for name in list(globals()):\n    pass",
    "if True:\n    RATES.clear()",
    "RATES = []",
    "X = RATES.clear()",
    "    def setup_method(self):\n        pass\n\n    def teardown_method(self):\n        self.total = 1",
]


@pytest.mark.parametrize("code", INFLUENCES)
def test_additions_that_act_on_old_tests_are_refused(code: str) -> None:
    assert cheats(OLD + "\n\n" + code + "\n") & {"influences_tests", "redefines_test", "changes_fixture"}


STOPPERS = [
    ("hides_tests", "pytestmark = pytest.mark.skip"),
    ("hides_tests", "pytest.skip('no', allow_module_level=True)"),
    ("hides_tests", "collect_ignore = ['test_calc.py']"),
    ("hides_tests", "__test__ = False"),
    ("hides_tests", "def pytest_collection_modifyitems(items):\n    items.clear()"),
    ("hides_tests", "def load_tests(*a):\n    return None"),
    ("hides_tests", "pytest.importorskip('nothing_of_this_name')"),
    ("hides_tests", "import sys\nsys.exit(0)"),
    ("hides_tests", "import unittest\nraise unittest.SkipTest('no')"),
    ("stops_run", "def test_new():\n    pytest.exit('done')"),
    ("stops_run", "import os\n\ndef test_new():\n    os._exit(0)"),
    ("stops_run", "import os\n\ndef test_new():\n    getattr(os, '_exit')(0)"),
    ("stops_run", "import os\nimport signal\n\ndef test_new():\n    os.kill(os.getpid(), signal.SIGTERM)"),
]


@pytest.mark.parametrize("policy", ["additions_only", "editable"])
@pytest.mark.parametrize(("cheat", "code"), STOPPERS)
def test_what_keeps_tests_from_running_is_refused_whatever_the_policy(
    policy: TamperPolicy, cheat: str, code: str
) -> None:
    assert cheat in cheats(OLD + "\n\n" + code + "\n", policy)


ADDED = [
    "def test_more(prices):\n    assert total(prices, 1) == 60",
    "@pytest.mark.parametrize('n', [1, 2])\ndef test_each(n):\n    assert mean([n]) == n",
    "    def test_other(self):\n        assert self.total.value",
    "class TestNew:\n    def test_a(self):\n        assert 1",
    "import math\n\n\ndef test_pi():\n    assert math.pi > 3",
    "def helper(n):\n    return n\n\n\ndef test_with_helper():\n    assert helper(1) == 1",
    "CASES = [1, 2]",
    "@pytest.fixture\ndef other():\n    return 1\n\n\ndef test_other(other):\n    assert other",
    "async def test_async():\n    assert True",
    "from calc import subtract\n\n\ndef test_subtract():\n    assert subtract(3, 1) == 2",
    "import sys\n\n\ndef test_platform():\n    if sys.platform == 'x':\n        sys.exit(3)",
]


@pytest.mark.parametrize("code", ADDED)
def test_new_tests_are_welcome(code: str) -> None:
    assert cheats(OLD + "\n\n" + code + "\n") == set()


def test_a_reformatted_test_is_the_same_test() -> None:
    assert (
        cheats(OLD.replace("[10, 20]", "[\n    10,\n    20,\n]").replace('"""Tests of totals."""', "# totals")) == set()
    )


def test_a_name_more_in_an_import_is_an_addition() -> None:
    more = changed("from calc import Total, mean, total", "from calc import Total, mean, subtract, total")
    assert cheats(more + "\n\ndef test_subtract():\n    assert subtract(3, 1) == 2\n") == set()


def test_new_test_files_are_welcome_and_others_are_not() -> None:
    new = "import pytest\n\nfrom calc import total\n\n\ndef test_a():\n    assert total([1], 1) == 2\n"
    assert cheats(new, before=None, path="tests/test_new.py") == set()
    assert cheats("x = 1\n", before=None, path="tests/calc.py") == {"influences_tests"}
    assert cheats("", before=None, path="tests/__init__.py") == {"influences_tests"}
    assert cheats("import os\nos._exit(0)\n", before=None, path="tests/test_new.py") >= {"stops_run"}


def test_data_of_tests_may_be_added_and_not_changed() -> None:
    assert cheats("{}", before=None, path="tests/data/new.json") == set()
    assert cheats("{}", before='{"a": 1}', path="tests/data/old.json") == {"changes_test_data"}


def test_where_tests_may_be_edited_a_weaker_test_is_told_and_not_refused() -> None:
    after = changed("result == 45", "result == 5")
    assert cheats(after, "editable") == set()
    (said,) = warnings([TextChange("test_calc.py", OLD, after)], (), lambda _: "")
    assert said.startswith("changes_expected: `test_calc.py`, line ")


JS = "import { total } from './calc.js';\n\ntest('total', () => {\n  expect(total([1])).toBe(45);\n  expect(1).toBe(1);\n});\n"
GO = 'package calc\n\nimport "testing"\n\nfunc TestTotal(t *testing.T) {\n\tif Total(1) != 45 {\n\t\tt.Errorf("got %d", 1)\n\t}\n}\n'
RUBY = "describe Calc do\n  it 'adds' do\n    expect(Calc.total(1)).to eq(45)\n  end\nend\n"
PHP = "<?php\nclass CalcTest extends TestCase {\n  public function testTotal() {\n    $this->assertSame(45, total(1));\n  }\n}\n"
JAVA = "class CalcTest {\n  @Test\n  void total() {\n    assertEquals(45, Calc.total(1));\n  }\n}\n"
OTHERS = [
    ("removes_assert", "calc.test.js", JS, JS.replace("  expect(total([1])).toBe(45);\n", "")),
    ("changes_expected", "calc.test.js", JS, JS.replace("45", "5")),
    ("weakens_assert", "calc.test.js", JS, JS.replace("toBe(45)", "toBeDefined()")),
    ("skips_test", "calc.test.js", JS, JS.replace("test('total'", "test.skip('total'")),
    ("skips_test", "calc.test.js", JS, JS + "test.only('new', () => {\n  expect(1).toBe(1);\n});\n"),
    ("skips_test", "calc.test.ts", JS, JS.replace("test('total'", "xit('total'")),
    ("returns_early", "calc.test.js", JS, JS.replace("  expect(total", "  return;\n  expect(total")),
    ("stops_run", "calc.test.js", JS, JS + "process.exit(0);\n"),
    ("influences_tests", "calc.test.js", JS, JS + "beforeEach(() => {\n  jest.mock('./calc.js');\n});\n"),
    ("removes_test", "calc.test.js", JS, JS[: JS.index("test(")]),
    ("changes_expected", "calc_test.go", GO, GO.replace("45", "5")),
    ("skips_test", "calc_test.go", GO, GO.replace("\tif Total", '\tt.Skip("no")\n\tif Total')),
    ("returns_early", "calc_test.go", GO, GO.replace("\tif Total", "\treturn\n\tif Total")),
    ("stops_run", "calc_test.go", GO, GO.replace("\tif Total", "\tos.Exit(0)\n\tif Total")),
    ("changes_expected", "spec/calc_spec.rb", RUBY, RUBY.replace("45", "5")),
    ("skips_test", "spec/calc_spec.rb", RUBY, RUBY.replace("it 'adds'", "xit 'adds'")),
    ("skips_test", "spec/calc_spec.rb", RUBY, RUBY.replace("    expect", "    skip\n    expect")),
    ("changes_expected", "tests/CalcTest.php", PHP, PHP.replace("45", "5")),
    ("skips_test", "tests/CalcTest.php", PHP, PHP.replace("    $this", "    $this->markTestSkipped();\n    $this")),
    ("changes_expected", "src/test/java/CalcTest.java", JAVA, JAVA.replace("45", "5")),
    ("skips_test", "src/test/java/CalcTest.java", JAVA, JAVA.replace("  @Test", "  @Disabled\n  @Test")),
]


@pytest.mark.parametrize(
    ("cheat", "path", "before", "after"), OTHERS, ids=[f"{o[1]}-{o[0]}-{i}" for i, o in enumerate(OTHERS)]
)
def test_tests_in_other_languages_stay_as_they_are(cheat: str, path: str, before: str, after: str) -> None:
    assert before != after
    assert cheat in cheats(after, before=before, path=path)


@pytest.mark.parametrize(
    ("path", "before", "more"),
    [
        ("calc.test.js", JS, "\ntest('more', () => {\n  expect(total([])).toBe(0); // nothing\n});\n"),
        ("calc_test.go", GO, "\nfunc TestMore(t *testing.T) {\n\tif Total(2) != 3 {\n\t\tt.Fatal(2)\n\t}\n}\n"),
    ],
)
def test_new_tests_in_other_languages_are_welcome(path: str, before: str, more: str) -> None:
    assert cheats(before + more, before=before, path=path) == set()
    assert cheats(before + "// a comment\n", before=before, path=path) == set()


RUST = "pub fn total(n: i32) -> i32 { n }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(total(1), 45);\n    }\n}\n"  # fmt: skip


@pytest.mark.parametrize("policy", ["readonly", "additions_only"])
def test_tests_inside_rust_sources_are_tests(policy: TamperPolicy) -> None:
    right = RUST.replace("{ n }", "{ n + 44 }")
    assert cheats(right, policy, RUST, "src/lib.rs") == set()
    assert cheats(right.replace("45", "46"), policy, RUST, "src/lib.rs") == {"changes_expected"}
    assert cheats(RUST.replace("    #[test]", "    #[ignore]\n    #[test]"), policy, RUST, "src/lib.rs") == {
        "skips_test"
    }
    assert cheats(RUST[: RUST.index("#[cfg")], policy, RUST, "src/lib.rs") == {"removes_test"}
