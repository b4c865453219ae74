"""Attacks by what tests do while they run (environment, resources, output), and their harmless look-alikes: real runs
through the engine at each level of the sandbox, as the user of these tests and as an ordinary one.

By default each case of resources is tried as both users, each at another level, and by the cases every level is.
"""

from __future__ import annotations

import base64
import json
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.attacked import STARTED, Attacked, folder_for_all, project_of, wait_for
from support.cases import ALL, sample
from support.processes import carrying, until

CORPUS = Path(__file__).parents[1] / "corpora" / "cases" / "attacks.json"
CASES = {c["id"]: c for c in json.loads(CORPUS.read_text("utf-8"))["cases"]}
RUNNING = [i for i, c in CASES.items()
           if c["surface"] in ("env", "resource", "output") and c["action"]["tool"] == "run_tests"]  # fmt: skip
CHECKED_BEFORE = {"A-env-006", "A-env-007"}  # refused calls: with the other commands
LEVELS = ("bwrap", "landlock", "none")
USERS = ("same", "ordinary")
PLACES = [(user, level) for user in USERS for level in LEVELS]
FEW, MANY = 5, 20
CANARY = "CANARY" + secrets.token_hex(12)
DASHES = "-" * 5
PEM_LINES = [base64.b64encode(secrets.token_bytes(48)).decode() for _ in range(20)]
TOKEN = "gh" + "p_" + base64.b32encode(secrets.token_bytes(40)).decode()[:36]
SHA, SRI = secrets.token_hex(20), "sha512-" + base64.b64encode(secrets.token_bytes(64)).decode()
UUID = "123e4567-e89b-42d3-a456-426614174000"
SECRETS = {"AWS_SECRET_ACCESS_KEY": f"{CANARY}aws", "GITHUB_TOKEN": f"{CANARY}gh", "NPM_TOKEN": f"{CANARY}npm",
           "DATABASE_URL": f"postgres://u:{CANARY}db@h/d", "LD_PRELOAD": "", "PYTEST_ADDOPTS": "--no-such-option",
           "NODE_OPTIONS": "--require x", "GIT_DIR": "/nowhere"}  # fmt: skip

QUICK = {
    "test_env.py": """
import os, pathlib, sys
NAMES = ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "NPM_TOKEN", "DATABASE_URL", "PYTEST_ADDOPTS", "NODE_OPTIONS",
         "LD_PRELOAD", "GIT_DIR", "PYTHONPATH")

def test_A_env_002():
    assert [n for n in NAMES if n in os.environ] == []
    assert "CANARY" not in str(os.environ)

def test_A_env_003():
    pid = pathlib.Path("server.pid").read_text()
    try:
        text = pathlib.Path("/proc", pid, "environ").read_bytes()
    except OSError as e:
        text = b""
    print("read", len(text), text[:3000])
    assert b"CANARY" not in text

def test_B_env_001():
    assert sys.prefix == os.environ["VIRTUAL_ENV"] == os.path.abspath(".venv")
""",
    "conftest.py": """
import pathlib, socket
SAID = []
try:
    with socket.create_connection(("127.0.0.1", int(pathlib.Path("port.txt").read_text())), timeout=5) as s:
        s.sendall(b"hello from the conftest")
    SAID.append("connected")
except OSError as e:
    SAID.append(repr(e))
""",
    "pem.json": json.dumps(PEM_LINES),
    "token.txt": TOKEN,
    "test_output.py": f"""
import json, os, pathlib, sys, time

def test_A_output_002():
    print({DASHES!r} + "BEGIN RSA PRIVATE KEY" + {DASHES!r})
    for line in json.loads(pathlib.Path("pem.json").read_text()):
        print(line, flush=True)
    print({DASHES!r} + "END RSA PRIVATE KEY" + {DASHES!r})
    assert 0

def test_A_output_003():
    token = pathlib.Path("token.txt").read_text()
    os.write(1, token[:15].encode())
    time.sleep(0.05)
    os.write(1, token[15:].encode() + b"\\n")
    assert 0

def test_A_output_005():
    word = "hunter2" + "secret"
    raise RuntimeError("cannot connect to postgres://admin:" + word + "@db.example.org:5432/app")

def test_A_output_006():
    os.write(1, b"\\xff\\xfe \\x00 \\xc3\\x28 \\xed\\xa0\\x80 \\x1b[31m end\\n")
    assert 0, b"\\xff\\x00".decode("latin-1")

def test_B_output_001():
    print({SHA!r}, {UUID!r}, {SRI!r}, "eyJ-bad")
    assert 0, "shown: {SHA} {UUID} eyJ-bad"
""",
    "test_pool.py": f"""
import multiprocessing, os, socket, tempfile, threading

def double(n):
    return 2 * n

def test_B_resource_002_pool(tmp_path):
    (tmp_path / "x").write_text("x")
    with multiprocessing.Pool(2) as pool:
        assert pool.map(double, [1, 2]) == [2, 4]

def test_B_resource_002_private_folder():
    assert tempfile.gettempdir() == os.environ["TMPDIR"]
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")

def test_B_resource_002_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"pong")
        thread = threading.Thread(target=answer)
        thread.start()
        with socket.create_connection(server.getsockname(), timeout=5) as client:
            assert client.recv(4) == b"pong"
        thread.join()

def test_B_resource_001():
    for _ in range({20 if ALL else 5}):
        threading.Event().wait(0.1)
""",
}


@pytest.fixture(scope="module", params=sample(PLACES, 2), ids="-".join)
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    return request.param


@pytest.fixture(scope="module")
def quick(place: tuple[str, str]) -> Iterator[dict[str, Any]]:
    """One run of all suites that are over quickly."""
    user, level = place
    heard: list[bytes] = []
    with folder_for_all() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        files = {**QUICK, "port.txt": str(listener.getsockname()[1])}
        root = project_of(folder, user, files)
        attacked = Attacked(root, user, level, SECRETS)
        over = threading.Event()

        def listen() -> None:
            while not over.is_set():
                try:
                    connection, _ = listener.accept()
                    with connection:
                        heard.append(connection.recv(100))
                except TimeoutError:
                    pass

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            answer, _ = attacked.answers(calls=[{"argv": ["pytest"], "timeout_s": 120}])
        finally:
            over.set()
            thread.join()
        yield {**answer, "heard": heard, "level": level, "root": root}


def result_of(run: dict[str, Any], case: str) -> list[dict[str, Any]]:
    name = case.replace("-", "_")
    return [f for f in run["data"]["failures"] if name in f["id"]]


def test_every_running_case_is_tried() -> None:
    assert {*QUICK_CHECKS, *RESOURCES, *CHECKED_BEFORE} == set(RUNNING)


def _no_secrets(run: dict[str, Any]) -> None:
    assert CANARY not in run["seen"] + run["log"]
    assert result_of(run, "A-env-002") == []
    if run["level"] != "none":  # without a sandbox nothing keeps a test from reading what its user may read
        assert result_of(run, "A-env-003") == []


def _not_connected(run: dict[str, Any]) -> None:
    if run["data"]["network"] == "open":
        assert run["data"]["sandbox"] == "none"
    else:
        assert run["heard"] == []


def _key_masked(run: dict[str, Any]) -> None:
    told = run["seen"] + run["log"]
    assert [line for line in PEM_LINES if line in told] == []


def _token_masked(run: dict[str, Any]) -> None:
    assert result_of(run, "A-output-003")
    assert TOKEN not in run["seen"] + run["log"]


def _password_masked(run: dict[str, Any]) -> None:
    (failure,) = result_of(run, "A-output-005")
    assert "hunter2secret" not in run["seen"] + run["log"]
    assert "db.example.org" in failure["message"]


def _odd_bytes(run: dict[str, Any]) -> None:
    (failure,) = result_of(run, "A-output-006")
    assert "\x00" not in json.dumps(run["data"], ensure_ascii=False)
    assert "\x1b" not in failure["excerpt"] + failure["message"]
    run["seen"].encode("utf-8")


def _nothing_masked(run: dict[str, Any]) -> None:
    (failure,) = result_of(run, "B-output-001")
    assert all(word in failure["excerpt"] for word in (SHA, UUID, "eyJ-bad"))
    assert all(word in run["log"] for word in (SHA, UUID, SRI, "eyJ-bad"))


def _own_environment(run: dict[str, Any]) -> None:
    assert result_of(run, "B-env-001") == []
    assert run["data"]["interpreter"] == str(run["root"] / ".venv" / "bin" / "python")


def _not_killed(run: dict[str, Any]) -> None:
    assert result_of(run, "B-resource-001") == []
    assert run["data"]["status"] == "failed"
    assert any("tests:" in p for p in run["progress"])


def _passes_or_is_labelled(run: dict[str, Any]) -> None:
    assert all(f["note"] for f in result_of(run, "B-resource-002"))
    if run["data"]["sandbox"] in ("bwrap", "none"):
        assert result_of(run, "B-resource-002") == []


QUICK_CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "A-env-002": _no_secrets, "A-env-003": _no_secrets, "A-env-010": _not_connected, "B-env-001": _own_environment,
    "A-output-002": _key_masked, "A-output-003": _token_masked, "A-output-005": _password_masked,
    "A-output-006": _odd_bytes, "B-output-001": _nothing_masked, "B-resource-001": _not_killed,
    "B-resource-002": _passes_or_is_labelled,
}  # fmt: skip


@pytest.mark.parametrize("case", QUICK_CHECKS)
def test_case_that_is_over_quickly_ends_as_it_must(case: str, quick: dict[str, Any]) -> None:
    assert not quick["is_error"], quick["seen"]
    assert quick["data"]["sandbox"] == quick["level"]
    QUICK_CHECKS[case](quick)


HEAD = "import multiprocessing, os, pathlib, signal, subprocess, sys, time\n"
BEGUN = f"    pathlib.Path({STARTED!r}).write_text('')\n"
DAEMON = "    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)', {mark!r}]{more})\n"
DEAF = "    for s in (signal.SIGTERM, signal.SIGINT): signal.signal(s, signal.SIG_IGN)\n"
FOREVER = "    while True: time.sleep(1)\n"
BODIES = {
    "A-resource-002": DEAF + DAEMON + FOREVER,
    "A-resource-004": """    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(300)', {mark!r}])
        os._exit(0)
""",
    "A-resource-005": """    for _ in range(2000):
        try:
            if os.fork() == 0:
                time.sleep(300)
                os._exit(0)
        except OSError as e:
            print('no more:', e)
            break
    time.sleep(300)
""",
    "A-resource-007": """    with open('huge.bin', 'wb') as f:
        for _ in range(10):
            f.seek(2**30, 1)
            f.write(b'x')
""",
    "A-resource-008": "    held = bytearray(64 * 2**30)\n",
    "A-resource-013": BEGUN + DEAF + DAEMON + FOREVER,
    "A-resource-014": BEGUN + DAEMON + DAEMON.replace("{more}", ", start_new_session=True") + FOREVER,
    "A-resource-015": "    assert 1\n",
}


def test_suite(case: str, mark: str) -> str:
    body = BODIES[case].replace("{mark!r}", repr(mark)).replace("{more}", "")
    return f"{HEAD}def test_hostile():\n{body}\ndef test_other(): pass\n"


test_suite.__test__ = False  # type: ignore[attr-defined]


def _stopped(answers: list[dict[str, Any]]) -> None:
    assert answers[0]["data"]["status"] == "timeout"
    assert answers[0]["data"]["duration_s"] < 2 + 4


def _daemon(answers: list[dict[str, Any]]) -> None:
    data = answers[0]["data"]
    assert data["status"] in ("passed", "timeout")  # the latter on a machine that is busy
    assert answers[0]["took_s"] < 20
    assert data["status"] == "timeout" or any("left processes" in n for n in data["notes"])


def _bomb(answers: list[dict[str, Any]]) -> None:
    assert answers[0]["data"]["status"] in ("timeout", "crashed", "failed")
    assert answers[0]["took_s"] < 20
    assert answers[1]["longest_s"] < 2.0
    assert answers[1]["pings"] > 10


def _file(answers: list[dict[str, Any]]) -> None:
    assert answers[0]["data"]["status"] in ("failed", "crashed")
    assert "test_hostile" in answers[0]["seen"]


def _memory(answers: list[dict[str, Any]]) -> None:
    assert answers[0]["data"].get("status") in ("failed", "crashed"), answers[0]["seen"]
    assert "test_hostile" in answers[0]["seen"]
    assert answers[1]["pings"] > 3


def _many(answers: list[dict[str, Any]]) -> None:
    states = [a["data"].get("status") or a["data"]["error"]["kind"] for a in answers[:-1]]
    assert len(states) >= FEW
    assert set(states) <= {"passed", "busy"}
    assert "passed" in states


def _left(answers: list[dict[str, Any]]) -> None:
    assert answers[0]["data"].get("status") != "passed"
    assert answers[1]["data"]["status"] == "passed"


CALL: dict[str, Any] = {"argv": ["pytest"], "timeout_s": 20}
RESOURCES: dict[str, tuple[Callable[[list[dict[str, Any]]], None], dict[str, Any]]] = {
    "A-resource-002": (_stopped, {"calls": [{**CALL, "timeout_s": 2}]}),
    "A-resource-004": (_daemon, {"calls": [{**CALL, "timeout_s": 5}]}),
    "A-resource-005": (_bomb, {"calls": [{**CALL, "timeout_s": 5}]}),
    "A-resource-007": (_file, {"calls": [CALL]}),
    "A-resource-008": (_memory, {"calls": [CALL]}),
    "A-resource-013": (_left, {"calls": [{**CALL, "timeout_s": 60}, {"selection": ["test_other"]}], "leave": True}),
    "A-resource-014": (_left, {"calls": [{**CALL, "timeout_s": 60}]}),
    "A-resource-015": (_many, {"calls": [{**CALL, "timeout_s": 90}] * MANY, "at_once": True}),
}


ROWS = [(case, user, LEVELS[(n + m + k) % 3])
        for n, case in enumerate(RESOURCES) for k in range(3) for m, user in enumerate(USERS)]  # fmt: skip


@pytest.mark.parametrize(("case", "user", "level"), sample(ROWS, 3))
def test_case_of_resources_ends_as_it_must(case: str, user: str, level: str) -> None:
    mark = f"attack-{secrets.token_hex(8)}"
    judge, job = RESOURCES[case]
    if case == "A-resource-015" and not (ALL and (user, level) == PLACES[0]):
        job = {**job, "calls": job["calls"][:FEW]}  # what is the same at each level is measured once in full
    with folder_for_all() as folder:
        root = project_of(folder, user, {"test_hostile.py": test_suite(case, mark)})
        attacked = Attacked(root, user, level, {})
        if case == "A-resource-014":
            _killed_engine_leaves_nothing(attacked, mark, job)
            return
        answers = attacked.answers(**job)
        assert until(lambda: carrying(mark) == [], 2.0)
        judge(answers)


def _killed_engine_leaves_nothing(attacked: Attacked, mark: str, job: dict[str, Any]) -> None:
    with attacked.engine(**job) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline() or b"{}")
        if "refused" in first:
            pytest.skip(f"no sandbox of level {attacked.level} for this user: {first['refused']}")
        assert wait_for(attacked.root / STARTED)
        assert until(lambda: carrying(mark) != [])
        process.kill()
        process.wait()
        assert until(lambda: carrying(mark) == [], 4.0)
