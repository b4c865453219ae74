"""A server whose engine is a stand-in: what it does is chosen by the `path` argument. Run as a script."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regreen.errors import ConfigError
from regreen.sandbox import Cancel
from regreen.settings import Settings, load_settings
from regreen_server import calls
from regreen_server.main import serve


@dataclass
class Answer:
    text: str
    data: dict[str, Any] = field(default_factory=dict)
    is_error: bool = False


class StubEngine:
    def __init__(self, settings: Settings) -> None:
        self.folder = Path(settings.environ["STUB_FOLDER"])
        self.mark = settings.environ.get("STUB_MARK", "")
        self.children: list[subprocess.Popen[bytes]] = []
        if settings.environ.get("STUB_BROKEN"):
            raise ConfigError("config_refused", "the state folder is broken", "repair it")
        self.hangs = bool(settings.environ.get("STUB_HANGS"))

    def recover(self) -> None:
        (self.folder / "recovered").touch()

    def watch_jobs(self, watcher: object) -> None:
        """There are no jobs."""

    def known_runs(self, *, limit: int = 20, with_tests: bool = False) -> tuple[()]:
        return ()

    def repo_of(self, run_id: str) -> str:
        return ""

    def steer(self, job_id: str, words: str) -> dict[str, Any]:
        return {"job_id": job_id, "state": "running"}

    def close(self) -> None:
        if self.hangs:
            threading.Event().wait()
        for child in self.children:
            child.kill()
            child.wait()
        (self.folder / "closed").touch()

    def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        on_progress: Callable[[str], None] | None = None,
        cancel: Cancel | None = None,
        offers: object = None,
    ) -> Answer:
        assert on_progress and cancel
        match arguments.get("path"):
            case "boom":
                raise ValueError("the secret is 1234")
            case "print":
                print("a stray print")
                os.write(1, b"stray bytes\n")
                subprocess.run(["echo", "a stray child"], check=True)
                return Answer("printed")
            case "child":
                self.children.append(subprocess.Popen(["sleep", f"600.{self.mark}"]))
                (self.folder / "started").touch()
                on_progress("step one")
                cancel.wait(600)
                self.children[-1].kill()
                self.children[-1].wait()
                (self.folder / "cancelled").touch()
                return Answer("cancelled")
            case "stuck":
                (self.folder / "started").touch()
                threading.Event().wait()
            case "surrogate":
                return Answer("caf\udce9", {"tree": "caf\udce9"})
            case "huge":
                return Answer("x" * 3_000_000, {"tree": "x" * 3_000_000})
            case "refused":
                return Answer("not_found: no such thing", {"error": {"kind": "not_found"}}, is_error=True)
            case "recovered":
                return Answer(str((self.folder / "recovered").exists()))
        return Answer(f"{tool} {dict(arguments)}", {"tree": str(arguments.get("path"))})


if __name__ == "__main__":
    toolsets = "core" if "--core" in sys.argv else "all"
    settings = load_settings(os.environ)
    calls.HEARTBEAT_S = float(os.environ.get("STUB_HEARTBEAT_S", calls.HEARTBEAT_S))
    sys.exit(
        serve(
            settings,
            read_only="--read-only" in sys.argv,
            toolsets=toolsets,
            make_engine=StubEngine,
            close_limit_s=1.0 if "STUB_HANGS" in os.environ else 5.0,
        )
    )
