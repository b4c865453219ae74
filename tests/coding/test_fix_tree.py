"""The same try in other clothes has the same hash; anything that could make a difference has another."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regreen.fix.tree import tree_hash

BASE = {"a.py": b"x = 1\n"}
START = tree_hash({}, {})


def one(path: str, text: str) -> str:
    return tree_hash({}, {path: text.encode()})


def test_the_start_has_the_hash_of_nothing() -> None:
    assert tree_hash(BASE, {"a.py": b"x = 1\n"}) == START


@pytest.mark.parametrize("text", ["# why\n\nx  =  1\n", "x = 1  # one\n", "x = (1)", "x = 0x1\r\n", "x = \\\n  1\n"])
def test_comments_and_layout_are_one_try_and_no_more(text: str) -> None:
    first = tree_hash(BASE, {"a.py": b"x = 1  # a note\n"})
    assert first != START
    assert tree_hash(BASE, {"a.py": text.encode()}) == first


@pytest.mark.parametrize(
    "text", ["x = 1.0\n", "x = True\n", "y = 1\n", "'''doc'''\nx = 1\n", "x = 1\nx = 1\n", "x: int = 1\n"]
)
def test_another_program_is_another_tree(text: str) -> None:
    assert tree_hash(BASE, {"a.py": text.encode()}) != START


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("s = 'a'", 's = "a"'),
        ("s = 'a' 'b'", "s = 'ab'"),
        ("s = u'a'", "s = 'a'"),
        ("s = '\\d'", "s = '\\\\d'"),
        ("s = 'it\\'s'", 's = "it\'s"'),
        ("s = '''a'''", "s = 'a'"),
        ("s = r'\\n'", "s = '\\\\n'"),
        ("f(a,\n  b,)", "f(a, b)"),
        ("s = f'{x}'", 's = f"{x}"'),
        ("if a: b()", "if a:\n        b()\n"),
    ],
)
def test_python_that_is_only_written_otherwise_is_the_same(left: str, right: str) -> None:
    assert one("a.py", left) == one("a.py", right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("def f():\n    '''>>> 1\n    1'''", "def f():\n    '''>>> 1\n    2'''"),
        ("def f():\n    '''Doc.'''", "def f():\n    pass"),
        ("s = 'a'", "s = b'a'"),
        ("s = 'a'", "s = 'a '"),
        ("s = '''a\n b'''", "s = '''a\n  b'''"),
        ("s = f'{x}'", "s = f'{x!r}'"),
        ("a and b or c", "a and (b or c)"),
        ("if a:\n    b\nc", "if a:\n    b\n    c"),
    ],
)
def test_docstrings_texts_and_grouping_count(left: str, right: str) -> None:
    assert one("a.py", left) != one("a.py", right)


def test_python_that_does_not_parse_counts_by_its_bytes() -> None:
    assert one("a.py", "def (\n") != one("a.py", "def [\n")
    assert one("a.py", "def (\n") == one("a.py", "def (\n")
    assert tree_hash({}, {"a.py": b"x = '\0'"}) != tree_hash({}, {"a.py": b"x = '\0' "})


@pytest.mark.parametrize("path", ["a.js", "a.ts", "a.go", "A.java", "a.rb", "a.rs", "a.php", "a.c"])
def test_source_of_other_languages_counts_by_lines(path: str) -> None:
    assert one(path, "f(x);  \n\tg();\r\n") == one(path, "f(x);\n\tg();\n\n\n")
    assert one(path, "f(x);\n\tg();") != one(path, "f(x);\ng();")
    assert one(path, "f(x);\ng();") != one(path, "f(x); g();")
    assert one(path, "f(x);") != one(path, "f(x); // why")
    assert one(path, "  f(x);") != one(path, "f(x);")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", "s = `a \nb`"), ("a.go", "s := `a \nb`"), ("A.java", 's = """\na \nb""";'), ("a.rs", 's = "a \nb";'),
        ("a.php", "<<<X\na \nX;"), ("a.php", "$s = 'a \nb';"), ("a.rb", "<<~X\na \nX"), ("a.rb", "s = 'a \nb'"),
        ("A.cs", 's = @"a \nb";'), ("a.c", "s = \\\na \n"), ("a.php", "?>\na \nb"),
    ],
)  # fmt: skip
def test_blanks_at_line_ends_count_where_a_text_may_go_over_lines(path: str, text: str) -> None:
    assert one(path, text) != one(path, text.replace("a \n", "a\n"))


@pytest.mark.parametrize(
    "path", ["a.txt", "data.csv", "page.html", "Makefile", "a.json", "a.yaml", "README.md", "a.snap"]
)
def test_of_data_every_byte_counts(path: str) -> None:
    assert len({one(path, t) for t in ("x\ny", "x \ny", "x\ny\n", "x\r\ny", " x\ny")}) == 5


def test_a_deleted_file_differs_from_an_empty_one_and_from_none() -> None:
    assert len({tree_hash(BASE, {"a.py": None}), tree_hash(BASE, {"a.py": b""}), START}) == 3
    assert tree_hash({}, {"new.py": None}) == START
    assert tree_hash({}, {"pkg/__init__.py": b""}) != START


def test_names_and_contents_are_not_mixed_up() -> None:
    two = tree_hash({}, {"a.txt": b"1", "b.txt": b"2"})
    assert two != tree_hash({}, {"a.txt": b"1\0b.txt\0bytes:2"})
    assert two != tree_hash({}, {"a.txt": b"2", "b.txt": b"1"})
    assert two == tree_hash({"c.txt": b"3"}, {"b.txt": b"2", "c.txt": b"3", "a.txt": b"1"})
    assert one("a.txt", "x") != one("a\udc80.txt", "x")


# A program is a list of statements; it is written out in many ways.
STATEMENTS = st.lists(st.sampled_from(("x = 1", "x = 2", "f('a')", "y = x + 1", "'doc'")), max_size=4)
CLOTHES = st.lists(st.sampled_from(("plain", "comment", "blank", "tail", "quotes", "spaces")), min_size=8, max_size=8)


def written(statements: list[str], clothes: list[str]) -> bytes:
    lines: list[str] = []
    for statement, dress in zip(statements, clothes, strict=False):
        lines += {
            "plain": [statement], "comment": ["# so", statement], "blank": ["", statement, ""],
            "tail": [f"{statement}  # so"], "quotes": [statement.replace("'", '"')],
            "spaces": [statement.replace(" ", "   ") + "  "],
        }[dress]  # fmt: skip
    return "\n".join(lines).encode()


@given(STATEMENTS, STATEMENTS, CLOTHES, CLOTHES)
def test_hashes_are_equal_if_and_only_if_the_programs_are(
    left: list[str], right: list[str], dress: list[str], other: list[str]
) -> None:
    hashes = [tree_hash({"a.py": None}, {"a.py": written(*pair)}) for pair in ((left, dress), (right, other))]
    assert (hashes[0] == hashes[1]) is (left == right)


TREES = st.dictionaries(
    st.sampled_from(("a.py", "b.js", "c.txt", "a")),
    st.one_of(st.none(), st.sampled_from((b"", b"1", b"1 ", b"1\n", b"2", b"\n1", b"1#", b"a.py\0"))),
)


def normalised(base: Mapping[str, bytes | None], now: Mapping[str, bytes | None]) -> dict[str, object]:
    """What a tree comes to, written down in another way than the hash does it."""

    def content(path: str, data: bytes | None) -> object:
        if data is None:
            return None
        if path == "a.py":
            bare = data.partition(b"#")[0].strip()
            return data if b"\0" in data else bare
        if path == "b.js":
            return b"\n".join(line.rstrip() for line in data.split(b"\n")).strip(b"\n")
        return data

    return {p: content(p, d) for p, d in now.items() if base.get(p) != d}


@given(TREES, TREES, TREES, TREES)
def test_hashes_are_equal_if_and_only_if_the_normalised_trees_are(
    base: dict[str, bytes | None],
    now: dict[str, bytes | None],
    other_base: dict[str, bytes | None],
    other: dict[str, bytes | None],
) -> None:
    same = normalised(base, now) == normalised(other_base, other)
    assert (tree_hash(base, now) == tree_hash(other_base, other)) is same
    again = tree_hash(base, now) == tree_hash(base, other)
    assert again is (normalised(base, now) == normalised(base, other))
