"""Properties of the edit engine on generated files: foreign bytes stay, the diff is the change, work is bounded."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.edits import Bench, bench, tree
from support.formats import steps

from regreen.edits.align import align
from regreen.edits.ladder import LEVELS, find
from regreen.edits.lines import MAX_COMPARED, FileLines, Rows, TooRepetitive

BODIES = st.one_of(
    st.sampled_from(
        ["", "\t", "  x", "\\", "-- a", "++ b", "@@ -1 +1 @@", "\x0c", "a\u2028b", "\u00e9", "e\u0301", "a\rb"]
    ),
    st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=6),
)
EOLS = st.sampled_from(["\n", "\n", "\n", "\r\n"])


@st.composite
def edited_files(draw: st.DrawFn) -> tuple[list[tuple[str, str]], list[tuple[int, int, list[str]]]]:
    """Lines (body, eol), each body unique, and disjoint windows (start, end, new bodies) in any order."""
    raw = draw(st.lists(st.tuples(BODIES, EOLS), min_size=1, max_size=25))
    lines = [(f"{body}|{n}", eol) for n, (body, eol) in enumerate(raw)]
    if draw(st.booleans()):
        lines[-1] = (lines[-1][0], "")
    cuts = sorted(draw(st.sets(st.integers(0, len(lines)), min_size=2, max_size=8)))
    windows: list[tuple[int, int, list[str]]] = []
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        new = [f"new{start}.{k} {body}" for k, body in enumerate(draw(st.lists(BODIES, max_size=4)))]
        keep = [body for body, _ in lines[start:end]] if draw(st.booleans()) else []
        windows.append((start, end, keep[: len(keep) // 2] + new + keep[len(keep) // 2 :]))
    return lines, draw(st.permutations(windows))


def as_bytes(lines: list[tuple[str, str]]) -> bytes:
    return "".join(body + eol for body, eol in lines).encode("utf-8")


def text(bodies: list[str]) -> str:
    return "".join(body + "\n" for body in bodies)


def in_fresh_folder(check: Callable[[Bench, Path], None], files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder, bench(Path(folder), files) as on:
        check(on, Path(folder))


@settings(max_examples=40, deadline=None, database=None)
@given(edited_files())
def test_lines_that_no_edit_names_are_byte_identical(
    made: tuple[list[tuple[str, str]], list[tuple[int, int, list[str]]]],
) -> None:
    lines, windows = made
    named = {n for start, end, _ in windows for n in range(start, end)}

    def check(on: Bench, _: Path) -> None:
        edits = [("f.txt", text([b for b, _ in lines[s:e]]), text(new)) for s, e, new in windows]
        planned = on.plan(*edits)
        assert on.read("f.txt") == as_bytes(lines)
        if not planned.report.ok:
            assert {e.error.kind for e in planned.report.edits if e.error} == {"no_op"}
            return
        after = planned.changes[0].after
        assert after is not None
        foreign = [(body + eol).encode() for n, (body, eol) in enumerate(lines) if n not in named]
        kept = [row for row in _rows(after) if row in set(foreign)]
        assert kept == foreign
        wanted = [b.encode() for n, (b, _) in enumerate(lines) if n not in named]
        assert len(_rows(after)) == len(wanted) + sum(len(new) for _, _, new in windows)

    in_fresh_folder(check, {"f.txt": as_bytes(lines)})


def _rows(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


@settings(max_examples=40, deadline=None, database=None)
@example(([("|0", "\n"), ("|1", "\n")], [(0, 1, [])]), True, "f.txt")
@example(([("|0", "\n"), ("|1", "\n")], [(0, 2, [])]), True, "f.txt")
@given(edited_files(), st.booleans(), st.sampled_from(["f.txt", "a b/f g.txt", "d\u00e9/\u6f22.txt", "q\"uo'te.txt"]))
def test_the_dry_run_diff_applied_by_git_is_the_commit(
    made: tuple[list[tuple[str, str]], list[tuple[int, int, list[str]]]], marked: bool, name: str
) -> None:
    lines, windows = made
    data = (b"\xef\xbb\xbf" if marked else b"") + as_bytes(lines)

    def check(on: Bench, folder: Path) -> None:
        other = folder / "other"
        (other / name).parent.mkdir(parents=True)
        (other / name).write_bytes(data)
        edits = [(name, text([b for b, _ in lines[s:e]]), text(new)) for s, e, new in windows]
        report = on.apply(*edits, ("new/empty.txt", "", ""), ("new/full.txt", "", text([b for b, _ in lines])))
        assert report.ok
        diff = "".join(file.diff for file in report.files).encode("utf-8")
        subprocess.run(["git", "apply", "-"], cwd=other, input=diff, check=True, capture_output=True, timeout=60)
        assert tree(other) == on.files()
        assert on.journal.undo(report.transaction).conflicts == ()
        assert on.files() == {**{p: v for p, v in tree(other).items() if not p.startswith("new")}, name: data}

    in_fresh_folder(check, {name: data})


def as_diff(windows: list[tuple[int, int, list[str]]], bodies: list[str]) -> str:
    """The windows as a unified diff with a line of context on either side, where there is one; numbers are wrong."""
    hunks = ["--- a/f.txt", "+++ b/f.txt"]
    for start, end, new in windows:
        old = [f"-{body}" for body in bodies[start:end]]
        before, after = (
            [f" {body}" for body in part] for part in (bodies[max(0, start - 1) : start], bodies[end:][:1])
        )
        hunks += ["@@ -1,9 +9,1 @@", *before, *old, *(f"+{body}" for body in new), *after]
    return "\n".join(hunks) + "\n"


def as_patch(windows: list[tuple[int, int, list[str]]], bodies: list[str]) -> str:
    body = as_diff(windows, bodies).split("\n", 2)[2].replace("@@ -1,9 +9,1 @@", "@@")
    return f"*** Begin Patch\n*** Update File: f.txt\n{body}*** End Patch\n"


def as_calls(windows: list[tuple[int, int, list[str]]], bodies: list[str]) -> str:
    """The windows as pieces of text; one that is only inserted goes behind its line, from the end on."""
    made: list[dict[str, object]] = []
    for start, end, new in sorted(windows, reverse=True):
        call: dict[str, object] = {"path": "f.txt", "command": "insert", "insert_line": start, "insert_text": text(new)}
        if end > start:
            call = {"path": "f.txt", "command": "str_replace", "old_str": text(bodies[start:end]), "new_str": text(new)}
        made.append(call)
    return json.dumps(made)


@settings(max_examples=60, deadline=None, database=None)
@given(edited_files())
def test_every_format_says_the_same(made: tuple[list[tuple[str, str]], list[tuple[int, int, list[str]]]]) -> None:
    lines, windows = made
    bodies = [body for body, _ in lines]
    windows = [(s, e, new) for s, e, new in windows if new or e > s]
    if not windows or any("\r" in body for _, _, new in windows for body in [*new, *bodies]) or not lines[-1][1]:
        return

    def check(on: Bench, _: Path) -> None:
        outcomes = {name: on.plan(write(windows, bodies)) for name, write in WRITERS.items()}
        for name, planned in outcomes.items():
            kinds = {e.error.kind for e in planned.report.edits if e.error}
            assert planned.report.ok or kinds <= {"no_op"}, (name, planned.report)
        assert len({planned.id for planned in outcomes.values()}) == 1
        if outcomes["diff"].report.ok:
            again = on.plan("".join(file.diff for file in outcomes["diff"].report.files))
            assert again.id == outcomes["diff"].id, "its own diff, read again"

    in_fresh_folder(check, {"f.txt": as_bytes(lines)})


WRITERS = {"diff": as_diff, "patch": as_patch, "calls": as_calls}


@st.composite
def patches(draw: st.DrawFn) -> tuple[dict[str, bytes], str]:
    """A few files, and a patch that changes, moves, deletes or leaves each of them and adds others."""
    files: dict[str, bytes] = {}
    parts = ["*** Begin Patch\n"]
    for number in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(["", "d/", "d/e/"])) + f"f{number}.txt"
        rows = [
            f"{body}|{n}" for n, body in enumerate(draw(st.lists(BODIES.filter(lambda b: "\r" not in b), min_size=1)))
        ]
        files[name] = as_bytes([(row, draw(EOLS)) for row in rows])
        at = draw(st.integers(0, len(rows) - 1))
        change = f"@@\n-{rows[at]}\n+new{number}\n" if draw(st.booleans()) else ""
        move = f"*** Move to: {draw(st.sampled_from(['', 'd/', 'g/h/']))}m{number}.txt\n"
        kind = draw(st.sampled_from(["change", "move", "delete", "keep"]))
        if kind == "move" or (kind == "change" and change):
            parts.append(f"*** Update File: {name}\n{move if kind == 'move' else ''}{change}")
        elif kind == "delete":
            parts.append(f"*** Delete File: {name}\n")
    parts.append("*** Add File: g/added.txt\n+one\n+two\n*** End Patch\n")
    return files, "".join(parts)


@settings(max_examples=25, deadline=None, database=None)
@given(patches())
def test_moves_and_deletions_too_are_what_git_makes_of_the_diff_and_are_undone(
    made: tuple[dict[str, bytes], str],
) -> None:
    files, patch = made

    def check(on: Bench, folder: Path) -> None:
        before = on.files()
        other = folder / "other"
        shutil.copytree(on.root, other)
        report = on.apply(patch)
        assert report.ok, report
        diff = "".join(file.diff for file in report.files).encode("utf-8")
        subprocess.run(["git", "apply", "-"], cwd=other, input=diff, check=True, capture_output=True, timeout=60)
        assert contents(tree(other)) == contents(on.files())
        assert on.journal.undo(report.transaction).conflicts == ()
        assert on.files() == before

    in_fresh_folder(check, files)


def contents(files: Mapping[str, bytes | str]) -> dict[str, bytes | str]:
    """Files without the folders, which git removes when they are empty."""
    return {name: data for name, data in files.items() if data != "/"}


@settings(max_examples=200, deadline=None, database=None)
@given(*[st.lists(st.sampled_from("aabc"), max_size=14)] * 2)
def test_alignment_pairs_equal_lines_in_rising_order(old: list[str], new: list[str]) -> None:
    pairs = align(old, new)
    assert all(old[a] == new[b] for a, b in pairs)
    assert all(p[0] < q[0] and p[1] < q[1] for p, q in pairwise(pairs))
    if old == new:
        assert len(pairs) == len(old)


@settings(max_examples=200, deadline=None, database=None)
@given(
    st.lists(st.sampled_from(["a", " a", "  a", "\ta", "b", "b ", "", "\tb", "    b"]), max_size=10),
    st.lists(st.sampled_from(["a", " a", "  a", "\ta", "b", "b ", "", "\tb", "    b"]), min_size=1, max_size=3),
)
def test_the_first_level_with_a_place_decides_and_lists_every_place(file: list[str], search: list[str]) -> None:
    found = find(FileLines(Rows.ended(file)), tuple(search), ("x",))
    exact = [n for n in range(len(file)) if file[n : n + len(search)] == search]
    if exact:
        assert found is not None
        assert (found.level, [fit.start for fit in found.fits]) == ("exact", exact)
    elif found is not None:
        assert found.level in [level.name for level in LEVELS[1:]]
        for fit in found.fits:
            window = file[fit.start : fit.start + len(fit.search)]
            assert [body.strip() for body in window] == [body.strip() for body in fit.search]


HARD: dict[str, Callable[[int], tuple[list[str], list[str]]]] = {
    "equal lines": lambda n: (["a"] * n, ["a"] * (n // 2) + ["b"]),
    "shifted equal lines": lambda n: (["  a"] * n, ["a"] * (n // 2)),
    "alternating indents": lambda n: ([" a", "  a"] * (n // 2), ["a"] * (n // 2)),
    "tabs and blanks": lambda n: (["\ta", "\t\ta"] * (n // 2), ["    a"] * (n // 2)),
    "blank edges": lambda n: (["", "a"] * (n // 2), ["", "", "a", "c", "", ""] * (n // 6)),
}


@pytest.mark.parametrize("shape", HARD)
def test_matching_work_does_not_grow_with_the_square(shape: str) -> None:
    def work(n: int) -> Callable[[], object]:
        file, search = HARD[shape](n)

        def run() -> None:
            with suppress(TooRepetitive):
                find(FileLines(Rows.ended(file)), tuple(search), ("x",))

        return run

    small, large = steps(work(600)), steps(work(4_800))
    assert large < 8 * 2 * small
    assert large < 12 * MAX_COMPARED


def test_aligning_and_explaining_large_blocks_is_near_linear(tmp_path: Path) -> None:
    def work(n: int, on: Bench) -> Callable[[], object]:
        old = [f"value_{k} = {k % 7}" for k in range(n)]
        on.put(a__py=text(old))
        edits = (("a.py", text(old), text(old[::2])), ("a.py", text([*old[1::2], "x"]), "y"))
        return lambda: on.plan(*edits)

    with bench(tmp_path) as on:
        assert steps(work(8_000, on)) < 8 * 2 * steps(work(1_000, on))
