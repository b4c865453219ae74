"""The header lines of one file's section in a diff: plain `---`/`+++` lines, and what git writes around them.

Rule: what an edit cannot express (modes, copies, links, binary content) is `unsupported`, said at the line that asks
for it; nothing of it is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from regreen.edits.diff_paths import NULL, Headers, git_names, header_name
from regreen.edits.operations import BLANKS
from regreen.edits.parsed import Unreadable, quoted

OLD = re.compile(r"--- \S")
NEW = re.compile(r"\+\+\+ \S")
HUNK = re.compile(r"@@(?:[\s.-]|$)")
_NO_ANCHOR = re.compile(r"[\s\d,.+-]*(?:@@|$)|\s*(?:\.{3}|…|-\d|-\S+\s+\+\S)")
_GIT = "diff --git "
_HINT = "send the whole diff again without this part, and do it in another way"
_TEXT_HINT = "send the whole diff again, with text changes of regular files only"
_MODES = re.compile(r"(old|new|new file|deleted file) mode (\d{3,7})[ \t]*$")
_INDEX = re.compile(r"index [^\s.]+\.\.[^\s.]+(?: (\d{6}))?[ \t]*$")
_SIMILARITY = re.compile(r"(?:dis)?similarity index \d")
_RENAME = re.compile(r"rename (from|to) (.+)$", re.DOTALL)
_COPY = re.compile(r"copy (?:from|to) \S")
_BINARY = re.compile(r"(?:GIT binary patch|Binary files? .* (?:differ|has changed))[ \t]*$", re.DOTALL)
_COMBINED = re.compile(r"diff --(?:cc|combined) \S|@@@+ ")
_EMPTY_SIDE = re.compile(r"@@ -(0(?:,0)? )?(?:\d+(?:,\d+)? )?\+(0(?:,0)? )?")
_NEVER = re.compile(r"[ \t](?:1970-01-01|1969-12-31)[ T]\d\d:\d\d")
_STRAY_MODE = re.compile(r"(?:old|new|new file|deleted file) mode \d{6}[ \t]*$")
_STRAY_NAME = re.compile(r"--- (?:[abciow12]/\S+|/dev/null|\".*\")(?:[ \t].*)?$", re.DOTALL)


def begins_section(lines: Sequence[str], at: int) -> bool:
    """Whether the headers of a file begin at this line (outside of hunks)."""
    line = lines[at]
    if line.startswith(_GIT):
        return True
    if OLD.match(line):
        return NEW.match(line_at(lines, at + 1)) is not None
    return NEW.match(line) is not None and HUNK.match(line_at(lines, at + 1)) is not None


def anchor_of(header: str) -> str:
    """The line of the file that an `@@` line names; empty if it has numbers, what stands for them, or nothing there."""
    text = header[2:]
    if _NO_ANCHOR.match(text):
        return ""
    anchor = text[1:] if text[0] in BLANKS else text
    return anchor.rstrip(BLANKS).removesuffix(" @@").rstrip(BLANKS)


def line_at(lines: Sequence[str], at: int) -> str:
    """That line, or an empty one behind the end."""
    return lines[at] if at < len(lines) else ""


def read_headers(lines: Sequence[str], at: int) -> tuple[Headers, int]:
    """The headers that begin at this line, and where they end."""
    headers = Headers(at + 1)
    if lines[at].startswith(_GIT):
        headers.git = git_names(lines[at].removeprefix(_GIT), at + 1)
        at += 1
        while at < len(lines) and _extended(headers, lines[at], at + 1):
            at += 1
    if OLD.match(line_at(lines, at)):
        headers.old = header_name(lines[at][4:], at + 1)
        at += 1
    if NEW.match(line_at(lines, at)):
        headers.new = header_name(lines[at][4:], at + 1)
        at += 1
    _take_stamps(headers, lines, at)
    refuse_unsupported(line_at(lines, at), at + 1)
    return headers, at


def _take_stamps(headers: Headers, lines: Sequence[str], at: int) -> None:
    """Take a side that is empty and has the first time there is for missing, as `diff -N` writes it."""
    sides = _EMPTY_SIDE.match(line_at(lines, at))
    if sides is None or headers.old is None or headers.new is None or at < 2:
        return
    if sides[1] and _NEVER.search(lines[at - 2]):
        headers.old = NULL
    elif sides[2] and _NEVER.search(lines[at - 1]):
        headers.new = NULL


def refuse_unsupported(line: str, number: int) -> None:
    """Raise Unreadable (`unsupported`) at a line that announces what no edit can do."""
    where = f"line {number} of the response: "
    if _COMBINED.match(line):
        raise Unreadable(f"{where}a combined diff (of a merge) cannot be applied: {quoted(line)}",
                         "send a plain unified diff against the files as they are now", "unsupported")  # fmt: skip
    if _BINARY.match(line):
        raise Unreadable(f"{where}binary content cannot be edited: {quoted(line)}", _TEXT_HINT, "unsupported")


def stray_header(lines: Sequence[str], at: int) -> str:
    """What is wrong with a line outside of a section that only a section should have; empty for prose."""
    line, after = lines[at], line_at(lines, at + 1)
    if HUNK.match(line):
        return "a hunk without a path above it"
    if NEW.match(line):
        return "a `+++` header without hunk"
    if _STRAY_NAME.match(line) or (OLD.match(line) and HUNK.match(after)):
        return "a `---` header without a `+++` header behind it"
    if line.startswith("\\ No newline"):
        return "an end-of-file marker that belongs to no hunk"
    if _STRAY_MODE.match(line) or (line.startswith("rename from ") and after.startswith("rename to ")):
        return "a header that belongs below a `diff --git` line"
    return ""


def _extended(headers: Headers, line: str, number: int) -> bool:
    """Take one of git's extended header lines into `headers`; False if it is none."""
    readers: tuple[tuple[re.Pattern[str], Callable[[Headers, re.Match[str], int], None]], ...] = (
        (_MODES, _mode), (_INDEX, _index), (_RENAME, _rename), (_COPY, _copy),
    )  # fmt: skip
    for pattern, reader in readers:
        found = pattern.match(line)
        if found:
            reader(headers, found, number)
            return True
    return _SIMILARITY.match(line) is not None


def _mode(headers: Headers, found: re.Match[str], number: int) -> None:
    what, mode = found[1], found[2]
    if what in ("old", "new"):
        raise Unreadable(
            f"line {number} of the response: the mode of a file cannot be changed by an edit ({quoted(found[0])})",
            "send the whole diff again without the lines `old mode` and `new mode`; leave the change of mode to the "
            "user",
            "unsupported",
        )
    if what == "new file" and mode != "100644":
        raise Unreadable(
            f"line {number} of the response: only regular files of mode 100644 can be created, not {mode}{_kind(mode)}",
            "send the whole diff again with `new file mode 100644`, or without this file",
            "unsupported",
        )
    _refuse_special(mode, number)
    headers.created = headers.created or what == "new file"
    headers.deleted = headers.deleted or what == "deleted file"


def _index(_headers: Headers, found: re.Match[str], number: int) -> None:
    _refuse_special(found[1] or "100644", number)


def _refuse_special(mode: str, number: int) -> None:
    if not mode.startswith("100"):
        raise Unreadable(f"line {number} of the response: only regular files can be edited, not mode {mode}"
                         f"{_kind(mode)}", _HINT, "unsupported")  # fmt: skip


def _kind(mode: str) -> str:
    return {"120000": " (a symbolic link)", "160000": " (a submodule)", "100755": " (an executable)"}.get(mode, "")


def _rename(headers: Headers, found: re.Match[str], number: int) -> None:
    name = header_name(found[2], number)
    before = headers.renamed_from if found[1] == "from" else headers.renamed_to
    if before not in (None, name):
        raise Unreadable(f"line {number} of the response contradicts the one above it: {quoted(found[0])}",
                         "begin the section of each file with a `diff --git` line of its own")  # fmt: skip
    if found[1] == "from":
        headers.renamed_from = name
    else:
        headers.renamed_to = name


def _copy(_headers: Headers, found: re.Match[str], number: int) -> None:
    raise Unreadable(
        f"line {number} of the response: a diff that copies a file cannot be applied ({quoted(found[0])}...)",
        "send the whole diff again with the copy as a new file: `--- /dev/null`, `+++ b/path`, and all of its lines "
        "with `+`",
        "unsupported",
    )
