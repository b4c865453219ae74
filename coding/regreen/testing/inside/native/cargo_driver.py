"""Builds a cargo project's tests, runs each program of them, and tells what happens over the private channel.

    python cargo_driver.py CHANNEL JOB

Standalone. The exit status is 0 only where everything ran to its end and nothing failed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cargo_binary import Program, Runs
from cargo_select import Chosen, Known, choose, scope
from cargo_workspace import Target, distrust_times, kind_of, run_environment, targets_of
from driver_channel import Channel, Log, cut, load_job
from libtest_text import TextReader

_KEPT = 60_000
_MAX_NAMED = 5
_NAMING = frozenset(("--workspace", "--all", "-p", "--package"))


class Driver:
    """One run."""

    def __init__(self, channel: Channel, job: Mapping[str, Any]) -> None:
        self._channel, self._job, self._log = channel, job, Log()
        self._cargo: str = job["cargo"]
        self._folder = Path(job["folder"])
        self._runs = Runs(channel, self._log, isolate=bool(job["isolate"]))
        self._targets: list[Target] = []
        self._scripts: dict[str, Mapping[str, Any]] = {}
        self._doc_failed = False
        self._dynamic = False

    def run(self) -> int:
        """Everything, to the end."""
        if not self._read_workspace():
            return 101
        entries: list[str] = [*self._job["selection"], *self._job["last_failed"]]
        chosen_scope = scope(entries, self._targets, self._folder) if entries and not self._job["scoped"] else None
        built = self._build(chosen_scope or [])
        if built is None:
            return 101
        programs = [] if self._job["docs"] == "only" else [self._program(t, path) for t, path in built]
        tests = self._list(programs)
        docs = self._doc_names(chosen_scope or []) if self._wants_docs(chosen_scope, entries) else {}
        chosen = self._choose(entries, tests, docs)
        self._channel.send("unmatched", entries=chosen.unmatched if chosen else [])
        total = sum(len(n) for n in (chosen.names if chosen else tests).values())
        self._channel.send("collected", total=total + len(docs if chosen is None else chosen.docs))
        for program in programs:
            if chosen is None or program.label in chosen.names:
                self._runs.run(program, chosen.names[program.label] if chosen else self._filtered(program, tests))
        if docs and (chosen is None or chosen.docs):
            self._run_docs(chosen_scope or [], docs, chosen.docs if chosen else None)
        self._channel.send("done")
        return 101 if self._runs.failed or self._runs.broken or self._doc_failed else 0

    def _cargo_words(self, *words: str) -> list[str]:
        return [self._cargo, *words, *self._job["offline"]]

    def _read_workspace(self) -> bool:
        done = subprocess.run(
            self._cargo_words("metadata", "--no-deps", "--format-version", "1"),
            cwd=self._folder, stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode:
            return self._broken(done.stderr, done.returncode)
        try:
            metadata = json.loads(done.stdout)
            self._targets = targets_of(metadata)
            packages = [p["name"] for p in metadata["packages"]]
        except (ValueError, KeyError, TypeError) as e:
            return self._broken(f"cargo metadata: {e!r}".encode(), 0)
        self._channel.send(
            "targets", root=metadata["workspace_root"],
            targets={t.label: [str(t.folder), str(t.source)] for t in self._targets},
        )  # fmt: skip
        self._tell_left_out()
        distrust_times(Path(self._job["target"]), Path(self._job["tree"]), packages)
        return True

    def _tell_left_out(self) -> None:
        """Members of the workspace that are not built where nothing names them."""
        if self._job["selection"] or self._job["last_failed"] or _NAMING & set(self._job["build"]):
            return
        left_out = list(dict.fromkeys(t.package["name"] for t in self._targets if not t.default))
        if left_out:
            self._channel.send("left_out", members=left_out[:_MAX_NAMED], total=len(left_out))

    def _broken(self, errors: bytes, code: int) -> bool:
        self._log.write(errors)
        self._channel.send("broken", text=errors[-_KEPT:].decode("utf-8", "replace"), code=code)
        return False

    def _build(self, more: list[str]) -> list[tuple[Target, str]] | None:
        """Build, and tell what the compiler says. The programs that came of it; None where it did not work."""
        argv = self._cargo_words("test", "--no-run", "--message-format=json", *self._job["build"], *more)
        child = subprocess.Popen(
            argv, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert child.stdout is not None
        kept: list[bytes] = []
        reader = threading.Thread(target=self._keep, args=(child, kept), daemon=True)
        reader.start()
        built: list[tuple[Target, str]] = []
        errors = 0
        for line in child.stdout:
            errors += self._message(line, built)
        code = child.wait()
        reader.join(2.0)
        if code == 0:
            return built
        if not errors:
            self._broken(b"".join(kept), code)
        return None

    def _keep(self, child: subprocess.Popen[bytes], kept: list[bytes]) -> None:
        assert child.stderr is not None
        for line in child.stderr:
            self._log.write(line)
            kept.append(line)
            del kept[:-400]

    def _message(self, line: bytes, built: list[tuple[Target, str]]) -> int:
        """One line of cargo's; 1 for an error of the compiler."""
        try:
            message = json.loads(line)
        except ValueError:
            self._log.write(line)
            return 0
        match message.get("reason"):
            case "compiler-message" if message["message"].get("level") in ("error", "error: internal compiler error"):
                return self._compile_error(message)
            case "build-script-executed":
                self._scripts[message["package_id"]] = message
            case "compiler-artifact":
                self._dynamic = self._dynamic or bool({"proc-macro", "dylib"} & set(message["target"]["kind"]))
                if message.get("executable") and message["profile"]["test"]:
                    target = self._target(message)
                    if target is not None:
                        built.append((target, message["executable"]))
            case _:
                pass
        return 0

    def _target(self, message: Mapping[str, Any]) -> Target | None:
        kind, name = kind_of(message["target"]["kind"]), message["target"]["name"]
        same = [t for t in self._targets if t.kind == kind and t.name == name]
        return next((t for t in same if t.package_id == message["package_id"]), same[0] if same else None)

    def _compile_error(self, message: Mapping[str, Any]) -> int:
        said = message["message"]
        rendered = said.get("rendered") or said.get("message", "")
        self._log.line(rendered)
        spans = [s for s in said.get("spans", ()) if s.get("is_primary")]
        if not spans and said.get("message", "").startswith("aborting due to"):
            return 1
        place: Mapping[str, Any] = spans[0] if spans else dict[str, Any]()
        code: Mapping[str, Any] = said.get("code") or dict[str, Any]()
        target = self._target(message)
        label = target.label if target else message["target"]["name"]
        self._channel.send(
            "compile_error", label=label, file=place.get("file_name", ""), line=place.get("line_start", 0),
            code=code.get("code", ""), said=said.get("message", ""), detail=place.get("label") or "",
            text=cut(rendered),
        )  # fmt: skip
        return 1

    def _program(self, target: Target, path: str) -> Program:
        deps = Path(path).parent
        libraries = [str(deps), str(deps.parent), *self._sysroot()]
        env = run_environment(target, self._cargo, self._scripts, libraries)
        plain = bool(self._job["plain"])
        if not plain and target.harness:
            env["RUSTC_BOOTSTRAP"] = "1"
        options = tuple(self._job["libtest"])
        return Program(target.label, path, target.folder, env, target.harness, plain, options)

    def _sysroot(self) -> list[str]:
        if not self._dynamic:
            return []
        rustc = Path(self._cargo).with_name("rustc")
        done = subprocess.run([str(rustc), "--print", "sysroot"], cwd=self._folder, capture_output=True, check=False)
        return [f"{done.stdout.decode().strip()}/lib"] if done.returncode == 0 else []

    def _list(self, programs: list[Program]) -> dict[str, list[str]]:
        tests: dict[str, list[str]] = {}
        for program in programs:
            names = self._runs.names(program)
            if names is None:
                self._channel.send("lost", label=program.label, how="it cannot list its tests", text="")
                self._runs.broken += 1
            tests[program.label] = names or []
        return tests

    def _filtered(self, program: Program, tests: Mapping[str, list[str]]) -> list[str] | None:
        filters: list[str] = self._job["filters"]
        if not filters or not program.harness:
            return None
        exact = self._job["exact"]
        return [n for n in tests[program.label] if any(n == f if exact else f in n for f in filters)]

    def _choose(self, entries: list[str], tests: Mapping[str, list[str]], docs: Mapping[str, str]) -> Chosen | None:
        if not entries:
            return None
        chosen = choose(entries, Known(self._targets, tests, docs, self._folder))
        if self._job["last_failed"] and not self._job["selection"]:
            if not chosen.names and not chosen.docs:
                return None
            chosen.unmatched = []
        return chosen

    def _wants_docs(self, more: list[str] | None, entries: list[str]) -> bool:
        if self._job["docs"] == "no" or not any(t.doctest for t in self._targets):
            return False
        narrow = {"--lib", "--bin", "--test", "--example", "--bench"} & set(more or ())
        return not narrow or any(" - " in e for e in entries)

    def _doc_argv(self, more: list[str], *words: str) -> list[str]:
        kept = [w for i, w in enumerate(more) if w == "-p" or (i and more[i - 1] == "-p")]
        return [*self._cargo_words("test", "--doc", "--no-fail-fast", *self._job["common"], *kept), "--", *words]

    def _doc_names(self, more: list[str]) -> dict[str, str]:
        """Documentation tests: ids and the names they go by."""
        done = subprocess.run(
            self._doc_argv(more, "--list", "--format", "terse"), cwd=self._folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        if done.returncode:
            self._doc_error(done.stdout, done.returncode)
        listed: list[tuple[str, str]] = []
        crate = ""
        for line in done.stdout.decode("utf-8", "replace").splitlines():
            if line.lstrip().startswith("Doc-tests "):
                crate = line.split()[-1]
            elif line.endswith(": test"):
                listed.append((crate, line.removesuffix(": test")))
        found: dict[str, str] = {}
        for crate, name in sorted(listed, key=lambda pair: _line_of(pair[1])):
            found[self._doc_id(crate, name, found)] = name
        return found

    def _doc_id(self, crate: str, name: str, taken: Mapping[str, str]) -> str:
        """An id that stays when lines above are added: without the line, numbered where one item has several."""
        label = next((t.label for t in self._targets if t.kind == "lib" and t.name.replace("-", "_") == crate), crate)
        base = f"{label}::{name.rpartition(' (line ')[0] or name}"
        number = 1
        while (test := base if number == 1 else f"{base} #{number}") in taken:
            number += 1
        return test

    def _run_docs(self, more: list[str], docs: Mapping[str, str], names: list[str] | None) -> None:
        """Run them. rustdoc takes no name with blanks: some that were not asked for may run, and are not told of."""
        wanted = {name: test for test, name in docs.items() if names is None or name in names}
        words = [*self._job["libtest"], *self._job["filters"]] if names is None else _words_of(names)

        def tell(_crate: str, name: str, outcome: str, text: str) -> None:
            test = wanted.get(name)
            if test is None:
                return
            self._doc_failed = self._doc_failed or outcome == "failed"
            self._channel.send("start", id=test)
            self._channel.send("end", id=test, outcome=outcome, time=0.0, text=cut(text), said="", doc=name)

        reader = TextReader(tell)
        child = subprocess.Popen(
            self._doc_argv(more, *words), cwd=self._folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env={**os.environ, "RUST_BACKTRACE": "1"},
        )  # fmt: skip
        assert child.stdout is not None
        kept: list[bytes] = []
        for line in child.stdout:
            self._log.write(line)
            kept.append(line)
            del kept[:-200]
            reader.line(line.decode("utf-8", "replace").rstrip("\r\n"))
        code = child.wait()
        reader.flush()
        if code and not self._doc_failed and not reader.summaries:
            self._doc_error(b"".join(kept), code)

    def _doc_error(self, output: bytes, code: int) -> None:
        self._doc_failed = True
        text = output.decode("utf-8", "replace")
        self._channel.send("doc_error", text=cut(text), how=f"exit status {code}")


def _line_of(name: str) -> int:
    digits = name.rpartition("(line ")[2].rstrip(")")
    return int(digits) if digits.isdecimal() else 0


def _words_of(names: list[str]) -> list[str]:
    """Words without blanks that are found in the names: the item that each belongs to, or else its file."""
    found: dict[str, None] = {}
    for name in names:
        file, _, item = name.partition(" - ")
        found[item.partition(" (line ")[0].split(" ")[0] or file] = None
    return list(found)


def main() -> int:
    channel = Channel(int(sys.argv[1]))
    return Driver(channel, load_job(sys.argv[2])).run()


if __name__ == "__main__":
    sys.exit(main())
