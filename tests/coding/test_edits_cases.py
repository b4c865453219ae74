"""Every SEARCH/REPLACE case of the shared corpus, through plan and commit on a real folder."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.edits import bench

from regreen.edits import commit, describe
from regreen.model import EditError, EditReport

CORPUS = Path(__file__).parents[1] / "corpora" / "cases" / "edits.json"
CASES = [c for c in json.loads(CORPUS.read_text("utf-8"))["cases"] if c["format"] == "search_replace"]


def content(spec: Any) -> bytes:
    if isinstance(spec, str):
        return spec.encode("utf-8", "surrogatepass")
    if "b64" in spec:
        return base64.b64decode(spec["b64"])
    rows = [spec["lines"]["fmt"] % ((i,) * spec["lines"]["fmt"].count("%")) for i in range(spec["lines"]["n"])]
    for number, row in (spec.get("set") or spec["lines"].get("set") or {}).items():
        rows[int(number)] = row
    return ("\n".join(rows) + "\n").encode()


def build(root: Path, case: dict[str, Any]) -> None:
    for name, spec in case["files"].items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content(spec))
    setup = case.get("setup", {})
    (root.parent / "outside_dir").mkdir()
    for name, target in setup.get("symlinks", {}).items():
        (root / name).symlink_to(target)
    for name, target in setup.get("hardlinks", {}).items():
        os.link(root / target, root / name)
    for name, mode in setup.get("modes", {}).items():
        (root / name).chmod(int(mode, 8))


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
        "invisible_characters": lambda e: "invisible characters" in e.hint and "U+200B" in e.hint,
    }
    return any(checks[kind](e) for e in errors)


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_case_gives_exactly_the_expected_bytes(case: dict[str, Any], tmp_path: Path) -> None:
    with bench(tmp_path) as on:
        build(on.root, case)
        before = on.files()
        planned = on.plan(case["edits"])
        assert on.files() == before, "planning wrote something"
        if "hook" in case.get("setup", {}):
            with (on.root / "a.py").open("a") as file:
                file.write("# user edit\n")
            before = on.files()
        report = commit(planned, on.journal, label=case["id"])
        check(case, report, before, on.files())
        for name, mode in case.get("setup", {}).get("modes", {}).items():
            assert stat.S_IMODE((on.root / name).stat().st_mode) == int(mode, 8)


def check(case: dict[str, Any], report: EditReport, before: dict[str, Any], after: dict[str, Any]) -> None:
    wanted, setup = case["expect"], case.get("setup", {})
    errors = [e.error for e in report.edits if e.error]
    told = describe(report)
    assert report.ok is wanted["ok"], told
    if not wanted["ok"]:
        assert after == before
        assert wanted["error_kind"] in [e.kind for e in errors], told
        assert "NOTHING was applied" in told
        assert "hint" not in wanted or hinted(wanted["hint"], errors), told
        return
    links = {name: f"-> {target}" for name, target in setup.get("symlinks", {}).items()}
    names = {name: after[other] for name, other in setup.get("hardlinks", {}).items()}
    files = {name: content(spec) for name, spec in wanted["files"].items()}
    assert {n: v for n, v in after.items() if v != "/"} == {**files, **links, **names}
    assert "level" not in wanted or wanted["level"] in [e.level for e in report.edits]
