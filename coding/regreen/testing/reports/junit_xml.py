"""JUnit XML as its many writers produce it, read defensively and bounded in cases as well. What stood before a fault is
kept, and the document says that it is broken."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from regreen.testing.reports.hardened_xml import MAX_BYTES, MAX_TEXT, Cursor, Refused, feed

MAX_CASES = 200_000
MAX_OUTPUT = 20_000
_MAX_NAME = 4000

Result: TypeAlias = Literal["passed", "failed", "error", "skipped"]

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
    if len(data) <= MAX_BYTES and not data.strip():
        document.problem = "it is empty"
        return document
    reader = _Reader(document)
    document.problem = feed(data, reader)
    if document.problem:
        reader.close()
    if not document.problem and not reader.known:
        document.problem = "it is no JUnit report: it holds no test suite"
    return document


class _Reader:
    """What a document tells, element by element."""

    def __init__(self, document: Document) -> None:
        self.at = Cursor()
        self._document = document
        self._suites: list[dict[str, str]] = []
        self._case: JunitCase | None = None
        self._broken_suite: JunitCase | None = None
        self.known = False

    def opened(self, tag: str, attributes: dict[str, str]) -> None:
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
            raise Refused(f"it holds over {MAX_CASES} cases")
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
            self.at.want_text()
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

    def closed(self, tag: str) -> None:
        if tag == "testcase":
            self._case = None
        elif tag == "testsuite":
            self._suites.pop()
        elif tag in _TEXTS:
            self._keep(tag)

    def close(self) -> None:
        """The document broke off: keep what the open element had told."""
        if self.at.path:
            self._keep(self.at.path[-1])

    def _keep(self, tag: str) -> None:
        text = self.at.take_text()
        if text is None:
            return
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
