"""A selection that names no file gets a suggestion where one is near."""

import pytest
from support.suites import project, run_tests

from regreen.testing.meaning import similar

PATHS = ["tests/test_cart.py", "tests/test_shop.py", "src/cart.py", "web/test/add.test.ts"]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("tests/test_crt.py", ["tests/test_cart.py"]),
        ("test_cart.py", ["tests/test_cart.py"]),
        ("test_shp.py", ["tests/test_shop.py"]),
        ("add.test.ts", ["web/test/add.test.ts"]),
        ("elsewhere.py", []),
        ("a bare name", []),
    ],
)
def test_the_nearest_file_is_named(typed, wanted):
    assert similar(typed, PATHS) == wanted


def test_a_run_of_nothing_says_what_was_meant(tmp_path):
    root = project(tmp_path, {"tests/test_cart.py": "def test_a(): pass\n", "pytest.ini": "[pytest]\n"})
    report = run_tests(root, selection=["tests/test_crt.py"])
    assert report.status == "no_tests"
    assert report.message.endswith("did you mean tests/test_cart.py?")
