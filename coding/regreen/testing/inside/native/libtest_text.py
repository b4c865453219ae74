"""The text that Rust's test harness prints for people: the only form that documentation tests and older toolchains
offer. Standalone."""

from __future__ import annotations

import re
from collections.abc import Callable

_CRATE = re.compile(r"^ +Doc-tests (?P<crate>[\w-]+)\s*$")
_RESULT = re.compile(
    r"^(?:.*?)test (?P<name>\S.{0,2000}?)(?: - (?:should panic|compile fail|compile|run))?"
    r" \.\.\. (?P<result>ok|FAILED|failed|ignored)(?:, .*| \(.*\))?$"
)
_SECTION = re.compile(r"^---- (?P<name>\S.{0,2000}?)(?: - (?:should panic|compile fail|compile))? stdout ----$")
_SUMMARY = re.compile(r"^test result: (?:ok|FAILED)\. \d+ passed; \d+ failed;")
_OUTCOMES = {"ok": "passed", "FAILED": "failed", "failed": "failed", "ignored": "skipped"}


class TextReader:
    """Takes lines; tells (name, outcome, text) of each test when its program's summary has come, and `summaries`."""

    def __init__(self, tell: Callable[[str, str, str, str], None]) -> None:
        self._tell = tell
        self.crate = ""
        self.summaries = 0
        self._results: dict[str, str] = {}
        self._texts: dict[str, list[str]] = {}
        self._section: list[str] | None = None
        self._told: set[tuple[str, str]] = set()

    def line(self, line: str) -> None:
        if crate := _CRATE.match(line):
            self.flush()
            self.crate = crate["crate"]
        elif _SUMMARY.match(line):
            self.flush()
            self.summaries += 1
        elif section := _SECTION.match(line):
            self._section = self._texts.setdefault(section["name"], [])
        elif self._section is not None and line != "failures:":
            self._section.append(line)
        elif line == "failures:":
            self._section = None
        elif result := _RESULT.match(line):
            self._take(result["name"], _OUTCOMES[result["result"]])

    def _take(self, name: str, outcome: str) -> None:
        if self._results.get(name) != "failed":
            self._results[name] = outcome

    def flush(self) -> None:
        """Tell what has been read so far."""
        for name, outcome in self._results.items():
            self._tell(self.crate, name, outcome, "\n".join(self._texts.get(name, ())).strip())
        self._results, self._texts, self._section = {}, {}, None
