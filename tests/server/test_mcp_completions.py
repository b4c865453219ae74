"""Completions: what begins as typed, bounded, without an index, and never an error."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import PromptReference, ResourceTemplateReference
from support.engines import ok
from support.gitrepos import make_repo
from support.served import MODES, Served, connected, served

from regreen.errors import ConfigError
from regreen_server.app import create_server
from regreen_server.calls import Caller, EngineSlot
from regreen_server.completions import MOST, Found, of_paths, of_words
from regreen_server.tool_list import Offer

FILES = {
    "README.md": "Read.\n",
    "src/app.py": "A = 1\n",
    "src/deep/api.py": "B = 1\n",
    "src/deep/zoo.py": "C = 1\n",
    "tests/test_app.py": "def test_a() -> None: ...\n",
    "tests/data.json": "{}\n",
}
HUGE = sorted(f"pkg{n % 100:02}/sub{n % 10}/mod{n:06}.py" for n in range(100_000))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    folder = tmp_path_factory.mktemp("completions")
    with served(folder, [make_repo(folder / "repo", FILES)]) as found:
        yield found


def completed(here: Served, ref: Any, name: str, value: str, mode: str = "legacy", **context: str) -> Any:
    async def talk() -> Any:
        async with connected(here, mode) as client:
            answer = await client.complete(ref, {"name": name, "value": value}, context or None)
            return answer.completion

    return asyncio.run(talk())


def template(uri: str) -> ResourceTemplateReference:
    return ResourceTemplateReference(type="ref/resource", uri=uri)


def prompt(name: str) -> PromptReference:
    return PromptReference(type="ref/prompt", name=name)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("kind", "typed", "found"), [
    ("file", "src/a", ["src/app.py"]), ("file", "src/deep/", ["src/deep/api.py", "src/deep/zoo.py"]),
    ("skeleton", "", ["src/", "tests/"]), ("skeleton", "src/", ["src/deep/"]),
    ("signatures", "s", ["src/"]), ("signatures", "src/", ["src/app.py", "src/deep/"]),
    ("file", "nowhere/", []), ("file", "../", []),
])  # fmt: skip
def test_a_path_of_a_template_is_completed(here: Served, kind: str, typed: str, found: list[str], mode: str) -> None:
    answer = completed(here, template(f"repo://{kind}/{{+path}}"), "path", typed, mode)
    assert (answer.values, answer.total, answer.has_more) == (found, len(found), False)


def test_the_tests_of_a_prompt_are_test_files_and_the_last_line_is_completed(here: Served) -> None:
    assert completed(here, prompt("fix_failing_tests"), "selection", "").values == ["tests/test_app.py"]
    two = completed(here, prompt("fix_failing_tests"), "selection", "a.py\ntests/")
    assert two.values == ["a.py\ntests/test_app.py"]


def test_runs_are_completed_where_a_job_or_a_beginning_is_wanted(here: Served) -> None:
    job = ok(here.engine, "fix_tests", proposer="caller", selection=["tests/test_app.py"], wait_s=45)["job_id"]
    for uri in ("run://{job_id}", "run://{job_id}/log", "run://{job_id}/events"):
        assert completed(here, template(uri), "job_id", job[:6]).values == [job]
    assert completed(here, prompt("review_changes"), "since", "").values == ["HEAD", job]
    assert completed(here, prompt("review_changes"), "since", "HE").values == ["HEAD"]


def test_a_proposer_is_one_that_fix_tests_takes(here: Served) -> None:
    assert completed(here, prompt("fix_failing_tests"), "proposer", "s").values == ["search", "sampling"]


@pytest.mark.parametrize(("ref", "name"), [
    (template("repo://nothing/{+path}"), "path"), (template("repo://file/{+path}"), "job_id"),
    (template("run://{job_id}"), "path"), (prompt("nothing"), "selection"), (prompt("review_changes"), "selection"),
])  # fmt: skip
def test_what_cannot_be_completed_gives_an_empty_answer(here: Served, ref: Any, name: str) -> None:
    answer = completed(here, ref, name, "s")
    assert (answer.values, answer.total, answer.has_more) == ([], 0, False)


def test_a_repository_outside_of_the_roots_and_a_broken_engine_give_an_empty_answer(here: Served) -> None:
    outside = completed(here, prompt("fix_failing_tests"), "selection", "", repo="/etc")
    assert outside.values == []

    def broken() -> Any:
        raise ConfigError("config_refused", "the state folder is broken", "repair it")

    server = Served(here.engine, create_server(Caller(EngineSlot(broken)), Offer()))
    assert completed(server, template("repo://file/{+path}"), "path", "").values == []


def test_completing_builds_no_index(here: Served) -> None:
    completed(here, template("repo://file/{+path}"), "path", "")
    assert not (here.engine.settings.cache_dir / "index").exists()


def test_a_name_that_tells_a_secret_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", secret := "kept-1f9a7c3e5b2d4680")
    repo = make_repo(tmp_path / "repo", {f"{secret}.txt": "", "plain.txt": ""})
    with served(tmp_path, [repo]) as here:
        assert completed(here, template("repo://file/{+path}"), "path", "").values == ["plain.txt"]


def test_of_many_paths_the_next_step_is_told_and_how_much_there_is() -> None:
    assert of_paths(HUGE, "") == Found(tuple(f"pkg{n:02}/" for n in range(100)), 100)
    assert of_paths(HUGE, "pkg1") == Found(tuple(f"pkg{n}/" for n in range(10, 20)), 10)
    within = of_paths(HUGE, "pkg11/sub1/")
    assert (len(within.values), within.total) == (MOST, 1000)
    assert of_paths(HUGE, "pkg11/sub1/mod00001") == Found(("pkg11/sub1/mod000011.py",), 1)
    assert of_paths(HUGE, "pkg99/", files=False, folders=True) == Found(("pkg99/sub9/",), 1)


def test_words_are_told_once_in_their_order() -> None:
    assert of_words(["HEAD", "job-2", "job-1", "job-2"], "job-") == Found(("job-2", "job-1"), 2)
