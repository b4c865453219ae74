"""Documents with comments are changed at one place; everything else stays byte for byte."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regreen.errors import ConfigError
from regreen_bridge import documents, jsonc

PATH = ("servers",)
ENTRY = {"command": "/x/regreen", "args": ["serve"], "env": {"PATH": "/bin"}}
KEYS = st.sampled_from(["a", "b", "//c", 'd"', "servers", "ü", "/*"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["x", "// no", "/* no */", 'q"', ",}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
BLANKS = st.sampled_from(["", " ", "\n", "\n  ", " // c, {\n", " /* } */ ", "\n// d\n\t", "/**/"])


@st.composite
def texts(draw, value=None):
    """A document whose `servers` is an object, written with comments, blanks and trailing commas anywhere."""
    content = draw(st.dictionaries(KEYS, VALUES, max_size=4)) if value is None else value
    if value is None:
        content["servers"] = draw(st.dictionaries(KEYS, VALUES, max_size=3))
    return draw(BLANKS) + written(draw, content) + draw(BLANKS)


def written(draw, value):
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    parts = [
        f"{draw(BLANKS)}{json.dumps(k)}{draw(BLANKS)}:{draw(BLANKS)}{written(draw, v)}{draw(BLANKS)}"
        for k, v in value.items()
    ] if isinstance(value, dict) else [f"{draw(BLANKS)}{written(draw, v)}{draw(BLANKS)}" for v in value]  # fmt: skip
    trailing = "," + draw(BLANKS) if parts and draw(st.booleans()) else ""
    brackets = "{}" if isinstance(value, dict) else "[]"
    return brackets[0] + ",".join(parts) + trailing + (draw(BLANKS) if not parts else "") + brackets[1]


def with_entry(text, dialect="jsonc", path=PATH):
    return documents.with_entry(text, path, "regreen", ENTRY, dialect=dialect, where="f")


def without_entry(text, dialect="jsonc", path=PATH):
    return documents.without_entry(text, path, "regreen", dialect=dialect, where="f")


def content(text):
    return documents.read(text, "jsonc", "f")


def is_subsequence(short, long):
    rest = iter(long)
    return all(c in rest for c in short)


@given(texts())
def test_entry_is_added_and_nothing_else_changes(text):
    before, after = content(text), content(with_entry(text))
    assert after["servers"].pop("regreen") == ENTRY
    assert after == before
    kept = text if before["servers"] else text.replace(" ", "").replace("\n", "").replace("\t", "")
    assert is_subsequence(kept, with_entry(text))


@given(texts())
def test_adding_twice_changes_nothing_more(text):
    once = with_entry(text)
    assert with_entry(once) == once


@given(texts())
def test_taking_out_what_was_added_restores_the_content(text):
    assert content(without_entry(with_entry(text))) == content(text)


@given(texts(), st.randoms())
def test_any_member_can_be_taken_out_and_only_it_goes(text, random):
    before = content(text)
    if before["servers"]:
        name = random.choice(sorted(before["servers"]))
        after = jsonc.without_member(text, ("servers", name))
        del before["servers"][name]
        assert content(after) == before


@pytest.mark.parametrize(
    "text",
    [
        '{\n  // mine\n  "servers": {\n    "a": {"command": "x"} // the first\n  }\n}\n',
        '{\n\t"servers": {\n\t\t"a": {}, // trailing\n\t},\n}\n',
        '{"servers": {"a": 1}}',
        '{\r\n  "servers": {\r\n    "a": 1\r\n  }\r\n}\r\n',
        '{\n  "servers": {}\n}\n',
        '{\n  "servers": {\n    // none yet\n  }\n}\n',
    ],
    ids=["comment", "trailing comma", "one line", "CRLF", "empty", "only a comment"],
)
def test_taking_out_what_was_added_gives_the_former_bytes(text):
    assert "regreen" in with_entry(text)
    assert without_entry(with_entry(text)) == text
    if "\r\n" in text:
        assert "\n" not in with_entry(text).replace("\r\n", "")


@pytest.mark.parametrize("indent", [None, 2], ids=["one line", "lines"])
def test_an_object_of_very_many_members_is_changed_like_any_other(indent):
    members = {f"k{n}": n for n in range(40_000)}
    after = jsonc.with_member(json.dumps(members, indent=indent), ("servers", "regreen"), ENTRY)
    assert json.loads(after) == {**members, "servers": {"regreen": ENTRY}}


def test_a_file_of_comments_alone_keeps_them():
    after = with_entry("// settings\n")
    assert after.startswith("// settings\n{") and content(after) == {"servers": {"regreen": ENTRY}}


@pytest.mark.parametrize(
    "text, what",
    [
        ('{"a": 1 "b": 2}', "line 1"), ('{"a": 1}\n}', "line 2"), ('{"a": 1, "a": 2}', "stands twice"),
        ("[1]", "object"),
        ('{"servers": []}', "`servers`"), ("{'a': 1}", "key"), ('{"a": "x\n"}', "string"), ("/* x", "comment"),
        ("[" * 500, "deep"), ('{"a": nope}', "value"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_with_its_place(text, what):
    with pytest.raises(ConfigError, match=what):
        with_entry(text)


TOMLS = {
    "empty": "", "one key": 'model = "x"\n', "another server": '# c\n[mcp_servers.a]\ncommand = "b" # d\n',
    "split": '[mcp_servers.a]\ncommand="b"\n\n[p]\nx=1\n[mcp_servers.c]\ncommand="d"\n',
    "CRLF": 'model = "x"\r\n\r\n[z]\r\nk = 1\r\n', "dotted": 'mcp_servers.a.command = "x"\n',
}  # fmt: skip


@pytest.mark.parametrize("text", TOMLS.values(), ids=TOMLS.keys())
def test_toml_gets_our_table_and_loses_it_again_byte_for_byte(text):
    after = with_entry(text, "toml", ("mcp_servers",))
    assert after.startswith(text)
    assert tomllib.loads(after)["mcp_servers"]["regreen"] == ENTRY
    assert with_entry(after, "toml", ("mcp_servers",)) == after
    assert without_entry(after, "toml", ("mcp_servers",)) == text


def test_inline_tables_of_toml_are_extended_in_place():
    after = with_entry('mcp_servers = {a = {command = "x"}}\n', "toml", ("mcp_servers",))
    assert tomllib.loads(after)["mcp_servers"] == {"a": {"command": "x"}, "regreen": ENTRY}


@pytest.mark.parametrize("text", ["a = 1\na = 2\n", "mcp_servers = 3\n", "[x"])
def test_toml_that_is_not_understood_is_refused(text):
    with pytest.raises(ConfigError, match=r"^f: "):
        with_entry(text, "toml", ("mcp_servers",))
