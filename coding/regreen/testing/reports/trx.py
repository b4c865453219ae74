"""TRX, the report of `dotnet test`: one file for each test project. Read defensively, as it comes from a program that
ran any code: no document type and so no entities, bounded in size, depth, results and text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 64
MAX_RESULTS = 200_000
MAX_TEXT = 60_000

_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x0*([0-9a-fA-F]{1,8})|0*([0-9]{1,10}));")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")
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
    if len(data) > MAX_BYTES:
        document.problem = f"it is larger than {MAX_BYTES} bytes"
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
    reader.close()
    if not document.problem and not reader.known:
        document.problem = "it is no TRX report"
    return document


class _Refused(Exception):
    """The document holds what no report needs."""


def _clean(data: bytes) -> bytes:
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    text = _DECLARATION.sub("", data.decode(encoding, "replace"), count=1)
    text = _INVALID.sub(lambda m: f"\\x{ord(m[0]):02x}", text)
    return _REFERENCE.sub(_reference, text).encode("utf-8", "replace")


def _reference(match: re.Match[str]) -> str:
    number = int(match[1], 16) if match[1] else int(match[2])
    valid = number in (9, 10, 13) or 0x20 <= number < 0xD800 or 0xDFFF < number < 0xFFFE or 0xFFFF < number < 0x110000
    return match[0] if valid else f"\\x{min(number, 0x110000):02x}"


class _Reader:
    """What the parser calls."""

    def __init__(self, document: Trx) -> None:
        self._document = document
        self._path: list[str] = []
        self._result: TrxResult | None = None
        self._defined: dict[str, tuple[str, str]] = {}
        self._test = ""
        self._text: list[str] | None = None
        self._length = 0
        self.known = False

    def doctype(self, *_: object) -> None:
        raise _Refused("it declares a document type, which a report has no need of")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) >= MAX_DEPTH:
            raise _Refused(f"its elements are nested over {MAX_DEPTH} deep")
        tag = name.rpartition(":")[2].lower()
        self._path.append(tag)
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
            raise _Refused(f"it holds over {MAX_RESULTS} results")
        a = attributes
        self._result = TrxResult(a.get("testId", ""), a.get("testName", "")[:4000], a.get("outcome", "Passed"),
                                 _seconds(a.get("duration", "")))  # fmt: skip
        self._document.results.append(self._result)

    def _detail(self, tag: str) -> None:
        if (self._result is not None and tag in _TEXTS) or (tag == "text" and "runinfo" in self._path):
            self._text, self._length = [], 0

    def text(self, data: str) -> None:
        if self._text is not None and self._length < MAX_TEXT:
            self._text.append(data[: MAX_TEXT - self._length])
            self._length += len(data)

    def end(self, _name: str) -> None:
        tag = self._path.pop()
        if tag == "unittestresult" and "unittestresult" not in self._path:
            self._result = None
        if self._text is None:
            return
        said = "".join(self._text)
        if tag == "text":
            self._document.said.append(said)
        elif tag in _TEXTS and self._result is not None:
            setattr(self._result, _TEXTS[tag], said)
        self._text = None

    def close(self) -> None:
        """Give the results the classes of their tests, whose definitions stand behind them."""
        for result in self._document.results:
            result.owner, result.method = self._defined.get(result.test, ("", ""))


def _seconds(text: str) -> float:
    found = _DURATION.fullmatch(text)
    return int(found[1]) * 3600 + int(found[2]) * 60 + float(found[3]) if found else 0.0
