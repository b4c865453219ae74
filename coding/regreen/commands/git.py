"""The rows of git that only read. They are never run as given: what passes is carried out by the hardened git layer.

A revision is never a path out of the project: `git diff /a /b` would compare any two files of the machine.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from regreen.commands.grammar import Row, Schema
from regreen.commands.refusals import LOADS, MOVES, RUNS, WRITES, because
from regreen.commands.validators import Validator, expression, number, one_of, pattern, relative_path

_REV = re.compile(r"(?!-)[A-Za-z0-9_./~^@{}\-]{0,200}", re.ASCII)
_RANGE = re.compile(r"\.{2,3}")
_WANTED = "a revision such as HEAD~1 or main..HEAD, or a path, is wanted"
_DATE = pattern(r"[0-9A-Za-z][0-9A-Za-z :.\-+]{0,39}", "a date such as 2024-01-31 or 2.weeks")
_FORMAT_NAMES = "oneline|short|medium|full|fuller|reference|raw"
_FIELDS = r"([^%]|%(%|n|H|h|T|t|P|p|s|f|b|B|d|D|a[nNeEdDrtiIs]|c[nNeEdDrtiIs])){0,200}"
_FORMAT = pattern(rf"{_FORMAT_NAMES}|(t?format:)?{_FIELDS}", "a format of plain fields such as %h %s")
_LINES = re.compile(r"([0-9]{1,7},\+?[0-9]{1,7}|:\w{1,200}):(?P<path>.+)", re.ASCII)


def revision(value: str, root: Path) -> str:
    """One revision, a range of two, or a plain path, with no step out of the project."""
    ends = _RANGE.split(value, maxsplit=1)
    if (value != "." and not value.strip(".")) or not all(
        _REV.fullmatch(end) and ".." not in end and not end.startswith("/") for end in ends
    ):
        return _WANTED
    return relative_path(value, root) if "/" in value else ""


def object_name(value: str, root: Path) -> str:
    """A revision, or a file in one, as in `HEAD~1:src/a.py`."""
    at, colon, path = value.partition(":")
    if not colon:
        return revision(value, root)
    clean = path and ".." not in path and path[0] not in "/:" and not path.startswith("./")
    return revision(at, root) or ("" if clean else _WANTED) or relative_path(path, root)


def _lines(value: str, root: Path) -> str:
    found = _LINES.fullmatch(value)
    return relative_path(found["path"], root) if found else "lines such as 10,20:src/a.py are wanted"


_REFUSED = (
    because(WRITES, "--output*", "-o")
    | because(RUNS, "--ext-diff", "--textconv", "--show-signature", "--open-files-in-pager", "-O*", "--exec*")
    | because(MOVES, "--no-index", "--submodule*", "--recurse-submodules", "--git-dir", "--work-tree", "-C")
    | because(LOADS, "--contents", "--stdin", "--pathspec-from-file", "--orderfile", "--ignore-revs-file")
)
_STATUS = Schema(
    switches=frozenset(
        ("-s", "--short", "-b", "--branch", "--porcelain", "-z", "--ignored", "--show-stash", "--long", "-v")
    ),
    attached={
        "--porcelain": one_of("v1", "v2"),
        "--untracked-files": one_of("no", "normal", "all"),
        "-u": one_of("no", "normal", "all"),
    },
    glued="u",
    bundle="sbz",
    positional=relative_path,
    dashes="paths",
    refused=_REFUSED,
)
_DIFF_SWITCHES = frozenset(
    (
        *("--stat", "--numstat", "--shortstat", "--summary", "--name-only", "--name-status", "-p", "--patch", "-s"),
        *("--no-patch", "-w", "--ignore-all-space", "-b", "--ignore-space-change", "--ignore-blank-lines", "-z", "-M"),
        *("--find-renames", "--no-renames", "-W", "--function-context", "--minimal", "--patience", "--histogram"),
        *("--word-diff", "--no-color", "--raw", "--check", "--exit-code", "--quiet", "-R", "--abbrev", "--full-index"),
        *("--patch-with-stat", "--no-ext-diff", "--no-textconv", "--no-prefix"),
    )
)
_DIFF_OPTIONS: dict[str, Validator] = {
    "-U": number(0, 100),
    "--unified": number(0, 100),
    "-S": expression,
    "-G": expression,
    "--diff-filter": pattern(r"[A-Za-z]{1,10}", "letters such as AM"),
    "--diff-algorithm": one_of("patience", "minimal", "histogram", "myers"),
}
_DIFF = Schema(
    switches=_DIFF_SWITCHES | {"--cached", "--staged", "--merge-base"},
    options=_DIFF_OPTIONS,
    attached={"--stat": number(1, 400), "--color": one_of("never")},
    glued="USG",
    positional=revision,
    dashes="paths",
    refused=_REFUSED,
)
_LOG_SWITCHES = _DIFF_SWITCHES | {
    *("--oneline", "--follow", "--all", "--branches", "--tags", "--merges", "--no-merges", "--graph", "--decorate"),
    *("--no-decorate", "--reverse", "--first-parent", "--abbrev-commit", "-i", "-c", "--cc", "-m", "--topo-order"),
    *("--date-order", "--no-notes", "--full-history", "--relative-date"),
}
_LOG_OPTIONS: dict[str, Validator] = {
    **_DIFF_OPTIONS,
    "-n": number(1, 1000),
    "--max-count": number(1, 1000),
    "--skip": number(0, 100_000),
    "--since": _DATE,
    "--after": _DATE,
    "--until": _DATE,
    "--before": _DATE,
    "--author": expression,
    "--grep": expression,
    "-L": _lines,
}
_LOG_ATTACHED: dict[str, Validator] = {
    "--color": one_of("never"),
    "--stat": number(1, 400),
    "--format": _FORMAT,
    "--pretty": _FORMAT,
    "--date": one_of("iso", "iso-strict", "short", "relative", "local", "rfc", "unix", "default", "human"),
}
_LOG = Schema(
    switches=_LOG_SWITCHES,
    options=_LOG_OPTIONS,
    attached=_LOG_ATTACHED,
    glued="UnSGL",
    numbers=True,
    positional=revision,
    dashes="paths",
    refused=_REFUSED,
)
_SHOW = replace(_LOG, positional=object_name)

ROWS = (
    Row(("git", "status"), "git", _STATUS),
    Row(("git", "diff"), "git", _DIFF),
    Row(("git", "log"), "git", _LOG),
    Row(("git", "show"), "git", _SHOW),
)
