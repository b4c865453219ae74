"""The report over files, folders and globs: encodings, what is skipped, pages."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from support.listings import listed, write

from regreen.errors import Refused, UsageError
from regreen.model import SignatureReport
from regreen.repo import estimate_tokens, render, signatures

DEF = "def größe(x): pass\n"


def report(
    root: Path, *paths: str, max_tokens: int = 8000, cursor: str = "", docstrings: bool = False
) -> SignatureReport:
    with listed(root) as it:
        return signatures(
            it.workspace, it.files, paths=paths, max_tokens=max_tokens, cursor=cursor, docstrings=docstrings
        )


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (DEF.encode(), 1),
        (codecs.BOM_UTF8 + DEF.encode(), 1),
        (b"# c\r\n" + DEF.replace("\n", "\r\n").encode(), 2),
        (codecs.BOM_UTF16_LE + DEF.encode("utf-16-le"), 1),
        (b"# -*- coding: latin-1 -*-\n" + DEF.encode("latin-1"), 2),
    ],
)
def test_names_are_read_in_the_encoding_of_the_file(tmp_path: Path, content: bytes, line: int) -> None:
    (found,) = report(write(tmp_path, {"a.py": content}), "a.py").files
    assert [(s.name, s.signature, s.line) for s in found.symbols] == [("größe", "def größe(x)", line)]
    assert found.errors == ()


def test_gbk_is_read_with_its_cookie_and_survived_without(tmp_path: Path) -> None:
    source = 'def f(a="中文"): pass\ndef g(): pass\n'
    write(tmp_path, {"a.py": ("# coding: gbk\n" + source).encode("gbk"), "b.py": source.encode("gbk")})
    a, b = report(tmp_path).files
    assert [s.signature for s in a.symbols] == ['def f(a="中文")', "def g()"]
    assert [s.name for s in b.symbols] == ["f", "g"]
    assert b.errors[0] == "holds bytes that are not UTF-8, shown as �"
    assert "\udcd6" not in render(report(tmp_path))


def test_what_cannot_be_read_is_skipped_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, {"nul.py": b"x = 1\0", "empty.py": b"", "big.py": b"x = 1\n" * 200_000, "deep.py": b"(" * 40_000})
    write(
        tmp_path,
        {"huge.py": b"#" * (9 << 20), "wide.py": codecs.BOM_UTF16_LE + b"a", "a.rst": "", "b.rst": "", "c": ""},
    )
    found = report(tmp_path)
    assert [(f.path, f.symbols) for f in found.files if f.path != "deep.py"] == [("empty.py", ())]
    reasons = {s.path: s.reason for s in found.skipped}
    assert reasons["*.rst"] == "no grammar (2 files)"
    assert reasons["*"] == "no grammar (1 file)"
    assert reasons["nul.py"].startswith("binary: ")
    assert reasons["wide.py"].startswith("encoding: ")
    assert reasons["big.py"].startswith("too large: 1200000 bytes")
    assert "8388608 bytes" in reasons["huge.py"]


def test_a_named_file_without_grammar_is_listed_by_name(tmp_path: Path) -> None:
    found = report(write(tmp_path, {"a.rst": "", "Makefile": "", "b.py": ""}), "a.rst", "Makefile", "b.py")
    assert [(s.path, s.reason) for s in found.skipped] == [
        ("Makefile", "no grammar for this kind of files"),
        ("a.rst", "no grammar for .rst files"),
    ]
    assert [f.path for f in found.files] == ["b.py"]


def test_an_ignored_file_is_read_when_it_is_named(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "gen.py\n", "gen.py": "x = 1\n", "a.py": "y = 1\n"})
    assert [f.path for f in report(tmp_path).files] == ["a.py"]
    assert [f.path for f in report(tmp_path, "gen.py").files] == ["gen.py"]


def test_nothing_outside_the_root_is_read(tmp_path: Path) -> None:
    write(tmp_path, {"secret.py": "KEY = 1\n", "in/a.py": "x = 1\n"})
    (tmp_path / "in" / "out.py").symlink_to(tmp_path / "secret.py")
    (tmp_path / "in" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "in" / "same.py").symlink_to("a.py")
    for path in ("out.py", "up/secret.py", "../secret.py", str(tmp_path / "secret.py")):
        with pytest.raises(Refused) as error:
            report(tmp_path / "in", path)
        assert error.value.kind == "path_outside_workspace"
    assert [s.name for s in report(tmp_path / "in", "same.py").files[0].symbols] == ["x"]


def test_what_matches_nothing_is_not_found(tmp_path: Path) -> None:
    write(tmp_path, {"src/billing.py": ""})
    with pytest.raises(UsageError) as error:
        report(tmp_path, "src", "src/biling.py")
    assert (error.value.kind, error.value.hint) == ("not_found", "did you mean `src/billing.py`?")
    with pytest.raises(UsageError, match="matches no file"):
        report(tmp_path, "lib/**/*.py")


def test_text_shows_lines_nesting_decorators_and_docs(tmp_path: Path) -> None:
    source = 'class A:\n    "Doc."\n    @property\n    def b(self):\n        return 1\ndef broken(:\n    pass\n'
    found = report(write(tmp_path, {"p/a.py": source, "x.rst": ""}), docstrings=True)
    assert render(found).splitlines() == [
        "p/a.py (python)", "  ! line 6: could not be parsed", "  1-5 class A  # Doc.",
        "    4-5 @property def b(self)", "  6-7 def broken()", "skipped *.rst: no grammar (1 file)",
    ]  # fmt: skip


@pytest.mark.parametrize("max_tokens", [1, 30, 100, 300, 100_000])
def test_pages_are_within_the_budget_and_miss_nothing(tmp_path: Path, max_tokens: int) -> None:
    for i in range(8):
        body = "".join(f"def function_{j}(argument: int = {j}) -> str: ...\n" for j in range(i * 3))
        write(tmp_path, {f"m{i}.py": body})
    write(tmp_path, {"m3x.py": b"\0", "n.txt": "", "long.py": "def f(" + "a, " * 900 + "): ...\n"})
    found: list[tuple[str, str]] = []
    paths: set[str] = set()
    skipped: list[str] = []
    cursor = "start"
    while cursor:
        page = report(tmp_path, ".", max_tokens=max_tokens, cursor="" if cursor == "start" else cursor)
        assert max_tokens < 30 or estimate_tokens(render(page)) <= max_tokens
        assert page.truncated == bool(page.cursor)
        found += [(f.path, s.name) for f in page.files for s in f.symbols]
        paths |= {f.path for f in page.files}
        skipped += [s.path for s in page.skipped]
        cursor = page.cursor
    wanted = [("long.py", "f"), *((f"m{i}.py", f"function_{j}") for i in range(8) for j in range(i * 3))]
    assert found == wanted
    assert paths == {"long.py", *(f"m{i}.py" for i in range(8))}
    assert skipped == ["*.txt", "m3x.py"]


def test_bad_budget_and_cursor_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "x = 1\n"})
    for bad in ({"max_tokens": 0}, {"cursor": "x"}, {"cursor": "-1:a.py"}):
        with pytest.raises(UsageError) as error:
            report(tmp_path, "a.py", **bad)  # type: ignore[arg-type]
        assert error.value.kind == "invalid_arguments"
