"""An engine that is none: a real program on a private PATH, and the daemon behind it, which is a thread of the test.

As with a real one, the container is a child of the daemon and outlives its client, sees only the variables that it was
given, and is removed by name. What it does not do is isolate anything.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

CLIENT = """\
#!{python} -I
import json, os, socket, sys
home = {home!r}
words = sys.argv[1:]
with open(os.path.join(home, "calls.jsonl"), "a") as log:
    log.write(json.dumps([words, dict(os.environ)]) + "\\n")
def ask(**what):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.path.join(home, "d"))
    s.sendall(json.dumps(what).encode() + b"\\n")
    while True:
        data = s.recv(65536)
        if not data:
            return
        os.write(1, data)
def exists(name):
    return os.path.exists(os.path.join(home, name))
if words[0] == "version":
    sys.exit(1 if exists("down") else 0)
if words[0] == "info":
    print(open(os.path.join(home, "info")).read() if exists("info") else "[name=seccomp]")
elif words[:2] == ["image", "inspect"]:
    sys.exit(0 if words[-1] == "local/image:1" else 1)
elif words[0] == "ps":
    ask(do="list")
elif words[0] == "rm":
    ask(do="remove", name=words[-1])
elif words[0] == "run":
    assert words[words.index("--pull") + 1] == "never"
    at = next(i for i, w in enumerate(words) if w == "local/image:1")
    given = [words[i + 1] for i, w in enumerate(words[:at]) if w == "--env"]
    env = dict(g.split("=", 1) if "=" in g else (g, os.environ[g]) for g in given)
    option = lambda name: words[words.index(name) + 1]
    name = option("--name")
    ask(do="run", name=name, env=env, cwd=option("--workdir"), argv=[option("--entrypoint"), *words[at + 1:]])
    sys.exit(int(open(os.path.join(home, name + ".exit")).read()))
"""


class FakeEngine:
    """`folder/bin` holds the client; `processes` are the containers that run, by name."""

    def __init__(self, folder: Path, name: str = "docker") -> None:
        self.home = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.program = self.bin / name
        self.program.write_text(CLIENT.format(python=sys.executable, home=str(folder)))
        self.program.chmod(0o755)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.changed = threading.Condition()
        self._listener = socket.socket(socket.AF_UNIX)
        here = Path.cwd()
        os.chdir(folder)  # the path of a socket is short
        try:
            self._listener.bind("d")
        finally:
            os.chdir(here)
        self._listener.listen(16)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def calls(self) -> list[list[str]]:
        """The words of every call of the client so far."""
        log = self.home / "calls.jsonl"
        return [json.loads(line)[0] for line in log.read_text().splitlines()] if log.exists() else []

    def wait_until(self, holds, limit_s: float = 20.0) -> bool:
        """Whether `holds()` comes true; asked again whenever a container came or went."""
        with self.changed:
            return self.changed.wait_for(holds, limit_s)

    def close(self) -> None:
        for name in list(self.processes):
            self._remove(name)
        if self._listener.fileno() >= 0:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        self._thread.join(10)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            asked = json.loads(lines.readline())
            if asked["do"] == "run":
                self._run(asked, connection)
            elif asked["do"] == "remove":
                self._remove(asked["name"])
            else:
                connection.sendall("".join(f"{n}\n" for n in self.processes).encode())

    def _run(self, asked, connection: socket.socket) -> None:
        out = connection.fileno()
        env = {"PATH": os.defpath, **asked["env"]}
        process = subprocess.Popen(asked["argv"], cwd=asked["cwd"], env=env, stdout=out, stderr=out,
                                   stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        with self.changed:
            self.processes[asked["name"]] = process
            self.changed.notify_all()
        status = process.wait()
        (self.home / f"{asked['name']}.exit").write_text(str(status if status >= 0 else 128 - status))
        with self.changed:
            self.processes.pop(asked["name"], None)
            self.changed.notify_all()

    def _remove(self, name: str) -> None:
        process = self.processes.get(name)
        if process is not None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            self.wait_until(lambda: name not in self.processes)
