"""Every tool on a repository and output of any size: an answer stays far below what clients take, and the rest is
reached. Both forms of an answer count, each by itself."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from support.engines import engine_on
from support.gitrepos import git, make_repo, write

from regreen.session import Engine
from regreen.tools import TOOLS

LIMIT_TOKENS = 25_000
CHARS_A_TOKEN = 3  # code takes fewer tokens than that: the bound is a safe one
FILES, CHANGED, LONG_LINE, MANY = 120, 12, 400_000, 700
DEFINITION = (
    "class Thing{i}_{k}(Base):\n    def method_{k}(self, first_argument: int, second: list[int]) -> int:\n"
    '        """Does {k}."""\n        return shared_name(first_argument, {k})\n\n\n'
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = make_repo(tmp_path_factory.mktemp("huge") / "repo")
    for i in range(FILES):
        write(root / f"package_{i % 10}" / f"module_with_a_long_name_{i}.py",
              "".join(DEFINITION.format(i=i, k=k) for k in range(30)))  # fmt: skip
    (root / "shared.py").write_text("def shared_name(a, b):\n    return a\n")
    (root / "long.txt").write_text("a\n" + "".join(f"{n:07} " for n in range(LONG_LINE // 8)) + "\nz\n")
    (root / "test_many.py").write_text(
        "import pytest\n\n\n@pytest.mark.parametrize('n', range(300))\ndef test_it(n):\n"
        "    assert {str(n): list(range(n))} == {}, 'different %d' % n\n"
    )
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "all")
    for file in sorted(root.glob("package_*/*.py"))[:CHANGED]:
        file.write_text(file.read_text().replace("return shared", "return  shared"))
    with engine_on(root) as opened:
        yield opened


def told(engine: Engine, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer, after checking the size of both forms."""
    result = engine.call(tool, arguments)
    assert not result.is_error, result.text
    for form in (result.text, json.dumps(result.data, ensure_ascii=False)):
        assert len(form) <= LIMIT_TOKENS * CHARS_A_TOKEN, (tool, len(form))
    if result.data.get("cursor"):
        assert "(more: " in result.text, "the text says how to go on, too"
    return result.data


def all_of(engine: Engine, tool: str, field: str, **arguments: Any) -> Any:
    """A field of all pages, joined."""
    page = told(engine, tool, **arguments)
    whole = page[field]
    while cursor := page.get("cursor"):
        page = told(engine, tool, **arguments, cursor=cursor)
        whole = whole + page[field]
    return whole


@pytest.mark.parametrize(("tool", "arguments"), [
    ("repo_skeleton", {"max_tokens": 20_000, "depth": 50}),
    ("extract_signatures", {"paths": ["."], "max_tokens": 20_000, "docstrings": True}),
    ("repo_map", {"max_tokens": 20_000}),
    ("find_symbol", {"name": "shared_name", "references": True, "limit": 1000}),
    ("search_text", {"pattern": "shared_name", "context": 10, "limit": 1000}),
    ("read_file", {"path": "long.txt", "max_chars": 60_000}),
    ("show_changes", {"max_chars": 60_000}),
])  # fmt: skip
def test_what_is_asked_for_at_most_stays_below_the_limit(engine: Engine, tool: str, arguments: dict[str, Any]) -> None:
    told(engine, tool, **arguments)


def test_the_cursor_of_changes_reaches_the_whole_diff_once(engine: Engine) -> None:
    diff = all_of(engine, "show_changes", "diff")
    assert diff.count("diff --git") == CHANGED
    assert diff.count("\n+        return  shared_name") == CHANGED * 30
    assert len(all_of(engine, "show_changes", "files")) == CHANGED


def test_the_cursor_of_a_search_goes_past_its_limit(engine: Engine) -> None:
    found = all_of(engine, "search_text", "matches", pattern="return shared_name", limit=400)
    assert len({(m["path"], m["line"]) for m in found}) == len(found) == (FILES - CHANGED) * 30


def test_the_cursor_of_a_symbol_reaches_each_place_that_uses_it(engine: Engine) -> None:
    report = told(engine, "find_symbol", name="shared_name", references=True, limit=500)
    total = report["references_total"]
    found = all_of(engine, "find_symbol", "references", name="shared_name", references=True, limit=500)
    assert len(found) == len({(r["path"], r["line"], r["column"]) for r in found}) >= total > 500


def test_the_cursor_of_a_file_goes_on_inside_of_a_long_line(engine: Engine) -> None:
    page = told(engine, "read_file", path="long.txt")
    text = ""
    while True:
        text += page["text"].split("… ")[0]
        if not page.get("cursor"):
            break
        page = told(engine, "read_file", path="long.txt", cursor=page["cursor"])
    assert "".join(text.split("\n")) == "a" + "".join(f"{n:07} " for n in range(LONG_LINE // 8)) + "z"


def test_an_edit_of_many_files_and_its_undoing_are_told_in_short_and_counted_whole(engine: Engine) -> None:
    files = sorted(engine.session().root.glob("package_*/*.py"))
    lines = [(str(f.relative_to(engine.session().root)), f.read_text().split("\n")[0]) for f in files]
    wrong = [{"path": p, "search": "nothing like it", "replace": line} for p, line in lines]
    assert told(engine, "apply_edits", replacements=wrong)["ok"] is False
    right = [{"path": p, "search": line, "replace": f"# changed\n{line}"} for p, line in lines]
    done = told(engine, "apply_edits", replacements=right)
    assert done["ok"]
    assert done["totals"]["files"] == FILES
    assert len(all_of(engine, "show_changes", "files", since=done["transaction"])) == FILES
    undone = engine.call("restore", {"to": done["transaction"]})
    assert f"{FILES} files restored" in undone.text


def test_the_results_of_many_failing_tests_are_reached_through_their_job(engine: Engine) -> None:
    first = told(engine, "run_tests", selection=["test_many.py"], wait_s=45)
    job = first["job_id"]
    while first["state"] == "running":
        first = told(engine, "job_status", job_id=job, wait_s=30)
    assert first["counts"]["failed"] == 300
    failures = all_of(engine, "job_status", "failures", job_id=job)
    assert len(failures) == len({f["id"] for f in failures}) > len(first["failures"])
    log, at = "", 0
    while page := told(engine, "job_status", job_id=job, log_offset=at)["log_text"]:
        log, at = log + page, at + len(page.encode())
    assert all(f"different {n}" in log for n in range(300)), "what a report leaves out is in the log"


def test_every_tool_is_either_read_here_or_answers_in_pages() -> None:
    from regreen.tools.paging import PAGED

    bounded = {"repo_skeleton", "extract_signatures", "repo_map", "read_file"}  # by max_tokens, max_chars
    assert {t.name for t in TOOLS} == bounded | set(PAGED)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A repository of many small files."""
    root = make_repo(tmp_path_factory.mktemp("many") / "repo")
    for i in range(MANY):
        (root / f"module_number_{i:03}.py").write_text(
            f"def function_{i}(x):\n    return x\n\n\nclass Common:\n    pass\n"
        )
    git(root, "add", "-A")
    with engine_on(root) as opened:
        yield opened


@pytest.mark.parametrize("max_tokens", [2_000, 4_000, 20_000])
def test_the_cursors_of_trees_and_signatures_reach_every_file_whatever_the_budget(
    many: Engine, max_tokens: int
) -> None:
    files = all_of(many, "extract_signatures", "files", paths=["."], max_tokens=max_tokens)
    assert len({file["path"] for file in files}) == MANY
    assert {symbol["name"] for file in files for symbol in file["symbols"]} >= {f"function_{i}" for i in range(MANY)}
    tree = all_of(many, "repo_skeleton", "tree", path=".", max_tokens=max_tokens)
    assert set(re.findall(r"module_number_\d+", tree)) == {f"module_number_{i:03}" for i in range(MANY)}


@pytest.mark.parametrize(("tool", "arguments", "kind"), [
    ("read_file", {"path": "shared.py", "repo": "a" * 256}, "not_found"),
    ("read_file", {"path": "shared.py", "repo": "a/" * 5_000}, "path_invalid"),
    ("read_file", {"path": "shared.py", "repo": "\ud800"}, "path_invalid"),
    ("show_changes", {"since": "a" * 140_000}, "not_found"),
], ids=["name", "path", "surrogate", "commit"])  # fmt: skip
def test_arguments_that_are_too_long_to_be_anything_are_refused_in_few_words(
    many: Engine, tool: str, arguments: dict[str, Any], kind: str
) -> None:
    result = many.call(tool, arguments)
    assert result.is_error and result.data["error"]["kind"] == kind
    assert len(result.text) < 2_000


def test_a_selection_that_is_too_long_for_a_file_selects_nothing(many: Engine) -> None:
    result = many.call("run_tests", {"selection": ["a" * 256, "tests/" + "b" * 256 + ".py"], "wait_s": 45})
    assert not result.is_error and result.data["status"] == "no_tests", result.text
