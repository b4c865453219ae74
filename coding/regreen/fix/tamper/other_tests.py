"""What a change does to test files in languages that are not parsed: their lines, without comments and blanks.

Old lines must stay as they are and in order. What is added must be whole tests, imports or helpers: blocks that begin
as such and whose brackets are balanced, and that do nothing to the tests around them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from regreen.fix.tamper.source_text import language_of, without_comments
from regreen.fix.tamper.values import Sign

_OPENERS: dict[str, re.Pattern[str]] = {
    "javascript": re.compile(r"(test|it|describe)(\.each\b.*)?\s*\(|(import|export|const|function)\b"),
    "go": re.compile(r"func\s+(\(.*\)\s*)?(Test|Benchmark|Example|Fuzz|[a-z])|import\b|\"[\w./-]+\"$|(const|type)\b"),
    "rust": re.compile(r"#\[\s*(test|tokio::test|rstest|case)|use\b|(async\s+)?fn\b"),
    "ruby": re.compile(r"(it|specify|describe|context|example|test)\b|def\s+test_|require"),
    "php": re.compile(r"(public\s+)?function\s+test|use\b|#\[Test|@test|(it|test)\s*\("),
    "java": re.compile(r"@(Test|ParameterizedTest|RepeatedTest)|import\b|(private|static)\b|(public\s+)?void\b|fun\b"),
    "csharp": re.compile(r"\[(Fact|Theory|Test|TestMethod|TestCase)|using\b|(public|private)\b"),
}  # fmt: skip
_TEST = re.compile(
    r"\b(test|it|specify|describe|context)\s*(\.\w+)*\s*[(\"'`]|\bfunc\s+Test|\bfn\s+\w+|def\s+test_|function\s+test|@Test\b|"
    r"#\[\s*test|\[(Fact|Theory|Test)"
)
_ASSERT = re.compile(
    r"expect|assert|should\b|must_|verify|t\.(Error|Fatal|Fail)|require\.|is\.(Equal|True)|Equal\(|panic!|\bif\b.*[!=]="
)
_SKIP = re.compile(
    r"\.(skip|todo|fails|failing|skipIf|runIf)\b|\b(xit|xtest|xdescribe|xcontext|xspecify|pending|skip)\b|#\[\s*ignore|"
    r"#\[\s*should_panic|\bt\.(Skip|SkipNow|Skipf)\b|markTestSkipped|markTestIncomplete|@(Disabled|Ignore|EnabledIf\w*)|"
    r"Skip\s*=|assumeTrue|Assume\.|\[Ignore|//go:build|#\[\s*cfg\b|todo!"
)
_FOCUS = re.compile(r"\.only\b|\b(fit|fdescribe|fcontext|focus)\b|:focus\b")
_ENDS = re.compile(
    r"process\s*\.\s*(exit|reallyExit|abort|kill)|os\.Exit|process::(exit|abort)|\bexit!|\bexit\b\s*[(;]|\bdie\b|System\.exit|"
    r"\.halt\(|Environment\.(Exit|FailFast)|Process\.(exit|kill)|_exit\("
)
_ACTS = re.compile(
    r"\b(beforeEach|beforeAll|afterEach|afterAll|before|after|around|setup|teardown|setUp|tearDown)\b\s*[({]|jest\.(mock|setMock|"
    r"doMock|spyOn|useFakeTimers)|vi\.(mock|doMock|spyOn|stubGlobal)|globalThis|\bglobal\.|require\.cache|\.prototype\b|"
    r"func\s+(TestMain|init)\b|@(Before|After)\w*|\bObject\.(defineProperty|assign)\s*\(\s*(expect|assert|global)|"
    r"(expect|assert)\.\w+\s*=[^=]|at_exit|allow_any_instance_of|macro_rules"
)


def lines_of(path: str, text: str) -> list[str]:
    """The lines that say something, without comments and outer blanks."""
    code = without_comments(text, language_of(path))
    return [re.sub(r"\s+", " ", line).strip() for line in code.splitlines() if line.strip()]


def changed(path: str, before: str, after: str) -> list[Sign]:
    """What became of the tests that were there, and what the additions do to them."""
    old, new = lines_of(path, before), lines_of(path, after)
    found: list[Sign] = []
    for op, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if op in ("delete", "replace"):
            found.append(_lost(old[a:b], new[c:d]))
        elif op == "insert" and (sign := _inserted(path, new, c, d)):
            found.append(sign)
    return found


def _lost(gone: Sequence[str], fresh: Sequence[str]) -> Sign:
    text, now = "\n".join(gone), "\n".join(fresh)
    shown = gone[0][:100]
    if _ENDS.search(now):
        return Sign("stops_run", 0, fresh[0][:100])
    if _SKIP.search(now) or _FOCUS.search(now):
        return Sign("skips_test", 0, fresh[0][:100])
    asserted, asserts = len(_ASSERT.findall(text)), len(_ASSERT.findall(now))
    if asserted > asserts:
        return Sign(
            "removes_test" if len(_TEST.findall(text)) > len(_TEST.findall(now)) else "removes_assert", 0, shown
        )
    if _TEST.search(text) and not _TEST.search(now):
        return Sign("removes_test", 0, shown)
    if asserted:
        same = _without_constants(text) == _without_constants(now)
        return Sign("changes_expected" if same else "weakens_assert", 0, shown)
    return Sign("changes_test", 0, shown)


def _without_constants(text: str) -> str:
    return re.sub(r"\"[^\"]*\"|'[^']*'|`[^`]*`|-?\b\d[\d_.]*|\b(true|false|null|nil|None)\b", "#", text)


def _inserted(path: str, lines: Sequence[str], start: int, end: int) -> Sign | None:
    """What an inserted block does to the old tests. It may be told shifted by some lines, which means the same."""
    text = "\n".join(lines[start:end])
    for cheat, pattern in (
        ("stops_run", _ENDS),
        ("skips_test", _SKIP),
        ("skips_test", _FOCUS),
        ("influences_tests", _ACTS),
    ):
        if match := pattern.search(text):
            return Sign(cheat, 0, match[0])
    opener = _OPENERS.get(language_of(path))
    if opener is None or any(_whole(opener, block) for block in _shifts(lines, start, end)):
        return None if opener is not None else Sign("changes_test", 0, lines[start][:100])
    early = re.match(r"(return|break)\b", lines[start])
    return Sign("returns_early" if early else "influences_tests", 0, lines[start][:100])


def _shifts(lines: Sequence[str], start: int, end: int) -> Iterator[Sequence[str]]:
    yield lines[start:end]
    low, high = start, end
    while low > 0 and lines[low - 1] == lines[high - 1]:
        low, high = low - 1, high - 1
        yield lines[low:high]
    low, high = start, end
    while high < len(lines) and lines[low] == lines[high]:
        low, high = low + 1, high + 1
        yield lines[low:high]


def _whole(opener: re.Pattern[str], block: Sequence[str]) -> bool:
    text = re.sub(r"\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*'", "", "\n".join(block))
    balanced = all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))
    return balanced and opener.match(block[0]) is not None


def stoppers(path: str, text: str) -> list[Sign]:
    """What ends the process of the tests."""
    code = without_comments(text, language_of(path))
    return [Sign("stops_run", code.count("\n", 0, m.start()) + 1, m[0]) for m in _ENDS.finditer(code)]


def rust_tests(text: str) -> str:
    """The test modules inside a Rust source file, "" for none."""
    code = without_comments(text, "rust")
    heads = re.finditer(r"#\[\s*cfg\s*\(\s*test\s*\)\s*\]\s*(pub\s+)?mod\s+\w+\s*\{", code)
    return "\n".join(code[m.start() : _closed(code, m.end())] for m in heads)


def _closed(code: str, start: int) -> int:
    depth = 1
    for match in re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'|[{}]").finditer(code, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(code)
