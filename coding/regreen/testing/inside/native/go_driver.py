"""Runs `go test -json` and tells what happens over the private channel.

    python go_driver.py CHANNEL JOB

Standalone. The go tool frames what tests print; a result for a test that was never started is something a test
printed, and is not believed. The exit status is the worst of those of the go tool.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from driver_channel import Channel, Log, cut, load_job
from go_select import Package, Run, all_tests, choose, place_of, replaces_output

_OUTCOMES = {"pass": "passed", "fail": "failed", "skip": "skipped", "bench": "passed"}
_MAX_OUTPUT = 200_000  # characters kept of one test's output
_MAX_UNRUN = 5  # tests that are named because they did not run
_LISTED = "{{.ImportPath}}\t{{.Dir}}\t{{range .TestGoFiles}}{{.}}/{{end}}{{range .XTestGoFiles}}{{.}}/{{end}}"
_USED = re.compile(r"^use[ \t]+(?!\()(\S+)|^\t(\S+)", re.MULTILINE)


@dataclass
class Heard:
    """One package's tests as they run."""

    label: str
    folder: str = ""
    path: Path | None = None
    places: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    running: dict[str, float] = field(default_factory=dict[str, float])
    outcomes: dict[str, str] = field(default_factory=dict[str, str])
    outputs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    sizes: Counter[str] = field(default_factory=Counter[str])
    own: list[str] = field(default_factory=list[str])
    last: str = ""
    files: tuple[str, ...] = ()
    word: bool = False  # whether its program said its last word, `PASS` or `FAIL`
    over: str = ""  # how the go tool says that the package ended

    def place(self, test: str) -> tuple[str, int]:
        """Where the test's function stands."""
        top = test.partition("/")[0]
        if top not in self.places:
            self.places[top] = place_of(self.path, top) if self.path is not None else ("", 0)
        return self.places[top]

    def output(self, test: str, text: str) -> None:
        """Keep what a test wrote: head and tail."""
        if test and test not in self.outputs:
            test = self.last  # a test that was never started: somebody printed its name
        kept = self.outputs.get(test, self.own) if test else self.own
        self.sizes[test] += len(text)
        if self.sizes[test] > _MAX_OUTPUT and len(kept) > 400:
            self.sizes[test] -= len(kept.pop(len(kept) // 2))
        kept.append(text)


class Driver:
    """One run."""

    def __init__(self, channel: Channel, job: Mapping[str, Any]) -> None:
        self._channel, self._job, self._log = channel, job, Log()
        self._folder = Path(job["folder"])
        self._packages: dict[str, Package] = {}
        self._heard: dict[str, Heard] = {}
        self._ended: set[str] = set()
        self._now = Run()
        self._code = 0

    def run(self) -> int:
        """Everything, to the end."""
        if not self._list():
            return 1
        entries = [*self._job["selection"], *self._job["last_failed"]]
        runs, unmatched = choose(entries, list(self._packages.values()), self._folder)
        if self._job["last_failed"] and not self._job["selection"]:
            unmatched = []
            runs = runs or [Run()]
        for one in runs if entries else [Run()]:
            self._run(one)
            unmatched += [test for test in one.tests if test not in self._ended and not self._code]
        self._channel.send("unmatched", entries=unmatched)
        self._channel.send("done")
        return self._code

    def _patterns(self) -> list[str]:
        """All packages below the folder, and those of every module of a workspace."""
        try:
            text = (self._folder / "go.work").read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return ["./..."]
        used = [a or b for a, b in _USED.findall(text)]
        folders = [f for f in used if (self._folder / f / "go.mod").is_file()]
        return [f"{'' if f.startswith('.') else './'}{f.rstrip('/')}/..." for f in folders] or ["./..."]

    def _list(self) -> bool:
        done = subprocess.run(
            [self._job["go"], "list", "-e", "-f", _LISTED, *self._patterns()],
            cwd=self._folder, stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        for line in done.stdout.decode("utf-8", "replace").splitlines():
            path, folder, *files = [*line.split("\t"), ""]
            if folder and not self._relative(Path(folder)).startswith(".."):
                tests = tuple(f for f in "/".join(files).split("/") if f)
                self._packages[path] = Package(path, Path(folder), self._label(path, Path(folder)), tests)
        if self._packages:
            return True
        self._log.write(done.stderr)
        self._channel.send("broken", text=cut(done.stderr.decode("utf-8", "replace")))
        return False

    def _label(self, path: str, folder: Path) -> str:
        """The package's folder, relative to the project's; for the top one the last part of its import path."""
        relative = self._relative(folder)
        if relative != ".":
            return relative
        parts = [p for p in path.split("/") if not re.fullmatch(r"v[0-9]+", p)] or [path]
        return path if (self._folder / parts[-1]).is_dir() else parts[-1]

    def _relative(self, folder: Path) -> str:
        return Path(os.path.relpath(folder.resolve(), self._folder.resolve())).as_posix()

    def _run(self, one: Run) -> None:
        packages = [f"./{p}" if p != "." else "." for p in one.folders] or self._job["packages"] or self._patterns()
        argv = [self._job["go"], "test", "-json", *self._job["options"], *one.words, *packages]
        child = subprocess.Popen(
            argv, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert child.stdout is not None
        self._heard, self._now = {}, one
        said: list[str] = []
        reader = threading.Thread(target=self._errors, args=(child, said), daemon=True)
        reader.start()
        plain: list[str] = []
        for line in child.stdout:
            self._line(line, plain)
        code = child.wait()
        reader.join(2.0)
        for heard in self._heard.values():
            self._whole(heard)
            if heard.running:
                self._crashed(heard)
        text = "".join([*said, *plain])
        if any("[build failed]" in p or "[setup failed]" in p for p in plain) or (code and not self._heard):
            self._channel.send("build", text=cut(text))
        self._code = max(self._code, code)

    def _errors(self, child: subprocess.Popen[bytes], said: list[str]) -> None:
        assert child.stderr is not None
        for line in child.stderr:
            self._log.write(line)
            said.append(line.decode("utf-8", "replace"))
            del said[:-500]

    def _line(self, line: bytes, plain: list[str]) -> None:
        try:
            event = json.loads(line)
            action = event["Action"]
        except (ValueError, KeyError, TypeError, RecursionError):
            self._log.write(line)
            plain.append(line.decode("utf-8", "replace"))
            return
        if action == "build-output":
            self._log.line(event.get("Output", "").rstrip("\n"))
            plain.append(event.get("Output", ""))
        elif action == "build-fail":
            plain.append("[build failed]\n")
        elif event.get("Package"):
            self._event(event, action)

    def _event(self, event: Mapping[str, Any], action: str) -> None:
        path, test = event["Package"], event.get("Test", "")
        heard = self._heard.get(path) or self._begin(path)
        if action == "output":
            text = event.get("Output", "")
            self._log.line(text.rstrip("\n"))
            heard.word = heard.word or (not test and text.rstrip("\n").endswith(("PASS", "FAIL")))
            heard.output(test, text)
        elif action == "run":
            heard.running[test] = time.monotonic()
            heard.outputs.setdefault(test, [])
            heard.last = test
            self._channel.send("start", id=f"{heard.label}/{test}")
        elif action in _OUTCOMES and test:
            self._test_ended(heard, test, _OUTCOMES[action], event.get("Elapsed", 0.0))
        elif action in _OUTCOMES:
            self._package_ended(heard, _OUTCOMES[action])

    def _begin(self, path: str) -> Heard:
        known = self._packages.get(path)
        heard = Heard(path)
        if known is not None:
            heard = Heard(known.label, self._relative(known.folder), known.folder, files=known.files)
        self._heard[path] = heard
        return heard

    def _test_ended(self, heard: Heard, test: str, outcome: str, seconds: float) -> None:
        if test not in heard.outputs:
            return
        heard.running.pop(test, None)
        if heard.outcomes.get(test) == "failed":
            return
        heard.outcomes[test] = outcome
        text = cut("".join(heard.outputs[test])) if outcome == "failed" else ""
        self._ended.add(f"{heard.label}/{test}")
        place = heard.place(test) if outcome == "failed" else ("", 0)
        self._channel.send("end", id=f"{heard.label}/{test}", outcome=outcome, time=seconds, text=text,
                           folder=heard.folder, place=place, package=heard.label)  # fmt: skip

    def _package_ended(self, heard: Heard, outcome: str) -> None:
        heard.over = outcome
        if outcome == "failed" and heard.running:
            self._crashed(heard)
            self._unrun(heard)
        elif outcome == "failed" and "failed" not in heard.outcomes.values():
            self._channel.send("package", label=heard.label, text=cut("".join(heard.own)), tests=len(heard.outcomes))
        elif outcome == "failed":
            self._unrun(heard)

    def _unrun(self, heard: Heard) -> None:
        """Tell which tests of the package were to run, and were not even started."""
        never = self._never(heard)
        self._channel.send("unrun", package=heard.label, tests=never[:_MAX_UNRUN], total=len(never))

    def _never(self, heard: Heard) -> list[str]:
        """The tests of the package that were to run, and were not even started."""
        if self._now.tests:
            wanted = [t.removeprefix(f"{heard.label}/") for t in self._now.tests if t.startswith(f"{heard.label}/")]
        elif heard.path is None or any(o.startswith(("-run", "-skip")) for o in self._job["options"]):
            return []
        else:
            wanted = all_tests(heard.path, heard.files)
        return [f"{heard.label}/{t}" for t in wanted if t not in heard.outputs]

    def _whole(self, heard: Heard) -> None:
        """A package that is said to have passed: its program must have said so as well, and have run every test.

        The go tool goes by the exit status alone, so that `os.Exit(0)` before or in a test looks like success.
        """
        if heard.over in ("failed", "skipped") or not heard.files:
            return
        if not heard.word and not (heard.path is not None and replaces_output(heard.path, heard.files)):
            self._vanished(heard, self._never(heard))
            return
        for test in [t for t in heard.running if _told(heard, t)]:
            self._test_ended(heard, test, _told(heard, test), 0.0)
        never = [] if self._now.tests else self._never(heard)
        listed = self._listed(heard) if never else set[str]()
        never = [t for t in never if t in listed]
        if never:
            self._vanished(heard, never)

    def _vanished(self, heard: Heard, never: list[str]) -> None:
        said = cut("".join(heard.own))
        self._channel.send("vanished", package=heard.label, tests=never[:_MAX_UNRUN], total=len(never), text=said)
        self._ended.update(never)

    def _listed(self, heard: Heard) -> set[str]:
        """The tests that the package's own program tells of."""
        argv = [self._job["go"], "test", *self._job["options"], "-list", ".", f"./{heard.folder}"]
        done = subprocess.run(argv, cwd=self._folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return {f"{heard.label}/{line}" for line in done.stdout.decode("utf-8", "replace").splitlines()}

    def _crashed(self, heard: Heard) -> None:
        """The package's program ended while tests ran: those that print a panic did it, or all that ran."""
        tests = [t for t in heard.running if not any(o.startswith(f"{t}/") for o in heard.running)]
        for test in tests:
            text = "".join(heard.outputs.get(test, ())) + "".join(heard.own)
            self._channel.send("crash", id=f"{heard.label}/{test}", text=cut(text), package=heard.label)
            self._ended.add(f"{heard.label}/{test}")
        heard.running.clear()


def _told(heard: Heard, test: str) -> str:
    """The outcome of a test that stands behind what it wrote, in a line that the go tool did not take for one."""
    ends = re.findall(rf"--- (PASS|SKIP): {re.escape(test)} \(", "".join(heard.outputs.get(test, ())))
    return {"PASS": "passed", "SKIP": "skipped"}.get(ends[-1], "") if ends else ""


def main() -> int:
    channel = Channel(int(sys.argv[1]))
    return Driver(channel, load_job(sys.argv[2])).run()


if __name__ == "__main__":
    sys.exit(main())
