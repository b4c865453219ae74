"""Signs of cheats in code that is no test, in languages that are not parsed: patterns over what is no comment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from regreen.fix.tamper.other_patterns import COMMON, PATTERNS, Pattern
from regreen.fix.tamper.source_text import language_of, with_texts_joined, without_comments
from regreen.fix.tamper.values import Sign

_NEAR = 200  # characters
_ENTRY = re.compile(r"(^|/)(bin|cmd|cli|scripts?|exe)/|(^|/)(main|cli|index\.cli|Program|Main|__main__)\.\w+$|^#!")
_ENTRY_TEXT: dict[str, re.Pattern[str]] = {
    "javascript": re.compile(
        r"require\.main\s*===?\s*module|\A#!|from\s+['\"](commander|yargs|meow|cac)|process\.argv"
    ),
    "go": re.compile(r"^package\s+main\b", re.MULTILINE),
    "rust": re.compile(r"\bfn\s+main\s*\("),
    "ruby": re.compile(r"\A#!|\$0\s*==|\$PROGRAM_NAME\s*==|OptionParser|Thor\b"),
    "php": re.compile(r"\A#!|\$argv\b|header\s*\("),
    "java": re.compile(r"void\s+main\s*\(|fun\s+main\s*\("),
    "csharp": re.compile(r"\bMain\s*\("),
    "c": re.compile(r"\bmain\s*\("),
}


def signs_in(path: str, text: str, known: str | None = None) -> list[Sign]:
    """What a file says that could be a cheat, by the patterns of its language.

    Whether it is a program's entry point is read from `known`, its text before the change, where there is one.
    """
    language = language_of(path)
    patterns = PATTERNS.get(language, ())
    if not patterns:
        return []
    code = with_texts_joined(without_comments(text, language))
    entry_text = _ENTRY_TEXT.get(language)
    entry = bool(_ENTRY.search(path)) or bool(entry_text and entry_text.search(known or text))
    found: list[Sign] = []
    for pattern in (*COMMON, *patterns):
        if not (pattern.entry and entry):
            found.extend(_matches(pattern, code))
    if language == "go" and "go:linkname" in text:
        found.append(Sign("reaches_into_interpreter", 0, "go:linkname"))
    return found


def _matches(pattern: Pattern, code: str) -> Iterator[Sign]:
    for match in pattern.regex.finditer(code):
        near = code[max(0, match.start() - _NEAR) : match.end() + _NEAR]
        other = pattern.both.search(near) if pattern.both else None
        if pattern.both and other is None:
            continue
        said = re.sub(r"\s+", " ", f"{match[0]} {other[0] if other else ''}").strip()[:150]
        yield Sign(pattern.cheat, code.count("\n", 0, match.start()) + 1, said, pattern.weight)
