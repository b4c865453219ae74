"""For all tests of the run routes: two real servers on one state folder, and runs that wait for edits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.http_server import HttpServer, Reply, http_server

JSON = {"Content-Type": "application/json"}
SSE = {"Accept": "text/event-stream"}
RED = "from value import VALUE\n\n\ndef test_value():\n    assert VALUE == 2\n"


@dataclass(frozen=True)
class Shop:
    """`waiting` and `to_fix` are runs of `server` in the repositories `shop` and `desk`, which wait for edits.
    `second` is another process on the same state folder, read-only, which serves `shop` and `red` alone."""

    server: HttpServer
    second: HttpServer
    src: Path
    waiting: str
    to_fix: str

    def repo(self, name: str) -> str:
        return str(self.src / name)

    def start(self, tool: str, server: HttpServer | None = None, **arguments: Any) -> Reply:
        body = json.dumps({"tool": tool, "arguments": arguments})
        return (server or self.server).request("POST", "/runs", JSON, body)

    def send(self, run: str, server: HttpServer | None = None, **message: Any) -> Reply:
        return (server or self.server).request("POST", f"/runs/{run}/messages", JSON, json.dumps(message))

    def ended(self, run: str) -> dict[str, Any]:
        """The data of a run once it is done."""
        while (told := self.server.request("GET", f"/runs/{run}?wait_s=20").json)["state"] == "running":
            pass
        return told


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("runs")
    src = folder / "src"
    for name, value in (("shop", 1), ("desk", 1), ("red", 1), ("green", 2)):
        (src / name).mkdir(parents=True)
        (src / name / "value.py").write_text(f"VALUE = {value}\n", "utf-8")
        (src / name / "test_value.py").write_text(RED, "utf-8")
    served = ("--root", str(src / "shop"), "--root", str(src / "red"), "--read-only")
    with http_server(folder, "--root", str(src), "--mode", "auto") as server:
        shop = Shop(server, server, src, "", "")
        begun = [shop.start("fix_tests", proposer="caller", repo=shop.repo(name)) for name in ("shop", "desk")]
        ids = [reply.json["job_id"] for reply in begun]
        with http_server(folder, *served) as second:
            assert [shop.ended(run)["state"] for run in ids] == ["waiting_for_edits"] * 2
            yield Shop(server, second, src, *ids)
