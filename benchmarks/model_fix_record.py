"""Makes the replies of `model_fix.py` from the known fixes of the cases: right ones, wrong ones, ones that do not fit.

Nothing here comes from a model. What a case is given follows from its place in the list: right at once; a wrong change
first; edits that cannot be applied first; or, where the fix has two places, one after the other. A wrong change is one
that was seen to leave the tests red.
"""

from __future__ import annotations

import difflib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

Files = Mapping[str, str]

_WRONG = (
    (r" \+ ", " - "), (r" - ", " + "), (r" <= ", " < "), (r" < ", " <= "), (r" >= ", " > "), (r" > ", " >= "),
    (r" == ", " != "), (r" and ", " or "), (r" or ", " and "), (r"\bnot ", ""), (r"\bTrue\b", "False"),
    (r"\b0\b", "1"), (r"\b1\b", "2"), (r"\b2\b", "3"), (r"return (?!None).+", "return None"),
)  # fmt: skip
_NEAR = 12  # lines around the place of the fix where a wrong change is tried


def record(cases: Sequence[Path], folder: Path) -> None:
    """Write the replies of these cases to `folder`, one file a case, one reply a line."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, case in enumerate(cases):
        replies = list(_replies(case, number))
        lines = (json.dumps({"kind": kind, "texts": texts}, ensure_ascii=False) for kind, texts in replies)
        (folder / f"{case.name}.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _replies(case: Path, number: int) -> Iterator[tuple[str, list[str]]]:
    """Kind and texts of each reply: a text for each state that the files may be in by then, in the order in which
    they are tried, so that one which fits in several states comes behind those that do not."""
    now, fixed = states(case)
    known = json.loads((case / "case.json").read_text("utf-8"))
    if known["kind"] != "single-edit" and number % 4 == 0:
        half = _half(now, fixed)
        yield "half", [_said("One cause of several", now, half)]
        yield "right", [_said("The cause", now, fixed), _said("The other cause", half, fixed)]
        return
    match number % 3:
        case 1:
            wrong = _wrong(case, now, fixed, known["test_argv"])
            yield "wrong", [_said("Perhaps the cause", now, wrong)]
            yield "right", [_said("That was not it; the cause", wrong, fixed), _said("The cause", now, fixed)]
        case 2:
            yield "unfit", [_unfit(_said("The cause", now, fixed), number)]
            whole, rest = _said("The cause", now, fixed), _said("The cause", _but_first(now, fixed), fixed)
            yield "right", [whole] if whole == rest else [whole, rest]
        case _:
            yield "right", [_said("The cause", now, fixed)]


def states(case: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The files that the fix changes: as they are, and repaired."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repo"
        shutil.copytree(case / "repo", root)
        subprocess.run(("git", "apply", "-p1", str((case / "fix.patch").resolve())), cwd=root, check=True)
        patch = (case / "fix.patch").read_text("utf-8")
        paths = sorted(set(re.findall(r"^\+\+\+ b/(.+)$", patch, re.MULTILINE)))
        return (
            {p: (case / "repo" / p).read_text("utf-8") for p in paths},
            {p: (root / p).read_text("utf-8") for p in paths},
        )


def _said(head: str, now: Files, then: Files) -> str:
    """An answer that turns the files into others, as a model writes it."""
    paths = [p for p in now if now[p] != then[p]]
    edits = [block for p in paths for block in blocks(p, now[p], then[p])]
    return f"{head} is in {' and '.join(f'`{p}`' for p in paths)}.\n\n" + "\n".join(edits)


def blocks(path: str, now: str, then: str) -> list[str]:
    """SEARCH/REPLACE blocks for what differs, each with as many lines around as make its place unique."""
    old, new = now.splitlines(keepends=True), then.splitlines(keepends=True)
    groups: list[tuple[str, str]] = []
    for around in range(1, len(old) + 2):
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        spans = [(g[0][1], g[-1][2], g[0][3], g[-1][4]) for g in matcher.get_grouped_opcodes(around)]
        groups = [("".join(old[a:b]), "".join(new[c:d])) for a, b, c, d in spans]
        if all(f"\n{now}".count(f"\n{search}") == 1 for search, _ in groups):
            break
    return [f"{path}\n```\n<<<<<<< SEARCH\n{s}=======\n{r}>>>>>>> REPLACE\n```\n" for s, r in groups]


def _half(now: Files, fixed: Files) -> dict[str, str]:
    """The files with the first place of the fix alone."""
    path = next(p for p in now if now[p] != fixed[p])
    if sum(now[p] != fixed[p] for p in now) > 1:
        return {**now, path: fixed[path]}
    old, new = now[path].splitlines(keepends=True), fixed[path].splitlines(keepends=True)
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    first = next(c for c in changes if c[0] != "equal")
    return {**now, path: "".join([*old[: first[1]], *new[first[3] : first[4]], *old[first[2] :]])}


def _but_first(now: Files, fixed: Files) -> dict[str, str]:
    """The files with all of the fix but its first block, as they are where blocks are applied one by one."""
    path = next(p for p in now if now[p] != fixed[p])
    old, new = now[path].splitlines(keepends=True), fixed[path].splitlines(keepends=True)
    first = next(c for c in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if c[0] != "equal")
    return {**fixed, path: "".join([*new[: first[3]], *old[first[1] : first[2]], *new[first[4] :]])}


def _wrong(case: Path, now: Files, fixed: Files, argv: Sequence[str]) -> dict[str, str]:
    """The files with a change near the right place that compiles and leaves the tests red."""
    path = next(p for p in now if now[p] != fixed[p])
    lines = now[path].splitlines(keepends=True)
    new = fixed[path].splitlines(keepends=True)
    first = next(c for c in difflib.SequenceMatcher(None, lines, new).get_opcodes() if c[0] != "equal")[1]
    for at in sorted(range(max(0, first - _NEAR), min(len(lines), first + _NEAR)), key=lambda n: abs(n - first)):
        for pattern, instead in _WRONG:
            line = re.sub(pattern, instead, lines[at], count=1)
            text = "".join([*lines[:at], line, *lines[at + 1 :]])
            if line != lines[at] and _compiles(text) and _red(case, {path: text}, argv):
                return {**now, path: text}
    raise SystemExit(f"{case.name}: no wrong change was found; leave the case out")


def _compiles(text: str) -> bool:
    try:
        compile(text, "wrong.py", "exec")
    except SyntaxError:
        return False
    return True


def _red(case: Path, files: Files, argv: Sequence[str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repo"
        shutil.copytree(case / "repo", root)
        for path, text in files.items():
            (root / path).write_text(text, "utf-8")
        return not green(root, argv)


def green(root: Path, argv: Sequence[str], environ: Mapping[str, str] | None = None, timeout_s: float = 60.0) -> bool:
    """Do the tests pass in a fresh process?"""
    command = [sys.executable if a == "python" else a for a in argv]
    env = None if environ is None else dict(environ)
    try:
        done = subprocess.run(command, cwd=root, env=env, capture_output=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _unfit(text: str, number: int) -> str:
    """The answer with a mistake: a word of the first SEARCH line is another one, or the end marker is missing."""
    if number % 2:
        return text.replace(">>>>>>> REPLACE\n", "", 1)
    head, mark, rest = text.partition("<<<<<<< SEARCH\n")
    return head + mark + re.sub(r"[A-Za-z_]{3,}", lambda m: f"{m[0]}_x", rest, count=1)
