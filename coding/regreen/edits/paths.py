"""Finding the path that a block is for, in the lines above it. Pure text; whether the path exists is asked later.

Rule: a line is a path only if it is nothing but a path (with the usual decoration and labels). A sentence that mentions
one is not; what it names is handed on, and where that is another file, the block is refused, not guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})(?P<info>[^`]*)$")
_MAX_LINE = 500  # characters; a longer line is neither a path nor a fence, and costs no pattern matching
_BULLET = re.compile(r"(?:[-*+]|\d+[.)])\s+")
_LABEL_WORD = (
    r"(?:(?:new |existing )?file ?(?:path|name)?|path|in|edit|update|updated|modify|modified|change|changed|changes"
    r"|create|created|add|added|fix|step|then|now|and|next|also|to|for|the|\d+[.)]?)"
)
_LABEL = re.compile(rf"(?:\*\*|__)?(?:{_LABEL_WORD}\s+){{0,4}}{_LABEL_WORD}\s*(?::\s*(?:\*\*|__)?\s*|\s+(?=[`*]))",
                    re.IGNORECASE)  # fmt: skip
_REMARK = re.compile(r"\s*[(\[](?:modified|new|new file|updated?|changed|unchanged|edited|added|created|excerpt)[)\]]"
                     r":?$", re.IGNORECASE)  # fmt: skip
_COMMENT = re.compile(r"(?:#{1,6}|//|--|;|<!--|/\*)\s*(?P<inner>\S.*?)\s*(?:-->|\*/)?$")
_PROSE = re.compile(
    r"(?:a|above|add|after|again|also|an|and|apply|as|at|before|below|both|but|change|consider|create|do|done|edit"
    r"|finally|first|fix|for|from|here|i|i'll|i'm|if|in|insert|it|let|let's|like|look|make|modify|move|next|no|note|now|of"
    r"|ok|okay|on|open|or|please|remove|rename|replace|same|second|see|similarly|since|so|still|that|the|then|there"
    r"|these|this|to|update|use|we|where|with|write|you)\b[ ,:]",
    re.IGNORECASE,
)
_SUFFIXES = (
    "asm|awk|bash|bat|bzl|c|cc|cfg|cjs|clj|cljs|cmake|cmd|conf|cpp|cs|csproj|css|csv|cts|cxx|dart|diff|ejs|el|elm|env|erb"
    "|erl|ex|exs|fish|fs|gitignore|go|gql|gradle|graphql|groovy|h|haml|hbs|hcl|hh|hpp|hrl|hs|htm|html|hxx|in|inc|ini|ipynb"
    "|j2|java|jinja|jl|js|json|json5|jsonc|jsonl|jsx|kt|kts|less|lisp|lock|lua|m|mak|markdown|md|mdx|mjs|mk|ml|mli|mm|mod"
    "|mts|nim|nix|patch|php|pl|plist|pm|po|prisma|properties|proto|ps1|pug|py|pyi|pyx|r|rake|rb|rego|rkt|rs|rst|sass|sbt"
    "|scala|scm|scss|sh|sln|snap|sol|sql|styl|sum|sv|svelte|svg|swift|targets|tcl|template|tex|tf|tfvars|thrift|tmpl|toml"
    "|ts|tsv|tsx|txt|v|vb|vhd|vim|vue|wat|wgsl|xaml|xml|yaml|yml|zig|zsh"
)
_MENTION = re.compile(rf"[\w./\\-]*\w\.(?:{_SUFFIXES})\b(?!\()")
_ENDS_LIKE_A_FILE = re.compile(r"\.[A-Za-z]\w{0,11}$")
_KNOWN_NAME = re.compile(
    r"\w*(?:[Mm]akefile|[Dd]ockerfile|[Cc]ontainerfile|[Jj]enkinsfile|[Vv]agrantfile|[Gg]emfile|[Rr]akefile|[Pp]rocfile"
    r"|[Bb]rewfile|[Jj]ustfile|[Pp]ipfile|[Pp]odfile|[Ff]astfile|[Tt]iltfile|[Ee]arthfile|[Cc]addyfile)"
    r"|LICEN[CS]E|README|NOTICE|AUTHORS|CHANGELOG|CHANGES|COPYING|TODO|INSTALL|VERSION|CODEOWNERS|WORKSPACE|BUILD"
)
_QUOTED = re.compile(r"`([^`\s]{1,200})`")
_WORD = re.compile(r"[\w./@+\\-]{1,200}")
_HEADING = re.compile(r"#{1,6}\s|\*\*|__|`")  # how a line begins that stands above more than the next line
# what no path of a file that is to be made begins with or holds, but for one in quotes
_ODD = re.compile(r"[^\w.~/\\@(\[$]|.*(?:\]\(|[= ]|#L\d|[\u200b-\u200f\ufeff])")
_INFO_KEY = re.compile(r"(?:file|filename|path|title|name)=[\"']?([^\"']+?)[\"']?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PathAbove:
    """`path` when one was found, `quoted` if it stood in quotes; else what may name files in the lines above."""

    path: str = ""
    quoted: bool = False
    mentions: tuple[str, ...] = ()
    clash: str = ""  # another path line, in the fence or above it


def path_above(lines: Sequence[str]) -> PathAbove:
    """The path for a block that begins right after `lines` (which begin after the block before)."""
    end = _last_filled(lines, len(lines))
    fence = _fence(lines[end - 1]) if end else None
    if fence is None:
        return _of_lines(lines, end)
    above = _of_lines(lines, _last_filled(lines, end - 1))
    named = _of_info(fence["info"].strip())
    if not named:
        return above
    return PathAbove(named, True, clash=above.path if above.path and not _agree(above.path, named) else "")


def names_a_file(path: str) -> bool:
    """Whether a path says by itself that it is one: by a folder, a suffix that is known, or a name that is."""
    return "/" in path or "\\" in path or bool(_MENTION.fullmatch(path) or _KNOWN_NAME.fullmatch(path))


def is_clear(found: PathAbove) -> bool:
    """Whether the path leaves no doubt that it is one, so that a file may be made there."""
    path = found.path
    return (found.quoted or not _ODD.match(path)) and (
        names_a_file(path) or path[0] in ".~" or path[1:2] in (":", "\0")
    )


def _agree(one: str, other: str) -> bool:
    return one == other or f"/{one}".endswith(f"/{other}") or f"/{other}".endswith(f"/{one}")


def _last_filled(lines: Sequence[str], end: int) -> int:
    while end > 0 and not lines[end - 1].strip():
        end -= 1
    return end


def _of_lines(lines: Sequence[str], end: int) -> PathAbove:
    """The path that line `end` is; else the only one that a heading above it is; else what the lines speak of."""
    found = _path_line(lines[end - 1]) if end else PathAbove()
    if found.path:
        return found
    prose = _prose(lines[:end])
    headed = [(line, _path_line(line)) for line in prose]
    paths = {above.path: line for line, above in headed if above.path and names_a_file(above.path)}
    words = tuple(dict.fromkeys(word for line in prose for word in _words(line[:_MAX_LINE])))
    if len(paths) == 1:
        [(path, line)] = paths.items()
        others = [w for w in words if _MENTION.fullmatch(w) and not _agree(w, path)]
        if _HEADING.match(line.strip()) and not others:
            return PathAbove(path, True)
    return PathAbove(mentions=words, clash=next(iter(paths), ""))


def _prose(lines: Sequence[str]) -> list[str]:
    """The lines outside of code fences, which show output and other code; those behind one that is open count.

    The first fence may be the end of the one in which the block before stood.
    """
    fences = [number for number, line in enumerate(lines) if _fence(line)]
    if len(fences) % 2 and not any(line.strip() for line in lines[: fences[0]]):
        lines = lines[fences[0] + 1 :]
    prose: list[str] = []
    shown: list[str] = []
    mark = ""
    for line in lines:
        fence = _fence(line)
        if fence is not None and (not mark or fence[1].startswith(mark)):
            mark, shown = ("" if mark else fence[1]), []
        else:
            (shown if mark else prose).append(line)
    return [*prose, *shown]


def _path_line(line: str) -> PathAbove:
    return _bare_path(line.strip()) if len(line) <= _MAX_LINE else PathAbove()


def _words(line: str) -> list[str]:
    """What in a line may name a file, if there is one of that name."""
    words = _WORD.findall(line)
    return [word for bare in words if (word := bare.strip(".,").removeprefix("./")) and word.upper() != word.lower()]


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


def _bare_path(text: str) -> PathAbove:
    """`text` without decoration if what remains can only be a path."""
    bullet = _BULLET.match(text)
    text = _unlabelled(_whole_bold(text[bullet.end() :] if bullet else text))
    comment = _COMMENT.match(text)
    if comment and (_is_file_like(comment["inner"]) or "`" in comment["inner"]):
        text = _unlabelled(_whole_bold(comment["inner"]))
    bare = _undecorated(text)
    quoted = bare != text.rstrip(":")
    if not bare or "::" in bare or any(c in bare for c in '`"<>|*?') or bare.endswith((".", ",", ";", "!")):
        return PathAbove()
    if any(c.isspace() for c in bare):
        plain = _ENDS_LIKE_A_FILE.search(bare) and len(bare.split()) <= 5 and not _PROSE.match(bare)
        return PathAbove(bare, quoted) if _is_file_like(bare) and (quoted or plain) else PathAbove()
    return PathAbove(bare, quoted) if quoted or not text.endswith(":") or _is_file_like(bare) else PathAbove()


def _unlabelled(text: str) -> str:
    label = _LABEL.match(text)
    return _REMARK.sub("", text[label.end() :] if label else text).strip()


def _whole_bold(text: str) -> str:
    """Without bold around a label and a path together."""
    bold = len(text) > 4 and text[:2] == text[-2:] and text[:2] in ("**", "__") and text.count(text[:2]) == 2
    return text[2:-2] if bold and "`" in text else text


def _undecorated(text: str) -> str:
    """Without a final colon and without quoting around the whole."""
    text = text.rstrip(":").rstrip() if not re.fullmatch(r"[A-Za-z]:", text) else text
    for mark in ("**", "__", "`", "*", '"', "'", "**", "`"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)].strip().rstrip(":")
    return text
