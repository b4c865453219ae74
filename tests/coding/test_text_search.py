"""Searching text: what matches, what is shown of it, what is said of what was not searched."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.listings import listed, write

from regreen.errors import RegreenError, UsageError
from regreen.model import SearchReport
from regreen.repo.searching.search import search
from regreen.sandbox import Cancel
from regreen.settings import Limits
from regreen.workspace import Workspace, split_lines


def found(root: Path, pattern: str, **options: Any) -> SearchReport:
    with listed(root) as it:
        return search(it.workspace, it.files, pattern, **options)


def places(report: SearchReport) -> list[tuple[str, int, int]]:
    return [(match.path, match.line, match.column) for match in report.matches]


def test_a_line_is_a_match_once_at_its_first_column(tmp_path: Path) -> None:
    write(tmp_path, {"b.py": "x = need(need)\n", "a/z.py": "\n  a need\nno\nneed", "a.py": "NEED\n"})
    report = found(tmp_path, "need")
    assert places(report) == [("a/z.py", 2, 5), ("a/z.py", 4, 1), ("b.py", 1, 5)]
    assert [match.text for match in report.matches] == ["  a need", "need", "x = need(need)"]
    assert (report.files_searched, report.files_matched, report.truncated, report.notes) == (3, 2, False, ())


def test_case_counts_unless_it_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "Größe\nGRÖSSE\ngRÖßE\n(\n"})
    assert [m.line for m in found(tmp_path, "größe").matches] == []
    assert [m.line for m in found(tmp_path, "größe", ignore_case=True).matches] == [1, 3]
    assert [m.line for m in found(tmp_path, "gr[öo]", ignore_case=True, regex=True).matches] == [1, 2, 3]


def test_characters_with_a_meaning_in_regexes_are_plain_in_a_literal_search(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "a.b(c)*\naxb\n"})
    assert [m.line for m in found(tmp_path, "a.b(c)*").matches] == [1]
    assert [m.line for m in found(tmp_path, "A.B(C)*", ignore_case=True).matches] == [1]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_anchors_and_lines_are_the_same_for_both_line_ends(tmp_path: Path, end: str) -> None:
    write(tmp_path, {"a.txt": end.join(["one", "two", "", "three"]).encode()})
    assert [m.line for m in found(tmp_path, "^t|e$", regex=True).matches] == [1, 2, 4]
    assert [m.line for m in found(tmp_path, "^$", regex=True).matches] == [3]
    assert found(tmp_path, "one\r\ntwo\n\nth").matches[0].text == "one\ntwo\n\nthree"
    assert [m.after for m in found(tmp_path, "two", context=1).matches] == [("",)]
    assert not found(tmp_path, "\r").matches


def test_a_regex_stays_within_a_line_unless_it_speaks_of_line_ends(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "f(a,\n  b)\nclass A:\n    pass\n"})
    assert not found(tmp_path, r"f\([^)]*\)", regex=True).matches
    assert not found(tmp_path, r"a,\s+b", regex=True).matches
    for pattern in (r"a,\n\s+b", r"(?s)a,.*?b\)", r"f\([\s\S]*?\)"):
        (match,) = found(tmp_path, pattern, regex=True).matches
        assert (match.line, match.text) == (1, "f(a,\n  b)")


def test_a_match_over_lines_is_followed_by_the_next_one_after_it(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "a\na\na\na\nb a\na b\n"})
    assert [m.line for m in found(tmp_path, "a\na").matches] == [1, 3, 5]
    long = "x\n" * 40
    write(tmp_path, {"b.txt": long})
    (match,) = found(tmp_path, long[:-1], globs=["b.txt"]).matches
    assert match.text == "\n".join(["x"] * 10) + "\n…"


def test_encodings_are_searched_as_they_are_read(tmp_path: Path) -> None:
    text = "naïve 数据\nsecond naïve\n"
    write(
        tmp_path,
        {
            "bom.txt": b"\xef\xbb\xbf" + text.encode(),
            "cookie.py": b"# -*- coding: latin-1 -*-\nna\xefve\n",
            "gbk.py": "# coding: gbk\n数据 naive\n".encode("gbk"),
            "le.txt": b"\xff\xfe" + text.encode("utf-16-le"),
            "left.txt": b"caf\xe9 x\nna\xefve and more\n",
            "utf8.txt": text.encode(),
        },
    )
    assert places(found(tmp_path, "naïve")) == [
        ("bom.txt", 1, 1), ("bom.txt", 2, 8), ("cookie.py", 2, 1), ("le.txt", 1, 1), ("le.txt", 2, 8),
        ("utf8.txt", 1, 1), ("utf8.txt", 2, 8),
    ]  # fmt: skip
    assert [path for path, *_ in places(found(tmp_path, "数据$", regex=True))] == ["bom.txt", "le.txt", "utf8.txt"]
    assert places(found(tmp_path, "据", ignore_case=True, globs=["gbk.py"])) == [("gbk.py", 2, 2)]
    (match,) = found(tmp_path, "caf. x$", regex=True).matches
    assert match.text == "caf\ufffd x"
    assert places(found(tmp_path, " and more")) == [("left.txt", 2, 6)]
    assert places(found(tmp_path, "^naïve", regex=True, globs=["bom.txt"])) == [("bom.txt", 1, 1)]


def test_context_shows_no_line_twice(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "".join(f"{'hit ' if n in (3, 5, 6, 12) else ''}{n}\n" for n in range(1, 14))})
    report = found(tmp_path, "hit", context=2)
    assert [(m.before, m.text, m.after) for m in report.matches] == [
        (("1", "2"), "hit 3", ("4",)),
        ((), "hit 5", ()),
        ((), "hit 6", ("7", "8")),
        (("10", "11"), "hit 12", ("13",)),
    ]
    assert all(m.before == () and m.after == () for m in found(tmp_path, "hit").matches)


def test_a_long_line_is_cut_around_the_match(tmp_path: Path) -> None:
    line = "é" * 5000 + "needle" + "x" * 5000
    write(tmp_path, {"min.js": line, "start.js": "needle" + "y" * 2000, "end.js": "z" * 2000 + "needle"})
    end, middle, start = found(tmp_path, "needle").matches
    assert (middle.column, end.column, start.column) == (5001, 2001, 1)
    for match in (end, middle, start):
        assert len(match.text) <= 300
        assert "needle" in match.text
    assert middle.text.startswith("…é")
    assert middle.text.endswith("x…")
    assert (end.text[0], end.text[-1]) == ("…", "e")
    assert (start.text[0], start.text[-1]) == ("n", "…")


def test_the_limit_keeps_the_order_and_names_files_with_further_matches(tmp_path: Path) -> None:
    write(tmp_path, {f"{name}.txt": "hit\nhit\nhit\n" for name in "abcd"})
    report = found(tmp_path, "hit", limit=4)
    assert places(report) == [("a.txt", 1, 1), ("a.txt", 2, 1), ("a.txt", 3, 1), ("b.txt", 1, 1)]
    assert report.truncated
    assert (report.files_matched, report.files_searched) == (4, 4)
    assert report.notes == ("limit reached, matches shown: 4; also in c.txt, d.txt",)
    assert not found(tmp_path, "hit", limit=12).truncated
    for wrong in ({"limit": 0}, {"limit": 20_001}, {"context": -1}, {"context": 11}):
        with pytest.raises(UsageError) as e:
            found(tmp_path, "hit", **wrong)
        assert e.value.kind == "invalid_arguments"


@pytest.mark.parametrize(
    ("globs", "paths"),
    [
        (["*.py"], ["a.py", "t/b.py", "t/u/c.py"]),
        (["t"], ["t/b.py", "t/b.txt", "t/u/c.py"]),
        (["t/*.py", "a.py"], ["a.py", "t/b.py"]),
        (["!t"], ["a.py", "a.txt"]),
        (["*.py", "!t/u", "!nothing/*"], ["a.py", "t/b.py"]),
        (["out/ignored.py"], ["out/ignored.py"]),
    ],
)
def test_globs_choose_the_files(tmp_path: Path, globs: list[str], paths: list[str]) -> None:
    names = ("a.py", "a.txt", "t/b.py", "t/b.txt", "t/u/c.py", "out/ignored.py")
    write(tmp_path, {".gitignore": "out/\n", **dict.fromkeys(names, "hit\n")})
    assert [m.path for m in found(tmp_path, "hit", globs=globs).matches] == paths


@pytest.mark.parametrize("glob", ["*.rs", "nothing", "t/**/*.rs"])
def test_a_glob_without_files_is_an_error(tmp_path: Path, glob: str) -> None:
    write(tmp_path, {"a.py": "", "t/b.py": ""})
    with pytest.raises(UsageError) as e:
        found(tmp_path, "hit", globs=["a.py", glob])
    assert e.value.kind == "not_found"
    assert e.value.hint


def test_what_is_not_searched_is_counted(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.bin": b"hit\0", "b.bin": b"\0", "big.txt": b"hit" * 1000, ".env": b"hit=1", "wide.txt": b"\xff\xfehit",
            "ok.txt": b"hit", "secret/.env.production": b"hit",
        },
    )  # fmt: skip
    (tmp_path / "link.txt").symlink_to("ok.txt")
    with listed(tmp_path) as it, Workspace(tmp_path, Limits(max_file_bytes=1000)) as small:
        report = search(small, it.files, "hit")
        named = search(small, it.files, "hit", globs=[".env", "link.txt"])
    assert [m.path for m in report.matches] == ["ok.txt"]
    assert report.files_searched == 1
    assert report.notes == (
        "not searched: 2 binary, 2 known to hold secrets, 1 in no encoding that is known, "
        "1 links or no regular files, 1 too large",
    )
    assert [m.path for m in named.matches] == ["link.txt"]
    assert named.notes == ("not searched: 1 known to hold secrets",)


def test_a_link_that_took_a_files_place_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"f.txt": "hit\n"})
    root = tmp_path / "root"
    write(root, {"a.txt": "hit\n", "d/b.txt": "hit\n", "e/f.txt": "hit\n", "gone.txt": "hit\n"})
    with listed(root) as it:
        (root / "a.txt").unlink()
        (root / "a.txt").symlink_to(outside / "f.txt")
        (root / "e/f.txt").unlink()
        (root / "e").rmdir()
        (root / "e").symlink_to(outside)
        (root / "gone.txt").unlink()
        report = search(it.workspace, it.files, "hit")
    assert [m.path for m in report.matches] == ["d/b.txt"]
    assert report.notes == ("not searched: 2 links or no regular files, 1 no longer there",)


@pytest.mark.skipif(os.name == "nt", reason="no named pipes")
def test_a_pipe_in_a_files_place_does_not_block(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "hit\n"})
    with listed(tmp_path) as it:
        (tmp_path / "a.txt").unlink()
        os.mkfifo(tmp_path / "a.txt")
        assert search(it.workspace, it.files, "hit").notes == ("not searched: 1 links or no regular files",)


@pytest.mark.parametrize(
    ("pattern", "says", "hint"),
    [
        ("f(x", "`(` at position 2 that is never closed", "leave out `regex`"),
        (r"a[(]\(b)c", "`)` at position 8 that is never opened", r"`\)`"),
        ("[a", "position 1: missing ]", r"`\[`"),
        ("*a", "position 1", r"`\*`"),
        ("ab**", "position 3", r"`\*`"),
        ("x(?=y)", "position 2", "look-around is not supported"),
        ("(?<!x)y", "position 1", "look-around is not supported"),
        (r"(a)\1", "position 4", "references to groups are not supported"),
        ("(?P<n>a)(?P=n)", "position 9", "references to groups are not supported"),
        (r"a\Z", "position 2", r"`\z`"),
        ("a++", "position 2", "possessive"),
        ("\\", "position 1", r"`\\`"),
        ("a{1000}{1000}", "position 2", "at most 1000"),
        ("((a{100}){100}){100}", "position 4", "at most 1000"),
        (r"[\p{L}\p{N}]{1000}", "too large", "`*`"),
        (r"[\p{L}]{0,200}9", "too large", "`*`"),
        (r"\p{Nope}", "position 1", r"`\p{L}`"),
        ("", "empty", "text to look for"),
        ("a\0", "NUL character at position 2", "leave it out"),
        ("a\ud800", "position 2", "valid Unicode"),
        ("a" * 2001, "2001 characters", "shorter"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_explained(tmp_path: Path, pattern: str, says: str, hint: str) -> None:
    with pytest.raises(UsageError) as e:
        found(tmp_path, pattern, regex=True)
    assert e.value.kind == "invalid_arguments"
    assert says in e.value.message
    assert hint in e.value.hint


def test_without_the_engine_literal_searches_work_and_others_say_what_is_missing(tmp_path: Path) -> None:
    script = """
import sys
sys.modules["re2"] = None
from regreen.errors import EnvironmentFault
from regreen.repo.searching.patterns import compile_pattern
assert compile_pattern("a.b", regex=False, ignore_case=False).find(b"xa.b", 0, 4) == (1, 4)
try:
    compile_pattern("a.b", regex=True, ignore_case=False)
except EnvironmentFault as e:
    print(e.kind, e.message)
"""
    done = subprocess.run((sys.executable, "-c", script), capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("environment regular expressions need the package google-re2")


@pytest.mark.parametrize(
    ("pattern", "regex", "doubt"),
    [
        (r"def \w+\(", False, "set `regex`"),
        ("foo.*bar", False, "set `regex`"),
        (r"\<word\>", True, r"`\b`"),
        (r"foo\|bar", True, "`a|b`"),
    ],
)
def test_a_pattern_of_another_dialect_that_finds_nothing_is_doubted(
    tmp_path: Path, pattern: str, regex: bool, doubt: str
) -> None:
    write(tmp_path, {"a.txt": "nothing\n"})
    (note,) = found(tmp_path, pattern, regex=regex).notes
    assert doubt in note
    assert found(tmp_path, "absent").notes == ()


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*b", "^(([a-z])+.)+[A-Z]$", "(x+x+)+y"])
def test_patterns_that_explode_elsewhere_end_soon(tmp_path: Path, pattern: str) -> None:
    write(tmp_path, {"a.txt": b"a" * 2_000_000 + b"!", "x.txt": b"x" * 2_000_000})
    begun = time.process_time()
    report = found(tmp_path, pattern, regex=True)
    assert report.files_searched == 2
    assert time.process_time() - begun < 15


def test_a_large_pattern_gets_no_more_of_a_long_line_than_it_can_do_in_time(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": b"ab" * 2_000_000 + b"\nabc\n"})
    begun = time.process_time()
    report = found(tmp_path, "(?:.?){1000}c", regex=True)
    assert time.process_time() - begun < 15
    assert [m.line for m in report.matches] == [2]
    assert report.notes == ("1 line was searched at the start only: too long for so large a pattern",)


def test_lines_are_found_in_files_that_are_searched_in_pieces(tmp_path: Path) -> None:
    lines = [f"{n % 7}abc" for n in range(20_000)]
    write(tmp_path, {"a.txt": "\n".join(lines)})
    report = found(tmp_path, "^(?:[a-z0-6]{1,400}){1}$|^$", regex=True, limit=1000)
    assert [m.line for m in report.matches] == list(range(1, 1001))
    report = found(tmp_path, "^6(?:[abc]{1,400}){1}$|^$|^(?:x{0,900}y){1}$", regex=True, limit=1000)
    assert [m.line for m in report.matches] == [n + 1 for n, line in enumerate(lines) if line[0] == "6"][:1000]


def test_the_time_is_kept_and_the_rest_said(tmp_path: Path) -> None:
    write(tmp_path, {f"{n}.txt": "hit\n" for n in range(5)})
    report = found(tmp_path, "hit", budget_s=0.0)
    assert (report.matches, report.truncated, report.files_searched) == ((), True, 0)
    assert report.notes == ("stopped after 0 s: 0 of 5 files were looked at; name folders or globs for the rest",)
    write(tmp_path, {"0.txt": b"a\n" * 4_000_000})
    begun = time.process_time()
    report = found(tmp_path, "a", budget_s=0.2, limit=1000)
    assert report.truncated
    assert time.process_time() - begun < 15


def test_a_cancelled_search_returns_what_it_has(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "hit\n"})
    cancel = Cancel()
    cancel.set()
    report = found(tmp_path, "hit", cancel=cancel)
    assert report.truncated
    assert report.notes[0].startswith("cancelled: 0 of 1 files")


# --- properties -----------------------------------------------------------------------------------

_ALPHABET = st.text(alphabet="abA é\r\n.", max_size=60)
_LITERAL = st.text(alphabet="abA é.", min_size=1, max_size=3)
_ATOMS = ["a", "b", "A", ".", "[ab]", "[^a]", "a*", "b+", "a?", "(a|b)", "^", "$", "é", r"\.", " ", r"\b", "(?:ab)*"]
_REGEX = st.lists(st.sampled_from(_ATOMS), min_size=1, max_size=4).map("".join)
_SETTINGS = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def naive(text: str, pattern: str, flags: int = 0) -> list[tuple[int, int, str]]:
    bodies, _ = split_lines(text)
    hits = ((n, re.search(pattern, body, flags | re.ASCII), body) for n, body in enumerate(bodies, 1))
    return [(n, hit.start() + 1, body) for n, hit, body in hits if hit]


def lines_found(root: Path, text: str, pattern: str, **options: Any) -> Sequence[tuple[int, int, str]]:
    write(root, {"a.txt": text})
    return [(m.line, m.column, m.text) for m in found(root, pattern, **options).matches]


@_SETTINGS
@given(text=_ALPHABET, pattern=_LITERAL)
def test_literals_are_found_as_a_naive_search_finds_them(tmp_path: Path, text: str, pattern: str) -> None:
    assert lines_found(tmp_path, text, pattern) == naive(text, re.escape(pattern))


@_SETTINGS
@given(text=_ALPHABET, pattern=_REGEX)
def test_regexes_are_found_as_a_naive_search_finds_them(tmp_path: Path, text: str, pattern: str) -> None:
    try:
        wanted = naive(text, pattern)
    except re.error:  # such as `a**`
        return
    try:
        got = lines_found(tmp_path, text, pattern, regex=True)
    except UsageError:
        return
    if r"\b" in pattern and "é" in text:  # no letter for one of them
        return
    assert got == wanted


@_SETTINGS
@given(
    data=st.binary(max_size=80), pattern=st.text(min_size=1, max_size=6), regex=st.booleans(), context=st.integers(0, 2)
)
def test_no_bytes_and_no_pattern_break_the_search(
    tmp_path: Path, data: bytes, pattern: str, regex: bool, context: int
) -> None:
    write(tmp_path, {"a.txt": data})
    try:
        report = found(tmp_path, pattern, regex=regex, context=context)
    except RegreenError:
        return
    numbers = [m.line for m in report.matches]
    assert numbers == sorted(set(numbers))
    for match in report.matches:
        match.text.encode()
