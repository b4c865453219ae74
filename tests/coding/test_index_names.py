"""Names in the index: where they are defined, what resembles them, which files use them, and what ranking is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.indexing import indexed, listed, write

from regreen.repo.index import Index
from regreen.repo.index.identifiers import count_identifiers, identifier_form

FILES = {
    "lib/db/models.py": (
        "class Model:\n    class Meta:\n        pass\n\n    def save(self):\n        helper_name()\n\n"
        "class Other:\n    def save(self):\n        self.$x\n"
    ),
    "lib/forms.py": "class Form:\n    def save(self):\n        return Model()\n\ndef get_queryset():\n    ...\n",
    "lib/net/client.py": "class Client:\n    pass\n\ndef helper_name():\n    ...\n",
    "src/other/net/deep/client.py": "class Client:\n    pass\n",
    "vendor/thing.py": "class Model: ...\n",
    "tests/a_test.py": "class Model:\n    def save(self): ...\n",
    "copy_of_forms.py": "class Form:\n    def save(self):\n        return Model()\n\ndef get_queryset():\n    ...\n",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    write(tmp_path / "project", FILES)
    with indexed(tmp_path / "project", tmp_path / "cache") as (index, workspace):
        index.refresh(listed(workspace))
        yield index


def found(index: Index, name: str, kind: str = "") -> list[str]:
    definitions, total = index.definitions(name, kind=kind)
    assert total == len(definitions)
    return [f"{d.path}:{d.line} {d.qualified_name}" for d in definitions]


def test_definitions_come_in_the_order_of_their_worth_then_of_their_paths(index: Index) -> None:
    assert found(index, "Model") == ["lib/db/models.py:1 Model", "vendor/thing.py:1 Model", "tests/a_test.py:1 Model"]
    assert [place.split(":")[0] for place in found(index, "save")] == [
        "copy_of_forms.py", "lib/db/models.py", "lib/db/models.py", "lib/forms.py", "tests/a_test.py",
    ]  # fmt: skip


def test_the_number_of_definitions_does_not_depend_on_how_many_are_shown(index: Index) -> None:
    definitions, total = index.definitions("save", limit=2)
    assert (len(definitions), total) == (2, 5)


@pytest.mark.parametrize(
    "name", ["Other.save", "Other::save", "Other#save", "models.Other.save", "lib.db.models.Other.save"]
)
def test_a_qualified_name_may_begin_anywhere_and_be_written_in_any_way(index: Index, name: str) -> None:
    assert found(index, name) == ["lib/db/models.py:9 Other.save"]


def test_parts_of_the_path_tell_definitions_apart(index: Index) -> None:
    assert found(index, "lib.net.client.Client") == ["lib/net/client.py:1 Client"]
    assert found(index, "lib.net.Client") == ["lib/net/client.py:1 Client"]
    assert found(index, "deep.Client") == ["src/other/net/deep/client.py:1 Client"]
    assert found(index, "other.client.Client") == ["src/other/net/deep/client.py:1 Client"]
    assert found(index, "net.Client") == ["lib/net/client.py:1 Client", "src/other/net/deep/client.py:1 Client"]
    assert found(index, "client.net.Client") == []


def test_an_inner_name_needs_no_outer_one_but_not_a_wrong_one(index: Index) -> None:
    assert found(index, "Model.Meta") == ["lib/db/models.py:2 Model.Meta"]
    assert found(index, "Meta") == ["lib/db/models.py:2 Model.Meta"]
    assert found(index, "Form.Meta") == []
    assert found(index, "models.Meta") == []


def test_a_kind_may_be_asked_for(index: Index) -> None:
    assert found(index, "get_queryset", kind="function") != []
    assert found(index, "get_queryset", kind="class") == []


@pytest.mark.parametrize("name", ["", ".", "::", "no such name", "%", "a" * 5000, "\ud800", "é"])
def test_names_of_nothing_have_no_definitions_and_are_no_error(index: Index, name: str) -> None:
    assert index.definitions(name) == ([], 0)
    index.names_like(name)
    index.files_using(name)
    assert index.identifiers([name]) == {}


def test_suggestions_are_the_likest_first(index: Index) -> None:
    assert index.names_like("model")[0] == "Model"
    assert index.names_like("get_query")[0] == "get_queryset"
    assert index.names_like("queryset") == ("get_queryset",)
    for mistaken in ("get_qeuryset", "gte_queryset", "getqueryset", "get_querysett", "get_quer_set", "Get_Querset"):
        assert index.names_like(mistaken)[0] == "get_queryset"
    assert index.names_like("Modle.save")[0] == "save" or index.definitions("Modle.save") == ([], 0)
    assert index.names_like("zzzzzzzz") == ()
    assert index.names_like("save", limit=0) == ()


def test_files_using_a_name_include_those_that_define_it(index: Index) -> None:
    assert index.files_using("helper_name") == ["lib/db/models.py", "lib/net/client.py"]
    assert index.files_using("net.client.helper_name") == ["lib/db/models.py", "lib/net/client.py"]
    assert index.files_using("get_queryset") == ["copy_of_forms.py", "lib/forms.py"]
    assert index.files_using("nowhere") == []


def test_ranking_is_told_what_each_file_defines_and_uses(index: Index) -> None:
    facts = {row.path: row for row in index.facts()}
    assert list(facts) == sorted(FILES)
    number = index.identifiers(["Model", "save", "helper_name", "nowhere"])
    assert set(number) == {"Model", "save", "helper_name"}
    models = facts["lib/db/models.py"]
    assert [d for d in models.defines if d in (number["Model"], number["save"])] == [
        number["Model"], number["save"], number["save"],
    ]  # fmt: skip
    uses = dict(zip(models.uses[::2], models.uses[1::2], strict=True))
    assert list(uses) == sorted(uses)
    assert (uses[number["save"]], uses[number["helper_name"]]) == (2, 1)
    assert facts["lib/forms.py"].content == facts["copy_of_forms.py"].content
    assert (facts["vendor/thing.py"].role, facts["tests/a_test.py"].role) == ("vendored", "test")


def test_symbols_are_given_by_path_and_number(index: Index) -> None:
    wanted = [("lib/db/models.py", 0), ("lib/forms.py", 1), ("lib/forms.py", 99), ("gone.py", 0)]
    symbols = index.symbols(wanted)
    assert {key: symbol.qualified_name for key, symbol in symbols.items()} == {
        ("lib/db/models.py", 0): "Model", ("lib/forms.py", 1): "Form.save",
    }  # fmt: skip


def test_what_was_kept_is_there_for_the_next_process(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    with indexed(tmp_path / "project", tmp_path / "cache") as (index, _):
        assert index.kept("rank") is None
        index.keep("rank", b"one")
        index.keep("rank", b"\0two")
    with indexed(tmp_path / "project", tmp_path / "cache") as (index, _):
        assert index.kept("rank") == b"\0two"


def counted(source: str) -> dict[str, int]:
    names, counts = count_identifiers(source.encode("utf-8", "surrogateescape"))
    assert len(set(names)) == len(names) == len(counts)
    return dict(zip(names, counts, strict=True))


def test_identifiers_are_counted_in_one_form_whatever_the_language_puts_around_them() -> None:
    assert counted("$user->name + @user.name! ; user?") == {"user": 3, "name": 2}
    assert counted("größe = naïve(größe); $größe “quoted”") == {"größe": 3, "naïve": 1, "quoted": 1}
    assert counted("ab$cd $ $$ $1 x1") == {"ab": 1, "cd": 1, "x1": 1}
    assert counted("Q(x) | F(y)") == {"Q": 1, "F": 1}
    assert counted("0xff 1e5 123abc if else for") == {}
    assert counted("n" * 80 + " " + "n" * 81) == {"n" * 80: 1}
    assert counted("ok \udcff\udcfe bad\udcffbad") == {"ok": 1, "bad": 2}
    assert counted("") == {}


@given(st.text(st.characters(codec="utf-8"), max_size=60) | st.text("aZ_$é9 \u0300.", max_size=60))
def test_whatever_is_counted_is_found_under_its_own_name(source: str) -> None:
    for name, count in counted(source).items():
        assert identifier_form(name) == name
        assert 1 <= count <= source.count(name) or not name.isascii()


def test_the_form_of_a_name_is_that_under_which_it_is_counted() -> None:
    for name in ("$user", "user!", "@user", "größe", "Q", "user_2"):
        assert list(counted(name)) == [identifier_form(name)]
    for name in ("x", "if", "n" * 81, "two words", "1st", "", "$", "a.b"):
        assert identifier_form(name) == ""
