"""Whatever is handed in, what is answered stays readable: bounded in size, and in characters that all can take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regreen.errors import RegreenError
from regreen.fix.applying import NEEDS_TEST_CHANGE
from regreen.proposers.scripted import ScriptedProposer
from regreen.tools.diff_text import shown_diff
from regreen.tools.paging import page
from regreen.tools.text import say
from regreen.wire import encodable, shortened
from regreen.workspace import Workspace
from regreen.workspace.paths import check_size

LONG = "w" * 60_000


def test_long_text_is_cut_and_says_how_much_is_left_out() -> None:
    assert shortened(LONG) == "w" * 1_000 + "… 59000 characters more"
    assert shortened("short") == "short"


def test_refused_attempt_of_any_size_is_told_in_few_words() -> None:
    error: dict[str, Any] = {"kind": "path_invalid", "message": LONG, "hint": LONG, "candidates": []}
    attempt: dict[str, Any] = {
        "number": 1, "state": "refused", "refusal": NEEDS_TEST_CHANGE, "message": LONG, "kept": False,
        "edits": [{"index": 0, "path": LONG, "error": error}],
    }  # fmt: skip
    text = say("submit_fix", {"attempt": attempt, "state": "running", "job_id": "job-1", "progress": LONG})
    assert len(text) < 70_000
    assert len(say("submit_fix", {"error": error})) < 9_000


def test_changes_show_whole_lines_and_count_the_files_that_are_left() -> None:
    one = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n"
    text, left = shown_diff(one * 1_000)
    assert (len(text.splitlines()), left) == (400, "5600 more lines of the diff, of 933 more files")
    assert shown_diff(one) == (one, "")
    files = [{"action": "modify", "path": f"f{n}", "added": 1, "removed": 1} for n in range(1_000)]
    said = say("show_changes", page("show_changes", {"since": "HEAD", "files": files, "diff": one * 1_000}))
    assert len(said) < 24_000
    assert said.startswith("1000 files changed since HEAD\n")
    assert "(more: the same call with cursor=" in said


def test_path_that_no_system_can_hold_is_refused_in_a_short_message(tmp_path: Path) -> None:
    check_size("é" * 2_048)
    for path in (LONG, "é" * 2_049):
        with pytest.raises(RegreenError) as caught:
            check_size(path)
        assert caught.value.kind == "path_invalid"
        assert len(caught.value.message) < 200
    with Workspace(tmp_path) as workspace, pytest.raises(RegreenError) as caught:
        workspace.normalise(r"new\udcfe.txt")
    assert "not UTF-8" in caught.value.message


def test_names_that_are_not_utf8_can_be_read_by_strict_readers() -> None:
    data = encodable({"new\udcfe.txt": ["caf\udce9", "é", 1, True]})
    assert data == {r"new\udcfe.txt": [r"caf\udce9", "é", 1, True]}
    json.dumps(data, ensure_ascii=False).encode("utf-8")


def test_script_line_that_is_nested_too_deeply_is_named(tmp_path: Path) -> None:
    script = tmp_path / "fixes.jsonl"
    script.write_text('{"text":' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with pytest.raises(RegreenError, match=r"fixes\.jsonl:1: JSON that is nested too deeply"):
        ScriptedProposer.from_file(script)
