"""The graph of files and names, and what ranks high in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.mapping import Repo, Source

from regreen.repo.ranking.focusing import Focus, focus_of
from regreen.repo.ranking.graph import build, patched
from regreen.repo.ranking.nodes import Graph
from regreen.repo.ranking.packing import pack, unpack
from regreen.repo.ranking.ranks import WHOLE, Order, Ranks, focused, rank

NAMES = ["Widget", "parse_header", "Field", "helper_function", "_private_thing", "get", "Widget.render_all", "x"]
FOLDERS = ["src", "src/core", "tests", "web"]

sources = st.builds(
    Source,
    defines=st.lists(st.sampled_from(["Widget", "function parse_header", "Field", "function helper_function",
                                      "function _private_thing", "method Widget.render_all", "function get"]),
                     max_size=4, unique=True),
    uses=st.dictionaries(st.sampled_from(["Widget", "parse_header", "Field", "helper_function", "render_all", "get",
                                          "core", "src", "a", "b", "web"]), st.integers(1, 9), max_size=6),
    role=st.sampled_from(["source", "source", "test", "vendored", "generated"]),
)  # fmt: skip
paths = st.builds("{}/{}.{}".format, st.sampled_from(FOLDERS), st.sampled_from("abcd"), st.sampled_from(["py", "go"]))
trees = st.dictionaries(paths, sources, min_size=1, max_size=9)


def ranked(files: Mapping[str, Source], **options: bool) -> list[str]:
    """`path name` of all definitions, best first."""
    repo = Repo(dict(files))
    graph = build(repo, repo.symbols_of)
    return said(repo, graph, rank(graph), Focus(), **options)


def said(repo: Repo, graph: Graph, ranks: Ranks, focus: Focus, tests: bool = False) -> list[str]:
    places = focused(graph, ranks, Order(graph, ranks, tests), focus)
    return [f"{path} {repo.files[path].symbols()[number].name}" for _, path, number, _ in places]


def about(files: Mapping[str, Source], *wanted: str, boosts: Mapping[str, float] | None = None) -> list[str]:
    repo = Repo(dict(files))
    graph = build(repo, repo.symbols_of)
    focus = focus_of(graph, repo, wanted, boosts or {}, files.keys())
    return said(repo, graph, rank(graph), focus)


def exact(graph: Graph, ranks: Ranks) -> Mapping[str, tuple[object, ...]]:
    """All that the places of files and the numbers of names must not matter to."""
    return {
        file.path: (ranks.files[slot], list(ranks.scores[slot]), sorted(file.to_weight), file.total)
        for slot, file in enumerate(graph.files)
        if file.path
    } | {"": ranks.sums}


def users(count: int, *names: str, folder: str = "app") -> dict[str, Source]:
    return {f"{folder}/user{number}.py": Source(uses=names) for number in range(count)}


def test_what_many_use_is_above_what_few_use() -> None:
    files = {"lib/wide.py": Source(["WideClass"]), "lib/narrow.py": Source(["NarrowClass"])}
    assert (
        ranked(files | users(5, "WideClass", "lib") | users(1, "NarrowClass", "lib", folder="other"))[0]
        == "lib/wide.py WideClass"
    )


def test_what_important_files_use_is_above_what_others_use() -> None:
    files = {
        "lib/one.py": Source(["FirstClass"]),
        "lib/two.py": Source(["OtherClass"]),
        "lib/hub.py": Source(["HubClass"], ["FirstClass", "lib"]),
        "lib/leaf.py": Source(["LeafClass"], ["OtherClass", "lib"]),
    }
    order = ranked(files | users(6, "HubClass", "lib"))
    assert order.index("lib/one.py FirstClass") < order.index("lib/two.py OtherClass")


def test_a_name_that_many_files_define_lifts_none_of_them() -> None:
    hub = {f"pkg{n}/mod{n}.py": Source(["GenericName"]) for n in range(9)}
    files = hub | {"lib/real.py": Source(["RealThing"])} | users(9, "GenericName", "RealThing", "lib")
    assert ranked(files)[0] == "lib/real.py RealThing"
    assert ranked(files)[1:10] == [f"pkg{n}/mod{n}.py GenericName" for n in range(9)]


def test_of_many_definers_the_one_that_the_user_mentions_counts() -> None:
    hub = {f"pkg{n}/mod.py": Source(["GenericName"]) for n in range(9)}
    assert ranked(hub | users(3, "GenericName", "pkg7"))[0] == "pkg7/mod.py GenericName"


def test_a_name_in_a_comment_counts_less_than_one_that_is_imported() -> None:
    files = {"lib/alpha.py": Source(["AlphaClass"]), "lib/beta.py": Source(["BetaClass"])}
    files |= users(3, "AlphaClass", folder="far") | users(2, "BetaClass", "beta", folder="near")
    assert ranked(files)[0] == "lib/beta.py BetaClass"


@pytest.mark.parametrize("role", ["test", "vendored", "generated"])
def test_tests_vendored_and_generated_files_are_below_their_equals(role: str) -> None:
    equals = {"a/one.py": Source(["SameThing"], role=role), "b/two.py": Source(["OtherThing"])}  # pyright: ignore[reportArgumentType]
    assert ranked(equals)[0] == "b/two.py OtherThing"


def test_tests_rank_like_others_when_asked() -> None:
    files = {"tests/a.py": Source(["CheckedThing"], role="test"), "z/b.py": Source(["OtherThing"])}
    files |= {f"tests/t{n}.py": Source(uses=["CheckedThing", "tests"], role="test") for n in range(4)}
    assert ranked(files, tests=True)[0] == "tests/a.py CheckedThing"


def test_sources_do_not_mean_what_tests_define() -> None:
    files = {"tests/fake.py": Source(["FakeThing"], role="test"), "src/real.py": Source(["RealThing"])}
    files |= users(5, "FakeThing", "tests", "fake")
    assert ranked(files)[0] == "src/real.py RealThing"


def test_names_do_not_cross_languages() -> None:
    files = {"web/app.js": Source(["function renderAll"]), "src/z.py": Source(["function renderSome"])}
    files |= users(5, "renderAll", "web", "app")
    assert (
        ranked(files)[0] != "web/app.js renderAll"
        or ranked(files | users(1, "renderSome", "z"))[0] == "src/z.py renderSome"
    )


def test_own_names_do_not_count() -> None:
    files = {
        "a/boast.py": Source(["BoastClass"], {"BoastClass": 500}),
        "b/used.py": Source(["UsedClass"]),
        "c/user.py": Source(uses=["UsedClass", "used"]),
    }
    assert ranked(files)[0] == "b/used.py UsedClass"


def test_private_names_count_in_their_folder_only() -> None:
    files = {"a/mod.py": Source(["function _secret_helper", "function open_helper"])}
    inside = ranked(files | {"a/near.py": Source(uses={"_secret_helper": 9, "mod": 1})})
    outside = ranked(files | {"b/far.py": Source(uses={"_secret_helper": 9, "mod": 1})})
    assert inside[0] == "a/mod.py _secret_helper"
    assert outside[0] == "a/mod.py open_helper"


def test_a_class_is_above_its_members_and_local_functions_come_last() -> None:
    files = {"a/m.py": Source(["Big", "method Big.run_it", "method Big.__repr__", "function Big.run_it.inner"])}
    assert [word.split()[1] for word in ranked(files)] == ["Big", "run_it", "__repr__", "inner"]


def test_focus_on_a_file_lifts_it_and_what_it_uses() -> None:
    files = {"lib/a.py": Source(["AlphaClass"]), "lib/b.py": Source(["BetaClass"]),
             "app/main.py": Source(["MainThing"], ["BetaClass", "lib"])} | users(9, "AlphaClass", "lib")  # fmt: skip
    assert ranked(files)[0] == "lib/a.py AlphaClass"
    assert set(about(files, "app/main.py")[:2]) == {"app/main.py MainThing", "lib/b.py BetaClass"}


def test_focus_on_a_folder_lifts_all_in_it() -> None:
    files = {"one/a.py": Source(["AlphaClass"]), "one/b.py": Source(["BetaClass"]), "two/c.py": Source(["GammaClass"])}
    files |= users(9, "GammaClass", "two")
    assert {word.split()[0] for word in about(files, "one/")[:2]} == {"one/a.py", "one/b.py"}


def test_focus_on_a_large_folder_shows_what_matters_in_it_first(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"one/m{n}.py": Source([f"Class{n}"]) for n in range(12)} | {"two/c.py": Source(["GammaClass"])}
    files |= users(9, "GammaClass", "two") | users(3, "Class7", "m7", folder="one")
    for large in (200, 10):
        monkeypatch.setattr("regreen.repo.ranking.ranks.LARGE", large)
        assert about(files, "one")[0] == "one/m7.py Class7"
        assert sorted(about(files, "one")) == sorted(ranked(files))


def test_focus_on_a_name_lifts_its_definition_and_members() -> None:
    files = {"lib/a.py": Source(["AlphaClass", "method AlphaClass.first_step"]), "lib/b.py": Source(["BetaClass"])}
    files |= users(9, "BetaClass", "lib")
    assert about(files, "AlphaClass")[:2] == ["lib/a.py AlphaClass", "lib/a.py first_step"]


def test_focus_on_a_qualified_name_means_that_one() -> None:
    files = {f"lib/{n}.py": Source([f"Class{n}", f"method Class{n}.save_it"]) for n in range(4)}
    for word, number in (("Class2.save_it", 2), ("Class3::save_it()", 3), ("lib.1.save_it", 1)):
        assert f"lib/{number}.py save_it" in about(files, word)[:2]


def test_focus_on_a_test_shows_the_test() -> None:
    files = {"tests/t.py": Source(["TestAll"], ["AlphaClass", "lib"], role="test"), "lib/a.py": Source(["AlphaClass"])}
    files |= {f"lib/{name}.py": Source([f"{name}Class"]) for name in "bcdefgh"}
    assert "tests/t.py TestAll" in about(files, "tests/t.py")[:2]


def test_changed_files_are_lifted() -> None:
    files = {f"lib/m{n}.py": Source([f"Class{n}"]) for n in range(6)}
    assert about(files, boosts={"lib/m4.py": 2.0, "lib/m3.py": 1.0})[:2] == ["lib/m4.py Class4", "lib/m3.py Class3"]


def test_words_that_mean_nothing_are_noted() -> None:
    repo = Repo({"a.py": Source(["Thing"])})
    focus = focus_of(build(repo, repo.symbols_of), repo, ["nothing", "README.md"], {"gone.py": 1.0}, {"README.md"})
    assert not focus
    assert focus.notes == ("nothing: no file, no definition", "README.md: no definitions are known in it")


@given(trees, st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_numbering_of_identifiers_does_not_matter(files: dict[str, Source], seed: int) -> None:
    one, other = Repo(dict(files)), Repo(dict(files), seed=seed + 1)
    graphs = [build(repo, repo.symbols_of) for repo in (one, other)]
    assert exact(graphs[0], rank(graphs[0])) == exact(graphs[1], rank(graphs[1]))


@given(trees, st.lists(st.tuples(paths, st.none() | sources), max_size=3), st.lists(paths, max_size=2))
@settings(max_examples=60, deadline=None)
def test_a_patched_graph_is_the_one_built_anew(
    files: dict[str, Source], changes: list[tuple[str, Source | None]], focus: list[str]
) -> None:
    files = {f"more/f{n}.py": Source([f"More{n}"], [f"More{n + 1}", "Widget"]) for n in range(20)} | files
    repo = Repo(dict(files))
    graph = build(repo, repo.symbols_of)
    for path, source in changes:
        repo.change({path: source})
        graph = patched(graph, repo, repo.symbols_of)
    fresh = Repo(dict(repo.files), seed=9)
    anew = build(fresh, fresh.symbols_of)
    assert exact(graph, rank(graph)) == exact(anew, rank(anew))
    wanted = [*focus, "Widget"]
    assert said(repo, graph, rank(graph), focus_of(graph, repo, wanted, {}, ())) == said(
        fresh, anew, rank(anew), focus_of(anew, fresh, wanted, {}, ())
    )


def test_an_index_that_grows_ends_with_the_graph_of_all() -> None:
    files = {f"m{n}.py": Source([f"Class{n}", "Widget"], [f"Class{n * n % 40}", "m3"]) for n in range(40)}
    repo = Repo(dict(list(files.items())[:5]))
    graph = build(repo, repo.symbols_of)
    for known in (20, 25, 40):
        repo.change(dict(list(files.items())[:known]))
        graph = patched(graph, repo, repo.symbols_of)
    fresh = Repo(files, seed=3)
    anew = build(fresh, fresh.symbols_of)
    assert exact(graph, rank(graph)) == exact(anew, rank(anew))


def test_the_order_does_not_depend_on_how_much_of_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"m{n}.py": Source([f"Class{n}", "Widget", "Other"], [f"Class{n * n % 40}", "m3"]) for n in range(40)}
    whole = ranked(files)
    monkeypatch.setattr("regreen.repo.ranking.ranks._STAGES", (7, 30))
    assert ranked(files) == whole
    assert about(files, "Class4") == about(files, "Class4")
    assert len(whole) == 120


def test_a_change_inside_a_function_reads_no_other_file_again() -> None:
    repo = Repo({f"m{n}.py": Source([f"Class{n}"], [f"Class{n + 1}"]) for n in range(12)})
    graph = build(repo, repo.symbols_of)
    repo.change({"m3.py": Source(["Class3"], ["Class7"])})
    before = repo.reads
    patched(graph, repo, repo.symbols_of)
    assert repo.reads == before + 1


def test_patching_leaves_the_old_graph_alone() -> None:
    repo = Repo({f"m{n}.py": Source([f"Class{n}"], [f"Class{n + 1}", "m1"]) for n in range(12)})
    graph = build(repo, repo.symbols_of)
    before = exact(graph, rank(graph))
    repo.change({"m3.py": Source(["Class1", "Other"], ["Class7"]), "m4.py": None})
    patched(graph, repo, repo.symbols_of)
    assert exact(graph, rank(graph)) == before


@given(trees)
@settings(max_examples=20, deadline=None)
def test_packing_gives_back_what_was_packed(files: dict[str, Source]) -> None:
    repo = Repo(files)
    graph = build(repo, repo.symbols_of)
    ranks = rank(graph)
    found = unpack(pack(graph, ranks))
    assert found == (graph, ranks)


def broken(data: bytes) -> Iterable[bytes]:
    yield from (b"", b"x" * 200, data[:-1], data[: len(data) // 2], data[:40], data + b"1")
    yield data[:100] + bytes([data[100] ^ 1]) + data[101:]


def test_what_is_not_a_packed_graph_is_taken_for_nothing() -> None:
    repo = Repo({"a.py": Source(["Thing"])})
    graph = build(repo, repo.symbols_of)
    assert [unpack(data) for data in broken(pack(graph, rank(graph)))] == [None] * 7


@given(trees)
@settings(max_examples=20, deadline=None)
def test_ranks_are_whole_and_at_most_all(files: dict[str, Source]) -> None:
    repo = Repo(files)
    ranks = rank(build(repo, repo.symbols_of))
    assert all(value == int(value) for value in (*ranks.files, *ranks.names))
    assert 0 <= sum(ranks.files) <= WHOLE


def test_an_empty_repository_has_no_ranks() -> None:
    assert ranked({}) == []
