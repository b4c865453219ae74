"""Unified diffs at large: no text makes the parser raise, right diffs are read to the letter, work stays linear."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from difflib import SequenceMatcher, unified_diff
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.diffs import DIFF, END, GIT, HEAD, OTHER, XY, edits, parse

from regreen.edits.operations import Operation, ReplaceLines

FRAGMENTS = st.sampled_from(
    [
        "--- a/f", "+++ b/f", "--- /dev/null", "+++ /dev/null", "--- g", "+++ g", '--- "a/\\303\\244"', '+++ "b/\\3"',
        "@@ -1,2 +1,2 @@", "@@ -0,0 +1 @@", "@@", "@@ ... @@", "@@@ -1 -1 +1 @@@", "diff --git a/f b/f", "diff --git",
        "diff --git a/f b/g", "rename from f", "rename to g", "new file mode 100644", "deleted file mode 100644",
        "old mode 100644", "index 1..2 100644", "Binary files a/f and b/f differ", " a", "-b", "+c", "", " ", "-", "+",
        "\\ No newline at end of file", "\\", "```diff", "```", "~~~~", "-- ", "2.39", "--- x", "+++ x", "prose", "\r",
        "- one", "+ two", "\x00", "\ud800", "\u2028",
    ]
)  # fmt: skip
LIKELY = st.lists(st.one_of(FRAGMENTS, st.text(max_size=6)), max_size=25).map("\n".join)
AFTER_HEAD = LIKELY.map(lambda text: f"{HEAD}@@ -1,2 +1,2 @@\n{text}")


@settings(max_examples=500, deadline=None, database=None)
@given(st.one_of(st.text(), LIKELY, AFTER_HEAD, AFTER_HEAD.map(lambda text: text.replace("\n", "\r\n"))))
def test_no_text_makes_the_parser_raise(text: str) -> None:
    parsed = parse(text)
    assert parsed.edits or parsed.problem
    assert all(edit.path for edit in parsed.edits)
    assert parsed.problem is None or parsed.problem_at == len(parsed.edits)


TAME = st.one_of(st.sampled_from(["a", "b", "  c", "", "-- x", "```", "\\ b", "@@", "\t", "d\fe", "f\rg", "ä\u2028"]))
WILD = st.one_of(
    TAME,
    st.sampled_from(
        ["++ b/x", "-- a/x", "- ", "-", "+", "2.39", "diff --git a/x b/x", "@@ -1 +1 @@", "++ x", END[:-1]]
    ),
    st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=4),
)
COUNT = st.integers(0, 9)


def hunks_of(old: list[str], new: list[str]) -> list[Operation]:
    groups = SequenceMatcher(None, old, new).get_grouped_opcodes(3)
    spans = [(g[0][1], g[-1][2], g[0][3], g[-1][4]) for g in groups]
    return [ReplaceLines("f", tuple(old[a:b]), tuple(new[c:d]), as_on_disk=True) for a, b, c, d in spans]


def diff_of(old: list[str], new: list[str]) -> str:
    return "\n".join([row.rstrip("\n") for row in unified_diff(old, new, "a/f", "b/f", lineterm="")] + [""])


@settings(max_examples=250, deadline=None, database=None)
@given(st.lists(WILD, max_size=30), st.lists(WILD, max_size=30), st.booleans())
def test_a_right_diff_is_read_to_the_letter(old: list[str], new: list[str], stripped: bool) -> None:
    text = diff_of(old, new)
    if stripped:  # as editors and models do: blank lines that stay lose their blank
        text = re.sub(r"^ $", "", text, flags=re.MULTILINE)
    wanted = hunks_of(old, new)
    assert not wanted or edits(text + OTHER) == [*wanted, XY]


@settings(max_examples=250, deadline=None, database=None)
@given(st.lists(TAME, max_size=30), st.lists(TAME, max_size=30), st.lists(COUNT, min_size=40, max_size=40))
def test_wrong_counts_change_nothing(old: list[str], new: list[str], counts: list[int]) -> None:
    numbers = iter(counts)
    text = re.sub(
        r"^@@ -.*@@$",
        lambda _: "@@ -{},{} +{},{} @@".format(*(next(numbers) for _ in range(4))),
        diff_of(old, new),
        flags=re.MULTILINE,
    )
    assert not text.strip() or edits(text) == hunks_of(old, new)


@settings(max_examples=40, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WILD, max_size=25), st.lists(WILD, max_size=25), st.booleans(), st.booleans())
def test_a_diff_of_git_gives_the_new_file(
    tmp_path: Path, old: list[str], new: list[str], old_open: bool, new_open: bool
) -> None:
    texts = {}
    for folder, rows, is_open in (("1", old, old_open), ("2", new, new_open)):
        texts[folder] = "".join(row.replace("\x00", "") + "\n" for row in rows)
        texts[folder] = texts[folder][:-1] if is_open else texts[folder]
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "f").write_bytes(texts[folder].encode())
    argv = ["git", "diff", "--no-index", "--no-prefix", "--no-color", "--no-ext-diff", "1/f", "2/f"]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    text = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, timeout=60).stdout.decode()
    if not text:
        return
    found = [edit for edit in edits(text) if isinstance(edit, ReplaceLines)]
    starts = [int(n) for n in re.findall(r"^@@ -(\d+)", text, re.MULTILINE)]
    rows, shift = texts["1"].removesuffix("\n").split("\n") if texts["1"] else [], 0
    for start, edit in zip(starts, found, strict=True):
        at = max(start - bool(edit.search), 0) + shift
        assert tuple(rows[at : at + len(edit.search)]) == edit.search
        rows[at : at + len(edit.search)] = edit.replace
        shift += len(edit.replace) - len(edit.search)
        assert not edit.at_end or edit.open_end is bool(texts["2"] and not texts["2"].endswith("\n"))
    assert "".join(row + "\n" for row in rows).removesuffix("\n") == texts["2"].removesuffix("\n")


def steps(text: str) -> int:
    """Lines of Python that reading the text takes."""
    count = 0

    def trace(_frame: Any, event: str, _arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        parse(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "build",
    [
        lambda n: DIFF * n,
        lambda n: f"```diff\n{DIFF}```\n" * n,
        lambda n: HEAD + "@@\n-a\n" * n,
        lambda n: HEAD + "@@\n" + "--- x\n" * n,
        lambda n: HEAD + "@@\n" + "--- x\n+++ y\n" * n,
        lambda n: HEAD + "@@\n" + "+++ x\n" * n,
        lambda n: HEAD + "@@\n-a\n" + "\n" * n,
        lambda n: HEAD + "@@\n" + ("\n" * 20 + "+x\n") * n,
        lambda n: HEAD + "@@\n-a\n" + END * n,
        lambda n: (HEAD + "@@\n-a\n" + "\n" * 20) * n,
        lambda n: ("diff --git a/f b/g\nrename from f\nrename to g\n" + "\n" * 20) * n,
        lambda n: GIT + "similarity index 1%\n" * n,
        lambda n: "```\n````\n" * n + DIFF,
        lambda n: "".join("`" * (3 + i % 7) + "x\n" for i in range(n)) + "```\n" * n,
        lambda n: HEAD + "@@\n-a\n" + "prose\n\n" * n,
        lambda n: HEAD + "@@\n-a\n" + "-- \n2.39\n" * n,
        lambda n: "--- x\n" * n,
        lambda n: DIFF + "```\n````\n" * n,
        lambda n: "```\n````\n" * n + DIFF * n,
        lambda n: DIFF + "Index: g\n" * n,
        lambda n: (DIFF + "Only in x: y\n\n") * n,
        lambda n: HEAD + "@@ " + " 1" * n + "x\n-a\n",
        lambda n: HEAD + "@@ -1 " + "@@ " * n + "\n-a\n",
        lambda n: '--- "a/' + "\\303" * n + '"\n',
    ],
)
def test_work_grows_with_the_length_only(build: Callable[[int], str]) -> None:
    small, large = steps(build(50)), steps(build(200))
    assert large <= 4 * small + 200
