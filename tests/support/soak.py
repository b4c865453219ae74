"""A soak: many clients on few servers for many calls, and what must hold afterwards.

`soak(folder, Wish(...))` gives figures and faults; `scripts/soak.py` prints them, a test runs a small one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.http_server import HttpServer, http_server
from support.mcp_clients import REGREEN, server_environment
from support.processes import children_of, until
from support.repos import CALC, CALC_TESTS, differences, fingerprint, git, make_repo
from support.soak_plan import Client, Shared, own_file
from support.soak_wire import Answered, HttpLink, Link, StdioLink

LIMIT_S = 60.0
_TOKENS = {"alice": "a" * 40, "bob": "b" * 40, "ci": "c" * 40}
_PROBED = Path(__file__).with_name("soak_server.py")
_SPARE_THREADS = 4  # of the interpreter's pool, which is filled as it is needed
_SPARE_DESCRIPTORS = 6  # of the store's connections, and of pipes of the pool of warm processes
_MOST_GROWTH = 0.10
_MOST_STATE_BYTES = 200 * 1024 * 1024
# Objects that only a session, a stream or a request under way holds; none may be there when all clients are gone.
_OF_CLIENTS = (
    "mcp.server.session.ServerSession", "mcp.server.connection.Connection", "regreen_server.changes.Listener",
    "mcp.server.streamable_http.StreamableHTTPServerTransport", "regreen_server.calls._Said",
    "uvicorn.protocols.http.h11_impl.RequestResponseCycle",
)  # fmt: skip


@dataclass(frozen=True)
class Wish:
    """How much of it. `warm` calls go before the first measuring."""

    calls: int = 2000
    warm: int = 200
    seed: int = 1
    http_clients: int = 8
    stdio_clients: int = 4
    http_servers: int = 1


@dataclass
class Outcome:
    figures: dict[str, Any] = field(default_factory=dict[str, Any])
    faults: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Level:
    """What a server process holds."""

    descriptors: int
    threads: tuple[str, ...]
    rss_kib: int
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Probed:
    """An HTTP server, and the file in which it reports what it holds."""

    server: HttpServer
    report: Path

    def level(self) -> Level:
        self.report.unlink(missing_ok=True)
        pid = self.server.process.pid
        os.kill(pid, signal.SIGUSR1)
        assert until(self.report.exists, LIMIT_S), "the server has not reported"
        told = json.loads(self.report.read_text("utf-8"))
        status = Path(f"/proc/{pid}/status").read_text("utf-8")
        rss = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        return Level(len(list(Path(f"/proc/{pid}/fd").iterdir())), tuple(told["threads"]), rss, told["counts"])

    def is_idle(self) -> bool:
        told = self.server.request("GET", "/healthz").json
        return told["sessions"] == 0 and told["jobs"] == 0


def make_repos(folder: Path, names: Sequence[str], clients: int) -> list[Path]:
    """Repositories with a red test, one file for each client, and one that tells them apart."""
    made: list[Path] = []
    for name in names:
        repo = folder / name
        repo.mkdir(parents=True)
        files = {"calc.py": CALC, "test_calc.py": CALC_TESTS, f"only_{name}.py": "ONLY = 1\n", ".gitignore": "",
                 "shop/stock.py": "class Stock:\n    def left(self):\n        return 3\n",
                 "shop/orders.py": "from shop.stock import Stock\n\n\ndef order():\n    return Stock().left()\n",
                 **{own_file(n): "VALUE = 0\n" for n in range(clients)}}  # fmt: skip
        made.append(make_repo(repo, files))
    return made


def soak(folder: Path, wish: Wish) -> Outcome:
    """Run it below `folder`, whose path is the mark by which its processes are known."""
    folder.mkdir(parents=True, exist_ok=True)
    clients = wish.http_clients + wish.stdio_clients
    repos = make_repos(folder / "src", ("one", "two", "three"), clients)
    before = [fingerprint(repo) for repo in repos]
    outcome = Outcome()
    shared = Shared(repos, 0)
    began = time.monotonic()
    with ExitStack() as stack:
        servers = [stack.enter_context(_probed(folder, repos, n)) for n in range(wish.http_servers)]
        links = [*_http_links(servers, wish.http_clients), *_stdio_links(folder, repos, wish)]
        workers = [Client(n, link, shared, wish.seed) for n, link in enumerate(links)]
        _work(workers, shared, wish.warm)
        warm = _quiet(servers, links, outcome)
        _work(workers, shared, wish.calls - wish.warm)
        _settle(links, repos, before, clients, outcome)
        end = _quiet(servers, links, outcome)
        outcome.figures["seconds"] = round(time.monotonic() - began, 1)
        for number, (old, new) in enumerate(zip(warm, end, strict=True)):
            _compare(number, old, new, outcome)
        children = [child for s in servers for child in children_of(s.server.process.pid)]
        outcome.figures["children when idle"] = len(children)
        outcome.faults += [line for s in servers for line in s.server.errors if "Traceback" in line or "ERROR" in line]
    outcome.faults += shared.faults
    outcome.figures |= {"calls": sum(shared.asked.values()), "asked": dict(shared.asked.most_common()),
                        "answers": dict(shared.kinds.most_common())}  # fmt: skip
    _check_trees(repos, before, outcome)
    _check_processes(folder, outcome)
    for state in sorted({p.parent for p in folder.rglob("regreen.db")}):
        _check_state(state, outcome)
    return outcome


@contextmanager
def _probed(folder: Path, repos: Sequence[Path], number: int) -> Generator[Probed]:
    own = folder / f"http-{number}"
    own.mkdir()
    report = own / "report.json"
    command = [sys.executable, str(_PROBED), str(report), "serve"]
    tokens = "".join(f"{name} {token}\n" for name, token in _TOKENS.items())
    env = server_environment(folder)
    with http_server(own, *_roots(repos), command=command, tokens=tokens, env=env, cwd=repos[0]) as server:
        yield Probed(server, report)


def _roots(repos: Sequence[Path]) -> list[str]:
    return [*(word for repo in repos for word in ("--root", str(repo))), "--mode", "auto"]


def _http_links(servers: Sequence[Probed], count: int) -> list[Link]:
    tokens = list(_TOKENS.values())
    return [HttpLink(f"http-{n}", servers[n % len(servers)].server, tokens[n % len(tokens)], modern=n % 2 == 1)
            for n in range(count)]  # fmt: skip


def _stdio_links(folder: Path, repos: Sequence[Path], wish: Wish) -> list[Link]:
    """Every other one on a state folder of its own."""
    links: list[Link] = []
    for n in range(wish.stdio_clients):
        own = folder / f"stdio-{n}"
        own.mkdir()
        env = server_environment(own if n % 2 else folder)
        links.append(StdioLink(f"stdio-{n}", [*REGREEN, "serve", *_roots(repos)], repos[0], env))
    return links


def _work(workers: Sequence[Client], shared: Shared, calls: int) -> None:
    shared.budget = calls
    threads = [threading.Thread(target=w.work, name=w.link.name, daemon=True) for w in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _settle(
    links: Sequence[Link], repos: Sequence[Path], before: Sequence[Mapping[str, object]], clients: int, outcome: Outcome
) -> None:
    """End what still runs, and take back what a client has changed and never heard of. As a client would."""
    for job in _unfinished(links):
        links[0].ask("tools/call", {"name": "job_cancel", "arguments": {"job_id": job}})
    whole = {"calc.py": CALC, **{own_file(n): "VALUE = 0\n" for n in range(clients)}}
    for repo, old in zip(repos, before, strict=True):
        for path in differences(old, fingerprint(repo)):
            if path not in whole:
                continue
            edit = {"path": path, "search": (repo / path).read_text("utf-8"), "replace": whole[path]}
            arguments = {"repo": str(repo), "replacements": [edit]}
            answers = [Answered("busy")]

            def put_back(arguments: Mapping[str, Any] = arguments, answers: list[Answered] = answers) -> bool:
                answers.append(links[0].ask("tools/call", {"name": "apply_edits", "arguments": arguments}))
                return answers[-1].kind != "busy"

            until(put_back, LIMIT_S)
            if answers[-1].kind:
                outcome.faults.append(f"{repo.name}/{path} cannot be put back: {answers[-1].text}")


def _unfinished(links: Sequence[Link]) -> list[str]:
    listed = links[0].ask("resources/list", {}).data.get("resources", [])
    ids = {str(r["uri"]).removeprefix("run://").partition("/")[0] for r in listed if str(r["uri"]).startswith("run://")}
    told = {i: links[0].ask("tools/call", {"name": "job_status", "arguments": {"job_id": i, "wait_s": 0}}) for i in ids}
    return [i for i, answer in told.items() if answer.data.get("state") not in ("done", None)]


def _quiet(servers: Sequence[Probed], links: Sequence[Link], outcome: Outcome) -> list[Level]:
    """What the servers hold when every client has left and every job has ended."""
    for link in links:
        link.close()
    for server in servers:
        _end_sessions(server)
        if not until(server.is_idle, 2 * LIMIT_S):
            outcome.faults.append(f"not idle: {server.server.request('GET', '/healthz').json}")
    return [_lowest(s) for s in servers]


def _end_sessions(server: Probed) -> None:
    """Sessions that clients left behind end after half an hour without a request; here, by the ids that are known."""
    for token, session in HttpLink.left.pop(server.server.url, []):
        server.server.request("DELETE", "/mcp", {"Authorization": f"Bearer {token}", "Mcp-Session-Id": session})


def _lowest(server: Probed) -> Level:
    """The level once it no longer falls: what ends with a client ends a little later."""
    levels = [server.level()]

    def settled() -> bool:
        levels.append(server.level())
        old, new = levels[-2:]
        return len(levels) > 4 and (new.descriptors, len(new.threads)) >= (old.descriptors, len(old.threads))

    until(settled, LIMIT_S)
    return levels[-1]


def _compare(number: int, old: Level, new: Level, outcome: Outcome) -> None:
    growth = (new.rss_kib - old.rss_kib) / old.rss_kib
    outcome.figures |= {
        f"server {number} descriptors": [old.descriptors, new.descriptors],
        f"server {number} threads": [len(old.threads), len(new.threads)],
        f"server {number} RSS MiB": [round(old.rss_kib / 1024, 1), round(new.rss_kib / 1024, 1)],
        f"server {number} RSS growth %": round(100 * growth, 1),
        f"server {number} left of clients": {k.rpartition(".")[2]: new.counts.get(k, 0) for k in _OF_CLIENTS},
        f"server {number} grown objects": _grown(old.counts, new.counts),
    }
    if new.descriptors > old.descriptors + _SPARE_DESCRIPTORS:
        outcome.faults.append(f"server {number}: {old.descriptors} descriptors have become {new.descriptors}")
    if len(new.threads) > len(old.threads) + _SPARE_THREADS:
        outcome.faults.append(f"server {number}: threads {old.threads} have become {new.threads}")
    if growth > _MOST_GROWTH:
        outcome.faults.append(f"server {number}: the resident memory has grown by {growth:.0%}")
    left = {k: n for k in _OF_CLIENTS if (n := new.counts.get(k, 0)) > 1}  # one: the request that asked for health
    if left:
        outcome.faults.append(f"server {number}: of clients that are gone there is left {left}")


def _grown(old: Mapping[str, int], new: Mapping[str, int]) -> dict[str, list[int]]:
    """Types of which there are many more objects than there were: where a leak is to be looked for."""
    more = {k: [old.get(k, 0), n] for k, n in new.items() if n > 20 + 2 * old.get(k, 0)}
    return dict(sorted(more.items(), key=lambda row: row[1][0] - row[1][1])[:12])


def _check_trees(repos: Sequence[Path], before: Sequence[Mapping[str, object]], outcome: Outcome) -> None:
    for repo, old in zip(repos, before, strict=True):
        changed = differences(old, fingerprint(repo))
        status = git(repo, "status", "--porcelain", "--ignored")
        if [c for c in changed if c != "(index)"] or status:
            outcome.faults.append(f"{repo.name} is not as it was: {changed} {status!r}")
    outcome.figures["trees compared"] = len(repos)


def _check_processes(folder: Path, outcome: Outcome) -> None:
    def left() -> list[str]:
        rows: list[str] = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                rows += _carrying(entry, str(folder))
        return rows

    until(lambda: not left(), 15.0)
    rows = left()
    outcome.figures["processes left"] = len(rows)
    outcome.faults += [f"a process is left: {row}" for row in rows]


def _carrying(entry: Path, mark: str) -> list[str]:
    """A line about a process whose command line, environment or working folder holds the mark."""
    try:
        words = (entry / "cmdline").read_bytes()
        held = words + (entry / "environ").read_bytes() + str((entry / "cwd").readlink()).encode()
        return [f"{entry.name}: {words.decode('utf-8', 'replace')[:200]}"] if words and mark.encode() in held else []
    except OSError:  # it has ended meanwhile, or is another user's
        return []


def _check_state(state: Path, outcome: Outcome) -> None:
    db = sqlite3.connect(state / "regreen.db")
    try:
        whole = db.execute("PRAGMA integrity_check").fetchone()[0]
        unfinished = db.execute("SELECT id, kind FROM runs WHERE finished IS NULL").fetchall()
        open_ = db.execute("SELECT id FROM transactions WHERE state = 'open'").fetchall()
        marks = db.execute("SELECT count(*) FROM marks WHERE state != 'done'").fetchone()[0]
        runs = db.execute("SELECT count(*) FROM runs").fetchone()[0]
    finally:
        db.close()
    size = sum(p.stat().st_size for p in state.rglob("*") if p.is_file() and not p.is_symlink())
    outcome.figures[f"state {state.parent.name}"] = {"integrity": whole, "runs": runs, "unfinished": len(unfinished),
                                                     "open": len(open_), "marks": marks, "bytes": size}  # fmt: skip
    if whole != "ok" or unfinished or open_:
        outcome.faults.append(f"{state}: {whole}, unfinished runs {unfinished}, open transactions {open_}")
    if size > _MOST_STATE_BYTES:
        outcome.faults.append(f"{state}: {size} bytes")


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
