"""JUnit XML as its many writers produce it, read defensively: a document is data from a program that ran any code.

No document type, so no entities; bounded in size, depth, cases and text. What follows a fault is lost, what stood
before it is kept, and the document says that it is broken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from xml.parsers import expat

MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 64
MAX_CASES = 200_000
MAX_TEXT = 60_000
MAX_OUTPUT = 20_000
_MAX_NAME = 4000

Result: TypeAlias = Literal["passed", "failed", "error", "skipped"]

_ENCODINGS = re.compile(r"(?:us-)?ascii|iso-8859-\d{1,2}|windows-125\d|utf-16|utf-8", re.IGNORECASE)
_DECLARED = re.compile(rb"""\A<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.-]{1,40})["']""")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]{1,8})|([0-9]{1,10}));")
_TROUBLES: Mapping[str, Result] = {"failure": "failed", "error": "error"}
_FLAKY = frozenset(("flakyfailure", "flakyerror"))
_TEXTS = frozenset(("failure", "error", "skipped", "system-out", "system-err"))
_STATUSES: Mapping[str, Result] = {
    "failed": "failed", "failure": "failed", "fail": "failed", "error": "error", "errored": "error",
    "skipped": "skipped", "disabled": "skipped", "notrun": "skipped", "ignored": "skipped", "suppressed": "skipped",
}  # fmt: skip


@dataclass
class JunitCase:
    """One `<testcase>`, or a `<testsuite>` that failed as a whole (`whole_suite`). `suites` are the names of those
    around it, outermost first; `kind`, `message` and `text` are those of its first failure."""

    name: str
    classname: str = ""
    suites: tuple[str, ...] = ()
    file: str = ""
    line: int = 0
    duration_s: float = 0.0
    result: Result = "passed"
    kind: str = ""
    message: str = ""
    text: str = ""
    stdout: str = ""
    stderr: str = ""
    flaky: bool = False
    whole_suite: bool = False
    properties: dict[str, str] = field(default_factory=dict[str, str])
    attributes: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class Document:
    """One file. `problem` says why it could not be read to its end; "" where it was."""

    cases: list[JunitCase] = field(default_factory=list[JunitCase])
    problem: str = ""


def parse(data: bytes) -> Document:
    """Read one document. Never raises for what it holds."""
    document = Document()
    if len(data) > MAX_BYTES:
        document.problem = f"it is larger than {MAX_BYTES} bytes"
        return document
    if not data.strip():
        document.problem = "it is empty"
        return document
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    reader = _Reader(document)
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.doctype
    try:
        parser.Parse(_clean(data), True)
    except (expat.ExpatError, _Refused) as e:
        document.problem = str(e)
        parser.buffer_text = False  # hands out what it holds
        reader.close()
    if not document.problem and not reader.known:
        document.problem = "it is no JUnit report: it holds no test suite"
    return document


class _Refused(Exception):
    """The document holds what no report needs."""


def _clean(data: bytes) -> bytes:
    """The document as UTF-8 that a strict parser accepts: forbidden characters are written out as text."""
    text = _decoded(data)
    text = _INVALID.sub(lambda m: f"\\x{ord(m[0]):02x}", _DECLARATION.sub("", text, count=1))
    return _REFERENCE.sub(_reference, text).encode("utf-8", "replace")


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    data = data.removeprefix(b"\xef\xbb\xbf")
    declared = _DECLARED.match(data.lstrip()[:200])
    name = declared[1].decode("ascii") if declared else "utf-8"
    known = _ENCODINGS.fullmatch(name) and not name.lower().startswith("utf-16")
    try:
        return data.decode(name if known else "utf-8", "replace")
    except LookupError:
        return data.decode("utf-8", "replace")


def _reference(match: re.Match[str]) -> str:
    number = int(match[1], 16) if match[1] else int(match[2])
    valid = number in (9, 10, 13) or 0x20 <= number < 0xD800 or 0xDFFF < number < 0xFFFE or 0xFFFF < number < 0x110000
    return match[0] if valid else f"\\x{min(number, 0x110000):02x}"


class _Reader:
    """What the parser calls. The text of an element is kept as long as something wants it, and never past its limit."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._path: list[str] = []
        self._suites: list[dict[str, str]] = []
        self._case: JunitCase | None = None
        self._broken_suite: JunitCase | None = None
        self._text: list[str] | None = None
        self._length = 0
        self.known = False

    def doctype(self, *_: object) -> None:
        raise _Refused("it declares a document type, which a report has no need of")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) >= MAX_DEPTH:
            raise _Refused(f"its elements are nested over {MAX_DEPTH} deep")
        tag = _local(name)
        self._path.append(tag)
        match tag:
            case "testsuites":
                self.known = True
            case "testsuite":
                self.known = True
                self._suites.append(attributes)
            case "testcase":
                self._begin_case(attributes)
            case "property":
                self._property(attributes)
            case _:
                self._detail(tag, attributes)

    def _begin_case(self, attributes: dict[str, str]) -> None:
        if len(self._document.cases) >= MAX_CASES:
            raise _Refused(f"it holds over {MAX_CASES} cases")
        self.known = True
        self._case = _case(attributes, self._suites)
        self._document.cases.append(self._case)

    def _property(self, attributes: dict[str, str]) -> None:
        if self._case is not None and len(self._case.properties) < 100:
            self._case.properties[attributes.get("name", "")] = attributes.get("value", "")[:_MAX_NAME]

    def _detail(self, tag: str, attributes: dict[str, str]) -> None:
        if self._case is None and tag in _TROUBLES and self._suites:
            self._broken_suite = self._whole_suite()
        case = self._case or self._broken_suite
        if case is None:
            return
        if tag in _FLAKY:
            case.flaky = True
        elif tag in _TEXTS:
            self._text, self._length = [], 0
        if tag in _TROUBLES:
            _trouble(case, _TROUBLES[tag], attributes)
        elif tag == "skipped" and case.result == "passed":
            case.result, case.kind = "skipped", attributes.get("type", "")
            case.message = attributes.get("message", "")[:_MAX_NAME]

    def _whole_suite(self) -> JunitCase:
        suite = self._suites[-1]
        case = _case({**suite, "name": suite.get("name", "") or "suite", "classname": ""}, self._suites)
        case.whole_suite = True
        self._document.cases.append(case)
        return case

    def text(self, data: str) -> None:
        if self._text is not None and self._length < MAX_TEXT:
            self._text.append(data[: MAX_TEXT - self._length])
            self._length += len(data)

    def end(self, _name: str) -> None:
        tag = self._path.pop()
        if tag == "testcase":
            self._case = None
        elif tag == "testsuite":
            self._suites.pop()
        elif tag in _TEXTS and self._text is not None:
            self._keep(tag, "".join(self._text))

    def close(self) -> None:
        """The document broke off: keep what the open element had told."""
        if self._text is not None and self._path:
            self._keep(self._path[-1], "".join(self._text))

    def _keep(self, tag: str, text: str) -> None:
        self._text = None
        case = self._case or self._broken_suite
        if self._case is None:
            self._broken_suite = None
        if case is None:
            return
        if tag == "system-out":
            case.stdout = (case.stdout + text)[-MAX_OUTPUT:]
        elif tag == "system-err":
            case.stderr = (case.stderr + text)[-MAX_OUTPUT:]
        else:
            case.message = case.message or _first_line(text)
            case.text = (f"{case.text}\n{text}" if case.text else text)[:MAX_TEXT]


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _case(attributes: dict[str, str], suites: list[dict[str, str]]) -> JunitCase:
    a = {k: v[:_MAX_NAME] for k, v in attributes.items()}
    inner = suites[-1] if suites else {}
    status = (a.get("status") or a.get("result") or "").lower()
    return JunitCase(
        name=a.get("name", ""),
        classname=a.get("classname", "") or a.get("class", ""),
        suites=tuple(s.get("name", "")[:_MAX_NAME] for s in suites),
        file=a.get("file") or a.get("filepath") or inner.get("file") or inner.get("filepath") or "",
        line=_whole(a.get("line") or a.get("lineno") or ""),
        duration_s=seconds(a.get("time") or a.get("duration") or ""),
        result=_STATUSES.get(status, "passed"),
        attributes=a,
    )


def _trouble(case: JunitCase, result: Result, attributes: dict[str, str]) -> None:
    if case.result != "error":
        case.result = result
    case.kind = case.kind or attributes.get("type", "")[:_MAX_NAME]
    case.message = case.message or attributes.get("message", "")[:MAX_TEXT]


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:_MAX_NAME]


def _whole(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0


def seconds(text: str) -> float:
    """A time attribute. Some writers group the digits (`1,234.5`), some write `NaN`."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return value if 0 <= value < 1e9 else 0.0
