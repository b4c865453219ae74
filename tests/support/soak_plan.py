"""What a client of a soak does: one random action after another, all of it decided by its seed.

What an action may not get is an answer of a kind that is not `KNOWN`; what it is told of one repository may not be of
another.
"""

from __future__ import annotations

import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.repos import BUG, FIX
from support.soak_wire import LEAVINGS, Answered, Link

KNOWN = frozenset({
    "busy", "not_found", "cancelled", "edit_failed", "invalid_arguments", "unknown_argument", "journal_conflict",
    "limit_exceeded", "no_match", "path_outside_workspace",
})  # fmt: skip
_PAUSES_S = (0.0, 0.01, 0.1, 0.5)
_FILES = ("calc.py", "test_calc.py", "shop/stock.py", "shop/orders.py")


def own_file(client: int) -> str:
    """The file that this client alone edits, in each repository."""
    return f"notes/client_{client}.py"


@dataclass
class Shared:
    """What the clients of one run know of each other."""

    repos: Sequence[Path]
    budget: int
    jobs: deque[str] = field(default_factory=lambda: deque(["fix-000000000000"], maxlen=60))
    kinds: Counter[str] = field(default_factory=Counter[str])
    asked: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> bool:
        """One more call of the budget; False where it is spent."""
        with self.lock:
            self.budget -= 1
            return self.budget >= 0

    def note(self, who: str, what: str, answer: Answered) -> None:
        with self.lock:
            self.asked[what] += 1
            self.kinds[answer.kind or "ok"] += 1
            if answer.kind and answer.kind not in KNOWN:
                self.faults.append(f"{who}: {what} was answered {answer.kind}: {answer.text[:400]}")

    def fault(self, text: str) -> None:
        with self.lock:
            self.faults.append(text)


class Client:
    """One client; `act` does one action."""

    def __init__(self, number: int, link: Link, shared: Shared, seed: int) -> None:
        self.link = link
        self._file = own_file(number)
        self._shared = shared
        self._dice = random.Random(f"{seed}:{number}")

    def act(self) -> None:
        names = list(ACTIONS)
        (name,) = self._dice.choices(names, [ACTIONS[n][0] for n in names])
        ACTIONS[name][1](self)

    def work(self) -> None:
        """Act until the budget is spent. A fault of the way to the server is one of the run."""
        while self._shared.take():
            try:
                self.act()
            except Exception as e:  # noqa: BLE001  (told as what the run has come to)
                self._shared.fault(f"{self.link.name}: {type(e).__name__}: {str(e)[:600]}")

    # --- asking --------------------------------------------------------------------------------------

    def _repo(self) -> Path:
        return self._dice.choice(list(self._shared.repos))

    def _ask(self, method: str, **params: Any) -> Answered:
        answer = self.link.ask(method, params)
        self._shared.note(self.link.name, params.get("name", method) if method == "tools/call" else method, answer)
        return answer

    def _call(self, tool: str, **arguments: Any) -> Answered:
        answer = self._ask("tools/call", name=tool, arguments=arguments)
        if job := str(answer.data.get("job_id") or ""):
            self._shared.jobs.append(job)
        return answer

    def _job(self) -> str:
        return self._dice.choice(list(self._shared.jobs))

    # --- actions -------------------------------------------------------------------------------------

    def read(self) -> None:
        repo = self._repo()
        tool, arguments = self._reading(repo)
        answer = self._call(tool, **arguments)
        others = [r.name for r in self._shared.repos if r != repo]
        if tool == "repo_skeleton" and any(f"only_{name}.py" in str(answer.data) for name in others):
            self._shared.fault(f"{self.link.name}: the skeleton of {repo.name} is that of another repository")

    def _reading(self, repo: Path) -> tuple[str, Mapping[str, Any]]:
        at = {"repo": str(repo)}
        return self._dice.choice([
            ("repo_skeleton", at),
            ("extract_signatures", {"paths": [self._dice.choice(_FILES)], **at}),
            ("repo_map", {"max_tokens": 500, **at}),
            ("find_symbol", {"name": self._dice.choice(["total", "mean", "Stock", "nobody"]), **at}),
            ("search_text", {"pattern": self._dice.choice(["def ", "return", "zzz"]), **at}),
            ("read_file", {"path": self._dice.choice((*_FILES, "nowhere.py", "../out.py")), **at}),
            ("show_changes", at),
            ("show_changes", {"since": self._job(), **at}),
        ])  # fmt: skip

    def edit_and_restore(self) -> None:
        repo = str(self._repo())
        number = self._dice.randrange(10**6)
        made = self._call("apply_edits", repo=repo, replacements=[
            {"path": self._file, "search": "VALUE = 0\n", "replace": f"VALUE = 0\nMORE = {number}\n"}])  # fmt: skip
        if transaction := made.data.get("transaction"):
            for _ in range(40):
                if self._call("restore", repo=repo, to=transaction).kind != "busy":
                    return

    def run_tests(self) -> None:
        chosen = self._dice.choice(["test_calc.py", "test_calc.py::test_mean", "test_calc.py::test_none"])
        wait_s = self._dice.choice([0, 1, 30])
        self._call("run_tests", repo=str(self._repo()), selection=[chosen], warm=self._dice.random() < 0.3,
                   wait_s=wait_s)  # fmt: skip

    def fix_by_caller(self) -> None:
        repo = str(self._repo())
        begun = self._call("fix_tests", repo=repo, proposer="caller", wait_s=30)
        job = begun.data.get("job_id")
        if begun.kind or not job:
            return
        wrong, right = "    return s + rate", FIX
        tries = self._dice.choice([[right], [wrong, right], [wrong], []])
        for text in tries:
            self._call("submit_fix", job_id=job, wait_s=30,
                       replacements=[{"path": "calc.py", "search": BUG, "replace": text}])  # fmt: skip
        if tries[-1:] != [right]:
            self._call("job_cancel", job_id=job)
        self._call("restore", repo=repo, to=job)

    def fix_by_search(self) -> None:
        begun = self._call("fix_tests", repo=str(self._repo()), proposer="search", max_attempts=6, budget_s=20,
                           wait_s=self._dice.choice([0, 20]))  # fmt: skip
        job = begun.data.get("job_id")
        if job and self._dice.random() < 0.5:
            self._call("job_cancel", job_id=job)
        if job:
            self._call("restore", repo=str(self._repo()), to=job)

    def status(self) -> None:
        self._call("job_status", job_id=self._job(), wait_s=self._dice.choice([0, 1]))

    def cancel(self) -> None:
        self._call("job_cancel", job_id=self._job())

    def resources(self) -> None:
        job = self._job()
        what = self._dice.choice(["resources/list", "resources/templates/list", "prompts/list", "tools/list", "run",
                                  "log", "file", "prompt", "completion"])  # fmt: skip
        match what:
            case "run":
                self._ask("resources/read", uri=f"run://{job}")
            case "log":
                self._ask("resources/read", uri=f"run://{job}/log")
            case "file":
                self._ask("resources/read", uri=f"repo://file/{self._dice.choice(_FILES)}")
            case "prompt":
                self._ask("prompts/get", name="review_changes", arguments={})
            case "completion":
                self._ask("completion/complete", ref={"type": "ref/resource", "uri": "repo://file/{+path}"},
                          argument={"name": "path", "value": self._dice.choice(["", "c", "shop/"])})  # fmt: skip
            case _:
                self._ask(what)

    def subscribe(self) -> None:
        self.link.listen([f"repo://file/{self._dice.choice(_FILES)}"])

    def deafen(self) -> None:
        self.link.deafen()

    def give_up(self) -> None:
        repo = self._repo()
        tool, arguments = self._dice.choice([
            self._reading(repo),
            ("run_tests", {"repo": str(repo), "selection": ["test_calc.py"], "wait_s": 30}),
            ("apply_edits", {"repo": str(repo), "replacements": [
                {"path": self._file, "search": "VALUE = 0\n", "replace": "VALUE = 0\nLOST = 1\n"}]}),
            ("job_status", {"job_id": self._job(), "wait_s": 20}),
        ])  # fmt: skip
        self._shared.asked["given up"] += 1
        self.link.give_up("tools/call", {"name": tool, "arguments": arguments}, self._dice.choice(_PAUSES_S),
                          told=self._dice.random() < 0.5)  # fmt: skip

    def come_again(self) -> None:
        leaving = self._dice.choice(LEAVINGS)
        self._shared.asked[f"left {leaving}"] += 1
        self.link.again(leaving)


ACTIONS: dict[str, tuple[float, Callable[[Client], None]]] = {
    "read": (50, Client.read),
    "edit and restore": (6, Client.edit_and_restore),
    "run tests": (5, Client.run_tests),
    "fix by caller": (1.2, Client.fix_by_caller),
    "fix by search": (0.5, Client.fix_by_search),
    "status": (8, Client.status),
    "cancel": (2, Client.cancel),
    "resources": (14, Client.resources),
    "subscribe": (3, Client.subscribe),
    "deafen": (1.5, Client.deafen),
    "give up": (7, Client.give_up),
    "come again": (1.5, Client.come_again),
}
