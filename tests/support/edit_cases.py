"""The reference cases of edits: building one on a real folder, running it, judging what came of it."""

from __future__ import annotations

import base64
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regreen.edits import commit
from regreen.model import EditReport
from support.edits import Bench, bench

CORPUS = Path(__file__).parents[1] / "corpora" / "cases" / "edits.json"
CASES: list[dict[str, Any]] = json.loads(CORPUS.read_text("utf-8"))["cases"]


def content(spec: Any) -> bytes:
    """The bytes that a case gives as text, as base64, or as a numbered pattern."""
    if isinstance(spec, str):
        return spec.encode("utf-8", "surrogatepass")
    if "b64" in spec:
        return base64.b64decode(spec["b64"])
    rows = [spec["lines"]["fmt"] % ((i,) * spec["lines"]["fmt"].count("%")) for i in range(spec["lines"]["n"])]
    for number, row in (spec.get("set") or spec["lines"].get("set") or {}).items():
        rows[int(number)] = row
    return ("\n".join(rows) + "\n").encode()


def response(case: Mapping[str, Any]) -> str:
    """The response of a case; calls are sent as JSON."""
    return case["edits"] if isinstance(case["edits"], str) else json.dumps(case["edits"])


def build(root: Path, case: Mapping[str, Any]) -> None:
    """The files of a case, with its links, hard links and modes."""
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


def run(on: Bench, case: Mapping[str, Any]) -> tuple[EditReport, dict[str, Any]]:
    """Plan and commit; the report, and what the folder held just before the commit."""
    planned = on.plan(response(case), format=case["format"])
    if "hook" in case.get("setup", {}):
        with (on.root / "a.py").open("a") as file:
            file.write("# user edit\n")
    before = on.files()
    return commit(planned, on.journal, label=case["id"]), before


def wanted_files(case: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What the folder must hold when a case is to be applied, folders aside."""
    setup = case.get("setup", {})
    links = {name: f"-> {target}" for name, target in setup.get("symlinks", {}).items()}
    names = {name: after[other] for name, other in setup.get("hardlinks", {}).items()}
    return {**{name: content(spec) for name, spec in case["expect"]["files"].items()}, **links, **names}


def keeps_modes(root: Path, case: Mapping[str, Any]) -> bool:
    modes = case.get("setup", {}).get("modes", {})
    return all(stat.S_IMODE((root / name).stat().st_mode) == int(mode, 8) for name, mode in modes.items())


def verdict(case: Mapping[str, Any], folder: Path) -> str:
    """`pass`: as it must be, error kind included; `miss`: refused; `differs`: other bytes; `unsafe`: not refused."""
    with bench(folder) as on:
        build(on.root, case)
        report, before = run(on, case)
        after = on.files()
        if case["expect"]["ok"]:
            files = {name: data for name, data in after.items() if data != "/"}
            right = files == wanted_files(case, after) and keeps_modes(on.root, case)
            return "pass" if right else "miss" if after == before else "differs"
        kinds = [edit.error.kind for edit in report.edits if edit.error]
        if after != before:
            return "unsafe"
        return "pass" if case["expect"]["error_kind"] in kinds else "miss"
