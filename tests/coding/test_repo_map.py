"""The map's text: within its budget, filled, the same in every process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.mapping import Repo, Source

from regreen.errors import UsageError
from regreen.model import RepoMap
from regreen.repo.budget import estimate_tokens
from regreen.repo.ranking import ranked_map
from regreen.repo.ranking.ranked_map import Mapper

names = st.text("abcdefgh_", min_size=1, max_size=60).map(lambda s: "N" + s)
sources = st.builds(
    Source,
    defines=st.lists(st.one_of(names, names.map("function {}".format), st.builds("method {}.{}".format, names, names)),
                     max_size=12),
    uses=st.lists(names, max_size=5, unique=True),
    role=st.sampled_from(["source", "source", "test", "vendored"]),
)  # fmt: skip
trees = st.dictionaries(st.text("abcé/ü", min_size=1, max_size=12).map(lambda s: f"d{s}.py"), sources, max_size=8)


def large(files: int = 60, each: int = 12) -> dict[str, Source]:
    """A repository whose whole map takes some 10,000 tokens."""
    return {
        f"pkg{n % 7}/module_{n}.py": Source(
            [f"Class{n}", *(f"method Class{n}.do_step_{k}" for k in range(each))],
            {f"Class{(n * n) % files}": 2, f"pkg{(n * n) % files % 7}": 1},
            role="test" if n % 5 == 0 else "source",
        )
        for n in range(files)
    }


def shown(files: dict[str, Source], **options: object) -> RepoMap:
    repo = Repo(files)
    return Mapper(repo, repo.symbols_of).map(**options)  # pyright: ignore[reportArgumentType]


def words(text: str) -> int:
    """A tokenizer that is not additive: pairs of letters and digits, some merged across lines."""
    return len(text.replace("\n  ", "\n").replace("class ", "c").replace("method", "m")) // 2 + text.count("\n") % 7


def squares(text: str) -> int:
    return int(len(text) ** 1.1)


def steps(text: str) -> int:
    return -(-len(text) // 500) * 100


@given(trees, st.integers(1, 400), st.sampled_from([estimate_tokens, words, squares, steps]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_never_above_the_budget(files: dict[str, Source], most: int, count: Callable[[str], int], tests: bool) -> None:
    found = shown(files, max_tokens=most, count=count, tests=tests, focus=["d"])
    assert count(found.text) <= most
    assert found.tokens == count(found.text)
    assert len(found.files) <= found.total_files == len(files)
    assert len(found.ranked_symbols) <= found.total_symbols


@pytest.mark.parametrize("most", [200, 250, 400, 1000, 4000])
@pytest.mark.parametrize("count", [estimate_tokens, words, squares])
def test_filled_when_there_is_enough_to_show(most: int, count: Callable[[str], int]) -> None:
    for focus in ((), ("pkg3/module_3.py",), ("Class8",)):
        found = shown(large(), max_tokens=most * (6 if count is squares else 1), count=count, focus=focus)
        assert found.tokens >= most * (6 if count is squares else 1) * 0.95


@pytest.mark.parametrize("most", [70, 85, 100, 120, 150])
def test_small_budgets_are_filled_but_for_less_than_a_line(most: int) -> None:
    assert shown(large(), max_tokens=most).tokens >= most - 7


def test_no_budget_is_too_small() -> None:
    for most in (1, 2, 3, 5, 8, 13, 20, 30, 45, 59):
        assert estimate_tokens(shown(large(), max_tokens=most).text) <= most
    with pytest.raises(UsageError, match="max_tokens is 0"):
        shown(large(), max_tokens=0)


def test_a_tokenizer_that_nothing_satisfies_gets_nothing() -> None:
    def never(text: str) -> int:
        return 1000 if text else 0

    found = shown(large(), max_tokens=100, count=never)
    assert (found.text, found.files, found.ranked_symbols, found.tokens) == ("", (), (), 0)


def test_all_is_shown_when_there_is_room() -> None:
    found = shown(large(), max_tokens=100_000)
    assert len(found.ranked_symbols) == found.total_symbols == 60 * 13
    assert found.text.endswith("shown 60/60 files, 780/780 symbols; ~5,687 of 100,000 tokens")


def test_form_of_the_text() -> None:
    files = {
        "b/mod.py": Source(["Big", "method Big.first_step", "method Big.second_step", "function free_one"]),
        "a/user.py": Source(["User"], ["Big", "mod", "b"]),
        "dist/x.js": Source(role="minified"),
        "z.bin.py": Source(role="huge"),
    }
    assert shown(files).text.splitlines() == [
        "b/mod.py",
        "  L1 class Big",
        "    L2 method first_step",
        "    L3 method second_step",
        "  L4 function free_one",
        "a/user.py",
        "  L1 class User",
        "shown 2/4 files, 5/5 symbols; ~60 of 4,000 tokens; not parsed: 1 minified, 1 huge",
    ]


def test_a_member_is_shown_with_what_holds_it() -> None:
    files = large()
    for most in (40, 80, 150):
        lines = shown(files, max_tokens=most, focus=["Class8.do_step_7"]).text.splitlines()
        assert lines[:3] == ["pkg1/module_8.py", "  L1 class Class8", "    L9 method do_step_7"]


def test_long_signatures_are_cut() -> None:
    found = shown({"a.py": Source(["N" + "x" * 3000])}, max_tokens=2000)
    assert len(found.text.splitlines()[1]) == 205
    assert found.text.splitlines()[1].endswith("…")
    assert len(found.ranked_symbols[0].qualified_name) > 3000


def test_what_does_not_fit_is_passed_over_for_what_is_smaller() -> None:
    files = {"a.py": Source([f"{'Long' * 45}{n}" for n in range(4)] + ["Sm"] + [f"Small{n}" for n in range(30)])}
    found = shown(files, max_tokens=120)
    assert "class Small1" in found.text


def test_strange_paths_stay_on_one_line() -> None:
    found = shown({"a\nb\udcff.py": Source(["Thing"])})
    assert found.text.splitlines()[0] == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}.py"
    assert found.files == ("a\nb\udcff.py",)


def test_files_in_focus_come_first_and_leave_room_for_others() -> None:
    found = shown(large(each=80), focus=["pkg3/module_3.py"], max_tokens=1000)
    assert found.files[0] == "pkg3/module_3.py"
    assert len(found.files) > 3


def test_focus_on_a_test_shows_it() -> None:
    assert shown(large(), focus=["pkg5/module_5.py"], max_tokens=200).files[0] == "pkg5/module_5.py"


def test_best_symbols_come_first_with_shares() -> None:
    found = shown(large(), max_tokens=1000)
    scores = [symbol.score for symbol in found.ranked_symbols]
    assert scores == sorted(scores, reverse=True)
    assert 0 < sum(scores) <= 1


def test_focus_that_matches_nothing_is_noted() -> None:
    found = shown(large(), focus=["nowhere"], max_tokens=300)
    assert found.notes == ("nowhere: no file, no definition",)
    assert found.text == shown(large(), max_tokens=300).text


def test_focus_on_everything_is_none() -> None:
    assert shown(large(), focus=[".", ""], max_tokens=300) == shown(large(), max_tokens=300)


def test_an_empty_repository() -> None:
    found = shown({})
    assert (found.files, found.ranked_symbols, found.total_files, found.total_symbols) == ((), (), 0, 0)
    assert found.text == "shown 0/0 files, 0/0 symbols; ~15 of 4,000 tokens"


def test_a_partial_index_is_stated() -> None:
    found = shown(large(), indexed=0.376, max_tokens=500)
    assert found.text.splitlines()[-1].startswith("index 37 %: shown ")
    assert found.indexed == 0.376
    assert shown(large(), indexed=0.9999, max_tokens=60).text.splitlines()[-1].startswith("index 99 %")


def test_a_mapper_follows_changes_and_keeps_what_it_made() -> None:
    repo = Repo(large())
    mapper = Mapper(repo, repo.symbols_of)
    first = mapper.map()
    reads = repo.reads
    assert mapper.map() == first
    assert Mapper(repo, repo.symbols_of).map() == first
    assert repo.reads == reads
    repo.change({"pkg3/module_3.py": Source(["Replaced"], ["Class9", "pkg2"]), "pkg1/module_1.py": None})
    changed = mapper.map(focus=["Replaced"])
    assert changed.files[0] == "pkg3/module_3.py"
    assert changed == Mapper(repo, repo.symbols_of).map(focus=["Replaced"])
    fresh = Repo(dict(repo.files), seed=4)
    assert changed == Mapper(fresh, fresh.symbols_of).map(focus=["Replaced"])


def test_kept_bytes_that_are_broken_are_made_anew() -> None:
    repo = Repo(large())
    first = Mapper(repo, repo.symbols_of).map()
    kept = repo.kept(ranked_map.KEPT)
    assert kept
    repo.keep(ranked_map.KEPT, kept[:-9])
    assert Mapper(repo, repo.symbols_of).map() == first


def test_symbols_that_have_gone_meanwhile_are_left_out() -> None:
    repo = Repo({"a.py": Source(["First", "Second"]), "b.py": Source(["Third"])})
    mapper = Mapper(repo, lambda wanted: {k: v for k, v in repo.symbols_of(wanted).items() if v.name != "Second"})
    assert [symbol.qualified_name for symbol in mapper.map().ranked_symbols] == ["First", "Third"]


def test_many_threads_get_the_same() -> None:
    repo = Repo(large())
    mapper = Mapper(repo, repo.symbols_of)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(mapper.map(focus=["Class9"]).text)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(found)) == 1


def digest(seed: int) -> str:
    """Of some maps; run in other processes too."""
    repo = Repo(
        dict(sorted(large().items(), key=lambda item: hashlib.sha1(f"{seed}{item[0]}".encode()).digest())), seed
    )
    mapper = Mapper(repo, repo.symbols_of)
    texts = [
        mapper.map(focus=focus, max_tokens=most, boosts={"pkg2/module_2.py": 1.5}).text
        for focus in ([], ["Class7"], ["pkg3"], ["pkg5/module_5.py", "do_step_3"])
        for most in (90, 900, 5000)
    ]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def test_the_same_bytes_in_every_process() -> None:
    tests = Path(__file__).parents[1]
    code = "import sys, runpy; print(runpy.run_path(sys.argv[1])['digest'](int(sys.argv[2])))"
    found = {digest(0), digest(1)}
    for seed in (2, 77):
        environ = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(tests)}
        run = subprocess.run(
            [sys.executable, "-c", code, __file__, str(seed)], capture_output=True, text=True, env=environ, check=True
        )
        found.add(run.stdout.strip())
    assert len(found) == 1
