"""Gates: what linters, type checkers and builds say besides the tests. Only what is new since the baseline blocks.

Pure. A finding is a line of a tool's output without what moves when something else is edited: line and column numbers,
colours, times, counts. Of the layouts that tools have in common only the findings are taken, not the source lines and
hints around them; output in no known layout counts line by line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from regreen.model import GateResult
from regreen.settings import Gate
from regreen.wire import counted, shortened

__all__ = ["Gate", "GateReport", "compare", "findings"]

MAX_SHOWN = 20
_MAX_LINE = 2000
_MAX_FINDING = 400
_MAX_TOLD = 200

_TIMESTAMP = re.compile(r"^\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?\s+(?=\S)")
_PATH = r"(?:\[?(?:error|warning|vet)\]?:? )?(?P<path>(?:[A-Za-z]:[\\/])?[^:\s][^:\n]*?)"
_LOCATED = tuple(
    re.compile(rf"^\s*{_PATH}{place}(?P<text>.*)$", re.IGNORECASE)
    for place in (
        r"(?::\d+){1,4}(?:-\d+(?::\d+)?)?(?::|(?= ))(?:\s+-)?(?=\s|$)",  # a.py:3:5: x   a.py:3:5 - x
        r"\(\d+(?:,\d+){0,3}\):?(?=\s|$)",  # a.ts(3,5): x
        r": line \d+, col(?:umn)? \d+[,:]",  # a.js: line 3, col 5, x
        r":\[\d+,\d+\]",  # A.java:[3,5] x
    )
)
_ARROW = re.compile(r"^\s*--> (?P<path>(?:[A-Za-z]:[\\/])?[^:\n]+?)(?::\d+)+\s*$")
_UNDER = re.compile(r"^\s+\d+(?::\d+)+(?:-\d+)?:?\s+(?P<text>\S.*)$")
_WORD = re.compile(
    r"^(?:npm )?\[?(?:fatal |internal )?(?:error|fatal|warning|warn|failure|failed|fail|panic|err!)(?=[\]:\[(!. ])"
    r"|^[\w.]*(?:Error|Exception): |^>> Issue: ",
    re.IGNORECASE,
)
_FILE = re.compile(r"[^\s/\\]*[./\\]\S*|[A-Z]\w*file|(?:[A-Za-z]:)?[./\\].*|\S.*[/\\].*\.\w{1,8}")
_ASIDE = re.compile(r"^(?:note|help|hint|info|information|required from|from|in file included from)\b", re.IGNORECASE)
_NOISE = re.compile(
    r"Found \d+ |\[\*\] \d+ |No fixes available|All checks passed|✖ \d+ |Success: |Your code has been rated at"
    r"|\d+ (?:errors?|warnings?|problems?|files?|issues?|fixable)\b|(?:\[warn\] )?Code style issues (?:found )?in "
    r"|For more information about|Some errors have detailed|error: (?:could not compile|aborting due to)"
    r"|warning: (?:.* generated \d+ warnings?|build failed)|make(?:\[\d+\])?: (?:Entering|Leaving)|# "
    r"|(?:Compiling|Checking|Finished|Downloading|Downloaded|Updating|Blocking|Building|Fresh|Locking) ",
)
_VARYING = (
    (re.compile(r"\[\*\] "), ""),  # "can be mended by the tool"
    (re.compile(r"\b(lines?|columns?|col|row) \d+(?:\s?[-:]\s?\d+)?", re.IGNORECASE), r"\1"),
    (re.compile(r"\((?:\d+(?: characters)?\s*[>/]\s*)?\d+(?: characters)?\)"), ""),  # how much is too much
    (re.compile(r"\b(?:in |took )?\d+(?:\.\d+)?\s?(?:ms|s|secs?|seconds|min|minutes)\b"), ""),
    (re.compile(r"\b0x[0-9a-fA-F]+"), "0x#"),
    (re.compile(r"(?<=\w):\d+(?::\d+)?(?=[\s\]),:]|$)"), ""),
    (re.compile(r"\s+"), " "),
)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?%?(?!\w)")


@dataclass(frozen=True, slots=True)
class GateReport:
    """One run of a gate. `status` is its exit status; None: it could not be run to its end, as the message says.
    `findings` are in the order of the output, equal ones as often as they came. `log` is the complete output's file."""

    name: str
    argv: tuple[str, ...]
    status: int | None
    findings: tuple[str, ...] = ()
    message: str = ""
    duration_s: float = 0.0
    cpu_s: float = 0.0
    log: str = ""


def compare(baseline: GateReport, now: GateReport) -> GateResult:
    """Does a gate object to what was changed between its two runs?"""
    if baseline.status is None:
        why = f"not compared: it could not be run at the start ({baseline.message})"
        return GateResult(now.name, ok=False, argv=now.argv, message=why, compared=False)
    if now.status is None:
        return _result(now, ok=False, message=f"it could be run at the start, and cannot any more ({now.message})")
    if now.status == 0:
        return _result(now, ok=True, message="passed")
    new = _more(now.findings, baseline.findings)
    if new:
        many = counted(len(new), "new finding")
        return _result(now, ok=False, new=new, message=f"{many} (exit status {now.status})")
    if baseline.status == 0:
        return _result(now, ok=False, message=f"it passed at the start; now its exit status is {now.status}")
    if baseline.status != now.status and baseline.findings and not now.findings:
        changed = f"its exit status was {baseline.status} at the start and is {now.status}, without a finding"
        return _result(now, ok=False, message=changed)
    same = f"failed as it did at the start (exit status {now.status}), with nothing new"
    return _result(now, ok=True, message=f"{same}{_first_of(now.findings)}")


def _first_of(known: Sequence[str]) -> str:
    """The first of old findings: it shows a tool that only ever says why it cannot work."""
    return f"; it says: {shortened(known[0], _MAX_TOLD)}" if known else ""


def _result(now: GateReport, *, ok: bool, new: Sequence[str] = (), message: str) -> GateResult:
    left_out = f"; {len(new) - MAX_SHOWN} more not shown" if len(new) > MAX_SHOWN else ""
    return GateResult(now.name, ok, now.argv, tuple(new[:MAX_SHOWN]), message + left_out)


def _more(now: Iterable[str], before: Iterable[str]) -> list[str]:
    """What came more often than before, each as often as that."""
    known = Counter(before)
    new: list[str] = []
    for finding in now:
        known[finding] -= 1
        if known[finding] < 0:
            new.append(finding)
    return new


def findings(output: str, root: str = "") -> tuple[str, ...]:
    """The findings in a tool's output, normalised. Paths below the folder `root` come out relative to it."""
    from regreen.testing import neutral  # not at the top: it brings every runner along

    text = neutral(output)
    text = text.replace(root.rstrip("/") + "/", "") if root else text
    lines = [_TIMESTAMP.sub("", line[:_MAX_LINE]).rstrip() for line in text.splitlines()]
    above = _files_above(lines)
    known = tuple(found for i in range(len(lines)) if (found := _finding(lines, i, above[i])))
    return known or tuple(found for line in lines if (found := _unknown(line)))


def _finding(lines: Sequence[str], i: int, above: str) -> str:
    """The finding that stands in line `i`, below the file `above`; "" where there is none."""
    line = lines[i]
    if not line or _NOISE.match(line.lstrip()):
        return ""
    if arrow := _ARROW.match(line):
        head = _head(lines, i)
        return _put(arrow["path"], head) if head else ""
    if under := _UNDER.match(line):
        return _put(above, under["text"]) if above else ""
    for layout in _LOCATED:
        if (located := layout.match(line)) and _is_file(located["path"]):
            return _located(located["path"], located["text"].strip(" \t:"))
    if _WORD.match(line) and not (i + 1 < len(lines) and _ARROW.match(lines[i + 1])):
        return _put("", _NUMBER.sub("", line))
    return ""


def _located(path: str, text: str) -> str:
    return "" if not text or _ASIDE.match(text) or _ASIDE.match(path) else _put(path, text)


def _head(lines: Sequence[str], i: int) -> str:
    """What an arrow in line `i` belongs to: the line before it, unless that only adds to an earlier finding."""
    head = lines[i - 1] if i else ""
    return "" if not head or head[0].isspace() or _ASIDE.match(head) else head


def _files_above(lines: Sequence[str]) -> list[str]:
    """For each line, the file under whose name it is listed, perhaps behind others and their details."""
    found: list[str] = []
    file = ""
    for line in lines:
        found.append(file)
        if not line or not line[0].isspace():
            file = line.removesuffix(":")
    return found


def _is_file(path: str) -> bool:
    return _FILE.fullmatch(path) is not None and any(c.isalpha() for c in path)


def _unknown(line: str) -> str:
    """A line of a layout that is not known, without its numbers."""
    text = line.strip()
    if _NOISE.match(text):
        return ""
    put = _put("", _NUMBER.sub("", text))
    return put if any(c.isalpha() for c in put) else ""


def _put(path: str, text: str) -> str:
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    path = path.removeprefix("./").strip()
    return (f"{path}: {text.strip()}" if path else text.strip())[:_MAX_FINDING]
