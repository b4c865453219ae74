"""Finding the path that a block is for, in the lines above it. Pure text; whether the path exists is asked later.

Rule: a line is a path only if it is nothing but a path (with the usual decoration). A sentence that mentions one
is not; where such a sentence stands above a block and names another file, the block is refused, not guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})(?P<info>[^`]*)$")
_MAX_LINE = 500  # characters; a longer line is neither a path nor a fence, and costs no pattern matching
_BULLET = re.compile(r"(?:[-*+]|\d+[.)])\s+")
_LABEL = re.compile(r"(?:file ?path|file ?name|file|path|in|edit|update|modify|create|new file)\s*(?::\s*|\s+(?=[`*]))",
                    re.IGNORECASE)  # fmt: skip
_COMMENT = re.compile(r"(?:#{1,6}|//|--|;|<!--|/\*)\s*(?P<inner>\S.*?)\s*(?:-->|\*/)?$")
_PROSE = re.compile(
    r"(?:a|above|add|after|again|also|an|and|apply|as|at|before|below|both|but|change|consider|create|do|done|edit"
    r"|finally|first|fix|for|from|here|i|i'll|i'm|if|in|insert|it|let|let's|like|look|make|modify|move|next|no|note|now|of"
    r"|ok|okay|on|open|or|please|remove|rename|replace|same|second|see|similarly|since|so|still|that|the|then|there"
    r"|these|this|to|update|use|we|where|with|write|you)\b[ ,:]",
    re.IGNORECASE,
)
_SUFFIXES = (
    "bat|c|cc|cfg|cjs|conf|cpp|cs|css|csv|env|go|h|hpp|html|ini|ipynb|java|js|json|jsonl|jsx|kt|lock|lua|md|mjs|php"
    "|pl|ps1|py|pyi|rb|rs|rst|scala|sh|sql|swift|toml|ts|tsx|txt|vue|xml|yaml|yml"
)
_MENTION = re.compile(rf"[\w./\\-]*\w\.(?:{_SUFFIXES})\b(?!\()")
_ENDS_LIKE_A_FILE = re.compile(r"\.[A-Za-z]\w{0,11}$")
_KNOWN_NAME = re.compile(
    r"\w*(?:[Mm]akefile|[Dd]ockerfile|[Cc]ontainerfile|[Jj]enkinsfile|[Vv]agrantfile|[Gg]emfile|[Rr]akefile|[Pp]rocfile"
    r"|[Bb]rewfile|[Jj]ustfile|[Pp]ipfile|[Pp]odfile|[Ff]astfile|[Tt]iltfile|[Ee]arthfile|[Cc]addyfile)"
    r"|LICEN[CS]E|README|NOTICE|AUTHORS|CHANGELOG|CHANGES|COPYING|TODO|INSTALL|VERSION|CODEOWNERS|WORKSPACE|BUILD"
)
_QUOTED = re.compile(r"`([^`\s]{1,200})`")
_INFO_KEY = re.compile(r"(?:file|filename|path|title|name)=[\"']?([^\"']+?)[\"']?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PathAbove:
    """`path` when one was found; `mentions` are files that the lines above name without being the path line."""

    path: str = ""
    mentions: tuple[str, ...] = ()


def path_above(lines: Sequence[str]) -> PathAbove:
    """The path for a block that begins right after `lines` (which begin after the block before)."""
    end = _last_filled(lines, len(lines))
    fence = _fence(lines[end - 1]) if end else None
    if fence is None:
        return _of_lines(lines, end)
    named = _of_info(fence["info"].strip())
    if named:
        return PathAbove(named)
    return _of_lines(lines, _last_filled(lines, end - 1))


def is_path_line(line: str) -> bool:
    """Whether a line is nothing but a path."""
    return len(line) <= _MAX_LINE and bool(_bare_path(line.strip()))


def names_a_file(path: str) -> bool:
    """Whether a path says by itself that it is one: by a folder, a suffix, or a name that is known."""
    return _is_file_like(path) or bool(_KNOWN_NAME.fullmatch(path))


def _last_filled(lines: Sequence[str], end: int) -> int:
    while end > 0 and not lines[end - 1].strip():
        end -= 1
    return end


def _of_lines(lines: Sequence[str], end: int) -> PathAbove:
    """The path that line `end` is; else all files that this line and those above it speak of."""
    path = _bare_path(lines[end - 1].strip()) if end and len(lines[end - 1]) <= _MAX_LINE else ""
    if path:
        return PathAbove(path)
    return PathAbove(mentions=tuple(dict.fromkeys(m for line in lines[:end] for m in _mentions(line[:_MAX_LINE]))))


def _mentions(line: str) -> list[str]:
    """The files that a line names: as a path line, by a known suffix, or in backquotes."""
    if _fence(line):
        return []
    bare = _bare_path(line.strip())
    found = [bare] if bare and names_a_file(bare) else []
    quoted = [word for word in _QUOTED.findall(line) if _MENTION.fullmatch(word) or _KNOWN_NAME.fullmatch(word)]
    return [*found, *quoted, *_MENTION.findall(line)]


def _fence(line: str) -> re.Match[str] | None:
    return _FENCE.match(line) if len(line) <= _MAX_LINE else None


def _of_info(info: str) -> str:
    """`python src/a.py`, `src/a.py`, `python:src/a.py`, `python title="src/a.py"`."""
    for position, word in enumerate(info.split()):
        keyed = _INFO_KEY.match(word)
        if keyed:
            return keyed[1]
        if "=" in word or "{" in word:
            continue
        head, colon, tail = word.partition(":")
        if position == 0 and colon and head.isalnum() and len(head) > 1 and _is_file_like(tail):
            return tail
        if _is_file_like(word):
            rest = info.split(None, position)[position]
            return rest if "=" not in rest and "{" not in rest else word
    return ""


def _is_file_like(word: str) -> bool:
    return "/" in word or "\\" in word or "." in word.strip(".")


def _bare_path(text: str) -> str:
    """`text` without decoration if what remains can only be a path, else empty."""
    text = _BULLET.sub("", text, count=1)
    text = _LABEL.sub("", text, count=1).strip()
    comment = _COMMENT.match(text)
    if comment and (_is_file_like(comment["inner"]) or "`" in comment["inner"]):
        text = _LABEL.sub("", comment["inner"], count=1).strip()
    bare = _undecorated(text)
    quoted = bare != text.rstrip(":")
    if not bare or any(c in bare for c in '`"<>|*?') or bare.endswith((".", ",", ";", "!")):
        return ""
    if any(c.isspace() for c in bare):
        plain = _ENDS_LIKE_A_FILE.search(bare) and len(bare.split()) <= 5 and not _PROSE.match(bare)
        return bare if _is_file_like(bare) and (quoted or plain) else ""
    return bare if quoted or not text.endswith(":") or _is_file_like(bare) else ""


def _undecorated(text: str) -> str:
    """Without a final colon and without quoting around the whole."""
    text = text.rstrip(":").rstrip() if not re.fullmatch(r"[A-Za-z]:", text) else text
    for mark in ("**", "__", "`", "*", '"', "'", "**", "`"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)].strip().rstrip(":")
    return text
