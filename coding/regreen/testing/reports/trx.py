"""TRX, the report of `dotnet test`: one file for each test project. Read defensively and bounded in results as well."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from regreen.testing.reports.hardened_xml import Cursor, Refused, feed

MAX_RESULTS = 200_000

_DURATION = re.compile(r"(\d{1,4}):(\d\d):(\d\d(?:\.\d+)?)")
_TEXTS: Mapping[str, str] = {"message": "message", "stacktrace": "trace", "stdout": "stdout", "stderr": "stderr"}


@dataclass
class TrxResult:
    """One result. `owner` is the class that the definition of the test names."""

    test: str
    name: str
    outcome: str
    duration_s: float = 0.0
    owner: str = ""
    method: str = ""
    message: str = ""
    trace: str = ""
    stdout: str = ""
    stderr: str = ""


@dataclass
class Trx:
    """One file. `ended` is the outcome of the run, "" where the report breaks off; `said` are errors of the run itself;
    `problem` says why it could not be read to its end."""

    results: list[TrxResult] = field(default_factory=list[TrxResult])
    ended: str = ""
    said: list[str] = field(default_factory=list[str])
    problem: str = ""


def parse(data: bytes) -> Trx:
    """Read one file. Never raises for what it holds."""
    document = Trx()
    reader = _Reader(document)
    document.problem = feed(data, reader)
    reader.close()
    if not document.problem and not reader.known:
        document.problem = "it is no TRX report"
    return document


class _Reader:
    """What a document tells, element by element."""

    def __init__(self, document: Trx) -> None:
        self.at = Cursor()
        self._document = document
        self._result: TrxResult | None = None
        self._defined: dict[str, tuple[str, str]] = {}
        self._test = ""
        self.known = False

    def opened(self, tag: str, attributes: dict[str, str]) -> None:
        match tag:
            case "testrun":
                self.known = True
            case "unittestresult":
                self._begin(attributes)
            case "unittest":
                self._test = attributes.get("id", "")
            case "testmethod":
                self._defined[self._test] = attributes.get("className", ""), attributes.get("name", "")
            case "resultsummary":
                self._document.ended = attributes.get("outcome", "") or "Completed"
            case _:
                self._detail(tag)

    def _begin(self, attributes: dict[str, str]) -> None:
        if len(self._document.results) >= MAX_RESULTS:
            raise Refused(f"it holds over {MAX_RESULTS} results")
        a = attributes
        self._result = TrxResult(a.get("testId", ""), a.get("testName", "")[:4000], a.get("outcome", "Passed"),
                                 _seconds(a.get("duration", "")))  # fmt: skip
        self._document.results.append(self._result)

    def _detail(self, tag: str) -> None:
        if (self._result is not None and tag in _TEXTS) or (tag == "text" and "runinfo" in self.at.path):
            self.at.want_text()

    def closed(self, tag: str) -> None:
        if tag == "unittestresult" and "unittestresult" not in self.at.path:
            self._result = None
        said = self.at.take_text()
        if said is None:
            return
        if tag == "text":
            self._document.said.append(said)
        elif tag in _TEXTS and self._result is not None:
            setattr(self._result, _TEXTS[tag], said)

    def close(self) -> None:
        """Give the results the classes of their tests, whose definitions stand behind them."""
        for result in self._document.results:
            result.owner, result.method = self._defined.get(result.test, ("", ""))


def _seconds(text: str) -> float:
    found = _DURATION.fullmatch(text)
    return int(found[1]) * 3600 + int(found[2]) * 60 + float(found[3]) if found else 0.0
