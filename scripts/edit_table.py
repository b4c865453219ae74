"""Writes docs/edit-engines.md: how this engine and others fare on the reference cases. `--check` compares only.

The figures of the other engines are those recorded in the corpus; ours are made by running every case.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.edit_cases import CASES, verdict  # noqa: E402 - the path is set just above

PAGE = ROOT / "docs" / "edit-engines.md"
VERDICTS = ("pass", "miss", "differs", "unsafe")
NAMES = {
    "regreen": "regreen", "aider_editblock": "aider, edit blocks", "aider_udiff": "aider, udiff",
    "aider_patch": "aider, patch", "codex": "codex apply_patch", "gemini": "gemini-cli edit",
    "opencode": "opencode edit",
    "openhands_port": "openhands str_replace", "roo": "Roo multi-search-replace", "naive": "tutorial engine",
    "str_replace_contract": "plain str_replace", "git_apply": "git apply", "git_apply_recount": "git apply --recount",
    "gnu_patch": "GNU patch",
}  # fmt: skip
HEAD = """\
# Edit engines on the reference cases

Made by `python scripts/edit_table.py`; do not edit. The cases are in `tests/corpora/cases/edits.json`, each with the
exact bytes or the error it must end with. An engine is run on the cases whose format it reads, so the numbers of runs
differ. `pass`: as it must be. `miss`: refused although there is one clear meaning (or, for regreen, refused with
another error kind). `differs`: applied, but other bytes than asked for. `unsafe`: written although it had to be
refused. The figures of the other engines were measured once, through adapters around their own code, and may be out of
date; they say how an engine's contract differs from this one, not how good a program is as a whole.
"""


def results() -> list[dict[str, Any]]:
    """Every case with its verdicts by engine, ours first."""
    rows: list[dict[str, Any]] = []
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            rows.append({**case, "by": {"regreen": verdict(case, Path(folder)), **case.get("peers_measured", {})}})
    return rows


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"| engine | cases | {' | '.join(VERDICTS)} |"
    yield f"| --- {'| ---: ' * (len(VERDICTS) + 1)}|"
    for engine, name in NAMES.items():
        found = Counter(row["by"][engine] for row in rows if engine in row["by"])
        yield f"| {name} | {found.total()} | {' | '.join(str(found[v]) for v in VERDICTS)} |"


def by_category(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"| kind of case | {' | '.join(NAMES.values())} |"
    yield f"| --- {'| --- ' * len(NAMES)}|"
    for category in sorted({row["category"] for row in rows}):
        mine = [row["by"] for row in rows if row["category"] == category]
        yield f"| {category} | {' | '.join(cell([by[e] for by in mine if e in by]) for e in NAMES)} |"


def cell(found: list[str]) -> str:
    """`passed/run`, and what was unsafe."""
    if not found:
        return ""
    unsafe = found.count("unsafe")
    return f"{found.count('pass')}/{len(found)}" + (f", {unsafe} unsafe" if unsafe else "")


def page() -> str:
    rows = results()
    parts = [HEAD, *summary(rows), "", "Passed of run, by kind of case:", "", *by_category(rows)]
    return "\n".join(parts) + "\n"


def main() -> int:
    made = page()
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.read_text("utf-8") == made else 1
    PAGE.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
