"""Every case of the reference corpus, in all formats, through plan and commit on a real folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.edit_cases import CASES, build, keeps_modes, response, run, wanted_files
from support.edits import bench, told

from regreen.model import EditError


def hinted(hint: str, errors: list[EditError]) -> bool:
    kind, _, value = hint.partition(":")
    checks: dict[str, Callable[[EditError], bool]] = {
        "similar_path": lambda e: f"`{value}`" in e.hint,
        "closest_lines": lambda e: (
            e.closest is not None and value in (f"{e.closest.start}-{e.closest.end}", str(e.closest.start))
        ),
        "indentation": lambda e: "indentation" in e.hint,
        "tabs_vs_spaces": lambda e: "tabs and spaces differ" in e.hint,
        "unicode_punctuation": lambda e: "typographic" in e.hint and "U+" in e.hint,
        "word_boundary": lambda e: "word boundary" in e.hint,
        "invisible_characters": lambda e: "invisible characters" in e.hint and "U+200B" in e.hint,
    }
    return any(checks[kind](e) for e in errors)


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_case_gives_exactly_the_expected_bytes(case: dict[str, Any], tmp_path: Path) -> None:
    with bench(tmp_path) as on:
        build(on.root, case)
        before = on.files()
        planned = on.plan(response(case), format=case["format"])
        assert on.plan(response(case)).report == planned.report, "auto reads it in another way"
        assert on.files() == before, "planning wrote something"
        report, before = run(on, case)
        after, wanted = on.files(), case["expect"]
        errors = [e.error for e in report.edits if e.error]
        said = told(report)
        assert report.ok is wanted["ok"], said
        assert keeps_modes(on.root, case)
        if wanted["ok"]:
            assert {n: v for n, v in after.items() if v != "/"} == wanted_files(case, after)
            assert "level" not in wanted or wanted["level"] in [e.level for e in report.edits]
            return
        assert after == before
        assert wanted["error_kind"] in [e.kind for e in errors], said
        assert "NOTHING was applied" in said
        assert "hint" not in wanted or hinted(wanted["hint"], errors), said
