"""The same try in other clothes has the same hash."""

from __future__ import annotations

from regreen.fix.tree import tree_hash

BASE = {"a.py": b"x = 1\n"}


def test_the_start_has_the_hash_of_nothing() -> None:
    assert tree_hash(BASE, {"a.py": b"x = 1\n"}) == tree_hash({}, {})


def test_comments_and_blanks_do_not_make_a_new_python_tree() -> None:
    assert tree_hash(BASE, {"a.py": b"x = 2\n"}) == tree_hash(BASE, {"a.py": b"# why\n\nx  =  2\n"})


def test_another_value_is_another_tree() -> None:
    assert tree_hash(BASE, {"a.py": b"x = 2\n"}) != tree_hash(BASE, {"a.py": b"x = 3\n"})


def test_text_files_count_without_blanks_at_line_ends() -> None:
    assert tree_hash({}, {"a.txt": b"x  \ny"}) == tree_hash({}, {"a.txt": b"x\ny\n"})
    assert tree_hash({}, {"a.txt": b" x"}) == tree_hash({}, {"a.txt": b"x"})


def test_a_deleted_file_differs_from_an_empty_one() -> None:
    assert tree_hash(BASE, {"a.py": None}) != tree_hash(BASE, {"a.py": b""})


def test_python_that_does_not_parse_counts_by_its_text() -> None:
    assert tree_hash(BASE, {"a.py": b"def (\n"}) != tree_hash(BASE, {"a.py": b"def [\n"})
