"""Planning and committing edits on real folders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.edits import Bench, bench, told

from regreen.errors import UsageError
from regreen.model import EditReport
from regreen.settings import Limits
from regreen.wire import to_json


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as made:
        yield made


def kinds(report: EditReport) -> list[str]:
    return [e.error.kind if e.error else "" for e in report.edits]


def block(path: str, search: str, replace: str) -> str:
    return f"{path}\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def test_a_replacement_means_whole_lines_with_or_without_a_final_newline(on: Bench) -> None:
    on.put(a__py="x = 1\nmax = 1\n")
    assert on.apply(("a.py", "x = 1", "x = 2")).ok
    assert on.apply(("a.py", "x = 2\n", "x = 3\n")).ok
    assert on.read("a.py") == b"x = 3\nmax = 1\n"
    assert kinds(on.apply(("a.py", "= 3", "= 4"))) == ["no_match"]


def test_a_replacement_with_an_empty_search_creates_only_what_is_missing(on: Bench) -> None:
    assert on.apply(("pkg/new.py", "", "a = 1\nb = 2")).ok
    assert on.read("pkg/new.py") == b"a = 1\nb = 2\n"
    assert kinds(on.apply(("pkg/new.py", "", "other"))) == ["empty_search"]
    assert kinds(on.apply(("pkg/new.py", "", "a = 1\nb = 2\n"))) == ["already_applied"]


def test_all_failures_are_reported_at_once_and_nothing_is_written(on: Bench) -> None:
    on.put(a__py="x = 1\nx = 1\ny = 2\n", b__py="k = 1\n")
    before = on.files()
    report = on.apply(
        ("a.py", "x = 1", "x = 2"),
        ("a.py", "y = 3", "y = 4"),
        ("b.py", "k = 1", "k = 2"),
        ("c.py", "k = 1", "k = 2"),
        (".git/config", "", "evil"),
        ("../out", "", "evil"),
    )
    assert kinds(report) == ["ambiguous", "no_match", "", "file_not_found", "path_protected", "path_outside"]
    assert [e.index for e in report.edits] == [0, 1, 2, 3, 4, 5]
    assert report.edits[2].status == "would_apply"
    assert (report.ok, report.files, report.plan, report.transaction) == (False, (), "", "")
    assert on.files() == before
    said = told(report)
    assert said.startswith("NOTHING was applied: 5 of 6 edits")
    assert "send all 6 edits again" in said
    json.dumps(to_json(report)).encode("utf-8")


def test_an_unreadable_response_still_judges_the_blocks_before_it(on: Bench) -> None:
    on.put(a__py="x = 1\n")
    report = on.apply(block("a.py", "nope\n", "y\n") + "<<<<<<< SEARCH\nx")
    assert kinds(report) == ["no_match", "parse"]


def test_ambiguity_lists_at_most_ten_lines(on: Bench) -> None:
    on.put(a__py="x\n" * 30)
    [edit] = on.apply(("a.py", "x", "y")).edits
    assert edit.error is not None
    assert edit.error.candidates == tuple(range(1, 11))
    assert "more than 10 places" in edit.error.message


def test_lines_are_numbered_as_in_the_file_before_the_edit(on: Bench) -> None:
    on.put(a__py="a\nb\nc\nd\n")
    report = on.apply(("a.py", "a", "1\n2\n3"), ("a.py", "c\nd", "c\nD"), ("a.py", "2", "two"))
    assert [(e.line_start, e.line_end) for e in report.edits] == [(1, 1), (3, 4), (0, 0)]
    assert on.read("a.py") == b"1\ntwo\n3\nb\nc\nD\n"


def test_an_edit_overtaken_by_an_earlier_one_says_by_which(on: Bench) -> None:
    on.put(a__py="x = 1\ny = 2\nz = 3\n")
    report = on.apply(("a.py", "x = 1\ny = 2", "x = 9\ny = 9"), ("a.py", "y = 2\nz = 3", "y = 5\nz = 5"))
    assert kinds(report) == ["", "no_match"]
    assert "lines 2-3, but edit 1 of this response changes them first" in told(report)


def test_a_plan_is_what_is_committed_and_its_id_names_the_changes(on: Bench) -> None:
    on.put(a__py="x = 1\n")
    first, again = on.plan(("a.py", "x = 1", "x = 2")), on.plan(block("a.py", "x = 1\n", "x = 2\n"))
    other = on.plan(("a.py", "x = 1", "x = 3"))
    assert first.id == again.id != other.id
    assert first.report.edits[0].status == "would_apply"
    report = on.apply(("a.py", "x = 1", "x = 2"))
    assert report.edits[0].status == "applied"
    assert report.transaction
    [file] = report.files
    assert file.sha_after == hashlib.sha256(b"x = 2\n").hexdigest()
    assert (file.action, file.added, file.removed) == ("modify", 1, 1)
    assert told(report).startswith("1 edit applied to 1 file")
    assert on.journal.undo(report.transaction).restored == ("a.py",)
    assert on.read("a.py") == b"x = 1\n"


def test_a_file_that_is_not_the_one_that_was_read_is_stale(on: Bench) -> None:
    on.put(a__py="x = 1\n", b__py="y = 1\n")
    sha = hashlib.sha256(b"x = 1\n").hexdigest()
    edits = (("a.py", "x = 0", "x = 2"), ("b.py", "y = 1", "y = 2"))
    assert kinds(on.apply(*edits, expected_sha256={"a.py": "0" * 64})) == ["stale", ""]
    assert kinds(on.apply(*edits, expected_sha256={"a.py": ""})) == ["stale", ""]
    edits = (("a.py", "x = 1", "x = 2"), ("b.py", "y = 1", "y = 2"))
    assert kinds(on.apply(("new.py", "", "x"), expected_sha256={"new.py": sha})) == ["stale"]
    assert on.plan(*edits, expected_sha256={"./a.py": sha.upper()}).report.ok
    assert "was not compared" in on.plan(*edits, expected_sha256={"other.py": sha}).report.warnings[0]


def test_the_callers_protected_paths_are_refused_also_through_a_link(on: Bench) -> None:
    on.put(test_a__py="x = 1\n")
    (on.root / "link.py").symlink_to("test_a.py")
    for path in ("test_a.py", "./test_a.py", "link.py"):
        report = on.apply((path, "x = 1", "x = 2"), protected=lambda p: p.startswith("test_"))
        assert kinds(report) == ["path_protected"]


def test_two_names_of_one_file_are_one_file(on: Bench) -> None:
    on.put(a__py="x = 1\ny = 1\n")
    (on.root / "link.py").symlink_to("a.py")
    report = on.apply(("a.py", "x = 1", "x = 2"), ("link.py", "y = 1", "y = 2"))
    assert [f.path for f in report.files] == ["a.py"]
    assert on.read("a.py") == b"x = 2\ny = 2\n"
    assert (on.root / "link.py").is_symlink()


@pytest.mark.parametrize(
    ("path", "kind"),
    [("", "path_invalid"), ("folder", "path_invalid"), ("a.py/x", "path_invalid"), ("/etc/passwd", "path_outside"),
     ("../ws-evil/x", "path_outside"), (".GIT/hooks/x", "path_protected"), ("sub/.git/x", "path_protected"),
     ("a\n.py", "path_invalid"), ("\ud800.py", "path_invalid")],
)  # fmt: skip
def test_paths_that_may_not_be_written(on: Bench, path: str, kind: str) -> None:
    on.put(a__py="x\n")
    (on.root / "folder").mkdir()
    (on.root.parent / "ws-evil").mkdir()
    before = on.files()
    report = on.apply((path, "", "evil\n"))
    json.dumps(to_json(report), ensure_ascii=False).encode("utf-8")
    assert (kinds(report), on.files()) == ([kind], before)


def test_a_plan_never_makes_a_path_both_file_and_folder(on: Bench) -> None:
    for edits in ((("a", "", "x"), ("a/b", "", "y")), (("a/b", "", "y"), ("a", "", "x"))):
        report = on.apply(*edits)
        assert (report.ok, on.files()) == (False, {})
        assert "path_invalid" in kinds(report)


@pytest.mark.parametrize(
    ("data", "search", "replace", "wanted"),
    [
        (b"a\r\nb\nc\r\n", "b", "B\nB2", b"a\r\nB\nB2\nc\r\n"),
        (b"a\r\nb\nc\r\n", "c", "C\nC2", b"a\r\nb\nC\r\nC2\r\n"),
        (b"a\nb", "b", "", b"a\n"),
        (b"a\r\nb", "b", "b\nc", b"a\r\nb\r\nc"),
        (b"a\r\nb", "a\nb", "b", b"b"),
        (b"a", "a", "a\nb", b"a\nb"),
        (b"a\n\nb", "b", "b\n\n", b"a\n\nb\n\n"),
        (b"a\x0cb\xe2\x80\xa8c\rd\nx\n", "x", "y", b"a\x0cb\xe2\x80\xa8c\rd\ny\n"),
        (b"one\n", "one", "", b""),
        (b"\xef\xbb\xbfa\nb\n", "a", "A", b"\xef\xbb\xbfA\nb\n"),
        (b"a\xff\nb\n", "b", "c", b"a\xff\nc\n"),
        (b"x  \r\ny\r\n", "x\ny", "x\nz", b"x  \r\nz\r\n"),
        (b"\n\n\n", "a", "b", None),
    ],
)
def test_line_ends_and_bytes_of_other_lines_stay(
    on: Bench, data: bytes, search: str, replace: str, wanted: bytes | None
) -> None:
    on.put(f__txt=data)
    report = on.apply(("f.txt", search, replace))
    assert on.read("f.txt") == (data if wanted is None else wanted)
    assert report.ok is (wanted is not None)


@pytest.mark.parametrize(
    ("data", "replace"),
    [
        (b"a\xff\nx\n", "\u00e9"),
        (b"a\nx\n", "\ud800"),
        (b"a\nx\n", "nul\0"),
        (b"x\n\xc3\xa9\n", "# coding: latin-1"),
        (b"x\n", "\ufeffx"),
        (b"a\nb\nx\n", "b\r\r\n"),
    ],
)
def test_text_that_the_file_cannot_hold_is_refused(on: Bench, data: bytes, replace: str) -> None:
    on.put(f__py=data)
    assert kinds(on.apply(("f.py", "x", replace))) == ["encoding"]
    assert on.read("f.py") == data


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("# ... rest of the code ...", True),
        ("    # ...", True),
        ("// unchanged", True),
        ("/* ... existing methods ... */", True),
        ("<!-- rest of file unchanged -->", True),
        ("{/* ... other imports ... */}", True),
        ("-- remaining code here", True),
        ("# the rest of the function stays the same", True),
        ("msg = '# ... existing code ...'", False),
        ("...", False),
        ("# remaining budget in seconds", False),
        ("# existing users keep their id", False),
        ("# wait ... then go", False),
        ("# other methods", False),
    ],
)
def test_placeholders_are_refused_and_ordinary_comments_are_not(on: Bench, line: str, refused: bool) -> None:
    on.put(a__py="x = 1\ny = 2\n")
    report = on.apply(("a.py", "x = 1\ny = 2", f"x = 1\n{line}"))
    assert kinds(report) == (["elision"] if refused else [""])


def test_a_blank_line_added_beside_another_is_no_repetition(on: Bench) -> None:
    on.put(a__py="x\n\ndef f(): pass\n")
    assert on.apply(("a.py", "def f(): pass", "\ndef f(): pass")).ok
    assert on.read("a.py") == b"x\n\n\ndef f(): pass\n"


def test_a_misquoted_deletion_is_not_called_applied(on: Bench) -> None:
    on.put(a__py="keep\nreally here\n")
    assert kinds(on.apply(("a.py", "keep\nreally there", "keep"))) == ["no_match"]


def test_edits_that_cancel_each_other_are_no_op(on: Bench) -> None:
    on.put(a__py="v = 1\n")
    assert kinds(on.apply(("a.py", "v = 1", "v = 2"), ("a.py", "v = 2", "v = 1"))) == ["no_op", "no_op"]


def test_strict_takes_exact_matches_only(on: Bench) -> None:
    on.put(a__py="    x = 1\n")
    assert kinds(on.apply(("a.py", "x = 1", "x = 2"), strict=True)) == ["no_match"]
    report = on.apply(("a.py", "x = 1", "x = 2"))
    assert report.edits[0].level == "indent_shift"
    assert "fits at level indent_shift" in report.warnings[0]


def test_nfc_forms_match_and_unchanged_lines_keep_their_own(on: Bench) -> None:
    on.put(a__py="cafe\u0301 = 1\nx = 1\n")
    report = on.apply(("a.py", "caf\u00e9 = 1\nx = 1", "caf\u00e9 = 1\nx = 2"))
    assert report.edits[0].level == "unicode_nfc"
    assert on.read("a.py") == "cafe\u0301 = 1\nx = 2\n".encode()


def test_repetition_too_large_to_compare_is_ambiguous_never_a_guess(on: Bench) -> None:
    on.put(a__py=" a\n" * 999 + "  a\n" * 2000)
    assert kinds(on.apply(("a.py", "a\n" * 999 + " a", "b"))) == ["ambiguous"]


def test_sizes_are_limited(on: Bench) -> None:
    on.put(a__py="x\n")
    limits = Limits(max_response_bytes=100, max_edits=2, max_file_bytes=60)
    assert kinds(on.apply(("a.py", "x", "y" * 200), limits=limits)) == ["too_large"]
    assert kinds(on.apply(("a.py", "x", "y" * 80), limits=limits)) == ["too_large"]
    assert kinds(on.apply(*[("a.py", "x", "y")] * 3, limits=limits)) == ["too_large"]


def test_a_report_over_many_failures_stays_small(on: Bench) -> None:
    on.put(a__py="".join(f"value_{i} = {'long ' * 100}\n" for i in range(500)))
    report = on.apply(*[("a.py", f"value_{i} = {'lang ' * 100}", "x") for i in range(400)])
    assert len(json.dumps(to_json(report))) < 150_000
    assert len(told(report)) < 40_000
    assert all(e.error and e.error.kind == "no_match" for e in report.edits)


def test_an_empty_proposal_is_no_edits_and_two_kinds_at_once_a_mistake(on: Bench) -> None:
    from regreen.edits import plan
    from regreen.model import Proposal, Replacement

    assert kinds(plan(Proposal(), on.workspace).report) == ["no_edits"]
    with pytest.raises(UsageError):
        plan(Proposal(text="x", replacements=(Replacement("a", "", ""),)), on.workspace)
    with pytest.raises(UsageError):
        plan(Proposal(replacements=(Replacement("a", "", ""),), format="fancy"), on.workspace)
