"""Reading text editor calls out of a response."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.formats import check_case, corpus, edits_of, problem_of, steps

from regreen.edits.operations import CreateFile, InsertLines, ReplaceText
from regreen.edits.str_replace import STR_REPLACE

parse = STR_REPLACE.parse
CASES = corpus("str_replace")
REPLACE = {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"}
INSERT = {"command": "insert", "path": "a.py", "insert_line": 0, "insert_text": "x\n"}
CREATE = {"command": "create", "path": "a.py", "file_text": "x\n"}
X_TO_Y = ReplaceText("a.py", "x", "y")


def changed(call: dict[str, Any], *gone: str, **fields: Any) -> str:
    """A list of one call, which lacks fields or has others."""
    return json.dumps([{key: value for key, value in {**call, **fields}.items() if key not in gone}])


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_reference_cases_are_read_or_refused(case: dict[str, Any]) -> None:
    text = json.dumps(case["edits"])
    check_case(parse(text), case)
    check_case(parse(f"Here:\n```json\n{json.dumps(case['edits'], indent=2)}\n```\n"), case)
    assert STR_REPLACE.marks is not None
    assert STR_REPLACE.marks.search(text)


def test_each_command_becomes_its_operation_in_order() -> None:
    calls = [
        REPLACE,
        {**REPLACE, "replace_all": True},
        {**REPLACE, "replace_all": False, "new_str": ""},
        INSERT,
        {**INSERT, "insert_line": 12, "insert_text": ""},
        CREATE,
        {**CREATE, "file_text": "", "path": "my dir/\u00e4.py"},
    ]
    assert edits_of(parse(json.dumps(calls))) == [
        X_TO_Y,
        ReplaceText("a.py", "x", "y", everywhere=True),
        ReplaceText("a.py", "x", ""),
        InsertLines("a.py", 0, "x\n"),
        InsertLines("a.py", 12, ""),
        CreateFile("a.py", "x\n"),
        CreateFile("my dir/\u00e4.py", ""),
    ]


@pytest.mark.parametrize("text", ["\t\\1 $& \r\n\u2028\x00", "```\n", "\ud800", '"},{"', "a\\nb"])
def test_texts_are_taken_to_the_letter(text: str) -> None:
    calls = [{**REPLACE, "old_str": text, "new_str": text + "y"}]
    assert edits_of(parse(json.dumps(calls))) == [ReplaceText("a.py", text, text + "y")]
    assert edits_of(parse(f"```json\n{json.dumps(calls)}\n```")) == [ReplaceText("a.py", text, text + "y")]


ONE = json.dumps([REPLACE])


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (ONE, ""),
        (json.dumps(REPLACE), ""),
        (f"\n\n  {json.dumps([REPLACE], indent=4)}\n\n", ""),
        (f"```json\n{ONE}\n```", ""),
        (f"```\n{ONE}\n```", ""),
        (f"~~~~json\n{ONE}\n~~~~", ""),
        (f"  ```json\n  {ONE}\n  ```", ""),
        (f"I change x:\n\n```json\n{ONE}\n```\nDone.\n", "I change x: Done."),
        (f"[Note] see [1]:\n```json\n{ONE}\n```\n", "[Note] see [1]:"),
        (f"{{a}}:\n```json\n{ONE}\n```\n", "{a}:"),
        (f"```json\n{ONE}", ""),
        (f'The config:\n```json\n{{"a": [1]}}\n```\n```json\n{ONE}\n```', 'The config: ```json {"a": [1]} ```'),
        (f"```python\nx = []\n```\n```json\n{ONE}\n```", "```python x = [] ```"),
        (f"```json\n{ONE}\n```\n*** Begin Patch\n", "*** Begin Patch"),
    ],
)
def test_calls_are_the_whole_response_or_stand_in_a_fence(text: str, rest: str) -> None:
    for form in (text, text.replace("\n", "\r\n")):
        assert edits_of(parse(form)) == [X_TO_Y]
        assert parse(form).rest.split() == rest.split()
        assert parse(form).format == "str_replace"


def test_a_byte_order_mark_before_the_response_is_none_of_it() -> None:
    for text in (ONE, f"```json\n{ONE}\n```\n"):
        assert edits_of(parse("\ufeff" + text)) == [X_TO_Y]
    assert STR_REPLACE.marks is not None
    assert STR_REPLACE.marks.search("\ufeff" + ONE)
    assert edits_of(parse(changed(REPLACE, old_str="\ufeffx"))) == [ReplaceText("a.py", "\ufeffx", "y")]


def test_several_fences_are_read_in_order() -> None:
    text = f"```json\n{ONE}\n```\nand\n```json\n{json.dumps(CREATE)}\n```\n"
    assert edits_of(parse(text)) == [X_TO_Y, CreateFile("a.py", "x\n")]
    bad = text.replace("file_text", "text")
    assert "call 2: unknown field 'text'" in problem_of(parse(bad))
    assert parse(bad).problem_at == 1


@pytest.mark.parametrize(
    "call",
    [
        {"path": "a.py", "old_str": "x", "new_str": "y"},
        {"file_path": "a.py", "old_string": "x", "new_string": "y"},
        {"file_path": "a.py", "old_string": "x", "new_string": "y", "replace_all": False},
        {"command": "str_replace", "path": "a.py", "old_string": "x", "new_str": "y"},
        {**REPLACE, "insert_line": None, "view_range": None, "file_text": None, "replace_all": None},
        {**REPLACE, "command": None},
    ],
)
def test_other_ways_to_say_a_replacement(call: dict[str, Any]) -> None:
    assert edits_of(parse(json.dumps([call]))) == [X_TO_Y]


def test_an_insert_may_call_its_text_new_str() -> None:
    assert edits_of(parse(changed(INSERT, "insert_text", new_str="z"))) == [InsertLines("a.py", 0, "z")]


REFUSED: dict[str, tuple[str, str]] = {
    "no new_str": (changed(REPLACE, "new_str"), "call 1 (str_replace): `new_str` is missing"),
    "null new_str": (changed(REPLACE, new_str=None), "`new_str` is missing"),
    "no old_str": (changed(REPLACE, "old_str"), "`old_str` is missing"),
    "no path": (changed(REPLACE, "path"), "`path` is missing"),
    "no command": (changed(CREATE, "command"), "`command` is missing"),
    "no command, half": (changed(REPLACE, "command", "new_str"), "`command` is missing"),
    "no insert_line": (changed(INSERT, "insert_line"), "`insert_line` is missing"),
    "no insert_text": (changed(INSERT, "insert_text"), "`insert_text` is missing"),
    "no file_text": (changed(CREATE, "file_text"), "`file_text` is missing"),
    "empty call": ("[{}]", "`command` is missing"),
    "empty object": ("{}", "`command` is missing"),
    "empty path": (changed(CREATE, path=""), "`path` is empty"),
    "unknown field": (changed(REPLACE, count=1), "unknown field 'count'"),
    "unknown null field": (changed(REPLACE, count=None), "unknown field 'count'"),
    "field of another command": (changed(REPLACE, insert_line=3), "`insert_line` does not belong to it"),
    "field of view": (changed(CREATE, view_range=[1, 2]), "`view_range` does not belong to it"),
    "two texts to insert": (changed(INSERT, new_str="z"), "`new_str` does not belong to it"),
    "unknown command": (changed(REPLACE, command="replace"), "unknown command the text 'replace'"),
    "command in capitals": (changed(CREATE, command="Create"), "unknown command"),
    "no text for a command": (changed(CREATE, command=7), "unknown command the number 7"),
    "number for a text": (changed(REPLACE, old_str=1), "`old_str` is the number 1; wanted a text"),
    "list for a text": (changed(CREATE, file_text=["x"]), "`file_text` is a list; wanted a text"),
    "object for a text": (changed(CREATE, file_text={"x": 1}), "`file_text` is an object; wanted a text"),
    "true for a text": (changed(REPLACE, new_str=True), "`new_str` is true; wanted a text"),
    "number for a path": (changed(CREATE, path=1.5), "`path` is the number 1.5"),
    "text for a number": (changed(INSERT, insert_line="3"), "`insert_line` is the text '3'; wanted a whole number"),
    "bool for a number": (changed(INSERT, insert_line=True), "`insert_line` is true; wanted a whole number"),
    "fraction for a number": (changed(INSERT, insert_line=1.0), "`insert_line` is the number 1.0; wanted a whole"),
    "negative number": (changed(INSERT, insert_line=-1), "`insert_line` is the number -1; wanted 0"),
    "number for a bool": (changed(REPLACE, replace_all=1), "`replace_all` is the number 1; wanted true or false"),
    "text for a bool": (changed(REPLACE, replace_all="true"), "`replace_all` is the text 'true'"),
    "key twice": ('[{"command": "create", "path": "a", "path": "b", "file_text": ""}]', "`path` is given twice"),
    "key twice, once null": ('[{"path": null, "path": "b"}]', "`path` is given twice"),
    "key and its other name": (changed(REPLACE, old_string="x"), "`old_str` is given twice"),
    "NaN": ('[{"command": "insert", "path": "a", "insert_line": NaN, "insert_text": ""}]', "NaN, which JSON does not"),
    "Infinity for a text": ('[{"command": "create", "path": "a", "file_text": -Infinity}]', "-Infinity, which JSON"),
    "text in the list": ('[{"a', "does not end"),
    "number among calls": (f"[{json.dumps(REPLACE)}, 7]", "call 2 is the number 7; wanted an object"),
    "list among calls": (f"[{json.dumps(REPLACE)}, [{json.dumps(REPLACE)}]]", "call 2 is a list; wanted an object"),
    "null among calls": (f"[{json.dumps(REPLACE)}, null]", "call 2 is null; wanted an object"),
    "cut in a text": (ONE[:-8], "may have been cut off"),
    "cut between fields": (ONE[:40], "may have been cut off"),
    "cut behind a call": (ONE[:-1], "may have been cut off"),
    "cut behind a comma": (ONE[:-1] + ", ", "may have been cut off"),
    "cut in a fence": (f"Here:\n```json\n{ONE[:-8]}", "may have been cut off"),
    "cut at the next fence": (
        f"```json\n{ONE}\n```\nand\n```json\n",
        "line 5 of the response, behind the calls",
    ),
    "cut in the next fence": (f"```json\n{ONE}\n```\n\n```json\n[\n", "may have been cut off"),
    "cut in other code": (f"```json\n{ONE}\n```\nRun:\n~~~sh\nmake te", "behind the calls, does not end"),
    "end of a fence twice": (f"```json\n{ONE}\n```\n```\n", "behind the calls, does not end"),
    "cut in a closed fence": (f"```json\n{ONE[:-8]}\n```", "Unterminated string starting at line 2"),
    "only the beginning": ("[", "does not end"),
    "line end in a text": (
        ONE.replace('"x"', '"x\n"'),
        "Invalid control character at line 1, column 58 of the response",
    ),
    "line end in a fenced text": (f"a\n```json\n{ONE.replace('x', 'x' + chr(10))}\n```", "Invalid control character"),
    "single quotes": ("[{'command': 'create'}]", "not valid JSON"),
    "single quotes beside a fence": (f"```json\n{ONE}\n```\n```\n[{{'old_str': ''}}]\n```\n", "not valid JSON"),
    "bare keys beside a fence": (f"```json\n{ONE}\n```\n```js\n{{old_str: 'x'}}\n```\n", "calls stand outside"),
    "comma too many": (ONE[:-1] + ",]", "not valid JSON"),
    "comment": ("[{ // why\n" + ONE[2:], "not valid JSON"),
    "lists one after another": (f"{ONE}\n{ONE}", "more text follows the JSON value at line 2"),
    "prose behind an unfenced list": (f"{ONE}\nDone.", "more text follows the JSON value at line 2"),
    "unfenced behind prose": (f"Here:\n{ONE}", "calls stand outside"),
    "unfenced beside a fence": (f"```json\n{ONE}\n```\n{ONE}\n", "calls stand outside"),
    "calls in other code": (f"```json\n{ONE}\n```\n```python\ncalls = {ONE}\n```\n", "calls stand outside"),
    "JSON that is no call": ('```json\n{"a": 1}\n```', "unknown field 'a'"),
    "wrapped": (json.dumps({"edits": [REPLACE]}), "unknown field 'edits'"),
    "nested deeply": ('[{"a":' * 100_000, "nested too deeply"),
    "a long number": (changed(INSERT, insert_line=0).replace("0", "9" * 5_000), "a number that is too long"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_a_complete_call_is_a_parse_error(name: str) -> None:
    text, said = REFUSED[name]
    found = problem_of(parse(text))
    assert found.startswith("parse: ")
    assert said in found
    assert len(found) < 1_200


@pytest.mark.parametrize("command", ["view", "undo_edit"])
def test_commands_that_edit_nothing_are_unsupported(command: str) -> None:
    found = parse(json.dumps([REPLACE, {"command": command, "path": "a.py", "view_range": [1, 5]}]))
    assert problem_of(found).startswith(f"unsupported: call 2: `{command}` is no edit")
    assert found.problem_at == 1


@pytest.mark.parametrize("text", ["[]", "```json\n[]\n```", "", "Nothing to do.", "```python\nx = [1]\n```"])
def test_a_response_without_calls_is_no_edits(text: str) -> None:
    assert problem_of(parse(text)).startswith("no_edits: ")


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        (ONE, True),
        (f"\n {json.dumps([CREATE], indent=2)}", True),
        (json.dumps(INSERT), True),
        (f"```json\n{ONE}", True),
        (f"```json\r\n{ONE}", True),
        (f"~~~\n{ONE}", True),
        (f"I change it.\n\n```json\n{ONE}\n```\n", True),
        ('[{"path": "a.py", "insert_line": 3, "command": "insert"', True),
        ('[{"file_path": "a.py", "old_string": "x"', True),
        ('{"command": "view", "path": "a.py"}', True),
        ('{"command": "npx", "args": ["-y"]}', False),
        ('```json\n{"command": "npm test", "path": "x"}\n```', False),
        ('[{"name": "str_replace"}]', False),
        ('Set "command": "create" there.', False),
        ('x = [{"command": "create"}]', False),
        ('```python\n[{"command": "create"}]\n```', False),
        ("[]", False),
        ("{}", False),
        ("[note] x", False),
        ("", False),
    ],
)
def test_the_format_is_told_by_how_the_calls_begin(text: str, marked: bool) -> None:
    assert STR_REPLACE.marks is not None
    assert bool(STR_REPLACE.marks.search(text)) is marked


def test_the_prompts_own_example_parses() -> None:
    parsed = parse(STR_REPLACE.prompt)
    assert [type(edit) for edit in edits_of(parsed)] == [ReplaceText, InsertLines, CreateFile]
    assert "all or none" in parsed.rest.lower()


PIECES = st.sampled_from(
    [
        "[", "]", "{", "}", ",", ":", '"', '"command"', '"path"', '"a.py"', '"str_replace"', '"insert"', '"old_str"',
        '"new_str"', '"insert_line"', '"view"', "null", "true", "NaN", "-1", "1e999", "\\u", "\\ud800", "\n", "```",
        "\n```json\n", "\n```\n", ONE, json.dumps(CREATE), "\x00", "\r", " ",
    ]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
KEYS = st.sampled_from(
    ["command", "path", "old_str", "new_str", "insert_line", "insert_text", "file_text", "replace_all", "x"]
)
FIELDS = st.dictionaries(KEYS, st.one_of(st.sampled_from(["str_replace", "insert", "create", "view"]), VALUES))


@settings(max_examples=400, deadline=None, database=None)
@given(
    st.one_of(
        st.text(),
        st.lists(PIECES, max_size=20).map("".join),
        st.lists(FIELDS, max_size=3).map(json.dumps),
        st.integers(0, len(ONE)).map(lambda at: ONE[:at]),
    )
)
@example("[" * 200_000)
@example('[{"a":' * 100_000)
def test_no_text_makes_the_parser_raise_or_fall_silent(text: str) -> None:
    parsed = parse(text)
    assert parsed.edits or parsed.problem
    assert parsed.problem_at == len(parsed.edits)
    assert all(edit.path for edit in parsed.edits)


@settings(max_examples=100, deadline=None, database=None)
@given(st.text(), st.text(), st.booleans())
def test_any_texts_survive_a_call(old: str, new: str, everywhere: bool) -> None:
    call = {**REPLACE, "old_str": old, "new_str": new, "replace_all": everywhere}
    text = f"So:\n```json\n{json.dumps([call], indent=1)}\n```\n"
    assert edits_of(parse(text)) == [ReplaceText("a.py", old, new, everywhere)]


@settings(max_examples=60, deadline=None, database=None)
@given(st.integers(0, len(ONE) - 1))
def test_no_beginning_of_a_list_is_read_as_edits(at: int) -> None:
    parsed = parse(ONE[:at])
    assert not parsed.edits
    assert parsed.problem is not None


HARD: dict[str, Callable[[int], str]] = {
    "calls": lambda n: json.dumps([REPLACE] * n),
    "fences": lambda n: f"```json\n{ONE}\n```\n" * n,
    "open fences": lambda n: "```\n{\n" * n,
    "fields": lambda n: json.dumps([{f"f{k}": 1 for k in range(n)}]),
    "lines of prose": lambda n: "x {\n" * n + "```json\n" + ONE,
}


@pytest.mark.parametrize("shape", HARD)
def test_work_grows_with_the_size_of_the_response(shape: str) -> None:
    small, large = (HARD[shape](n) for n in (500, 4_000))
    assert steps(lambda: parse(large)) < 8 * 1.5 * steps(lambda: parse(small)) + 1_000


@pytest.mark.parametrize(
    "text",
    [
        " " * 2_000_000,
        "\n" * 2_000_000,
        "[" + " " * 2_000_000,
        "```json\n" * 250_000,
        "```json\n[" + " " * 2_000_000 + "```json\n",
        "`" * 2_000_000,
        '[{"path": "' * 200_000,
        "{ " * 1_000_000,
        '{"old_str"' + " " * 2_000_000,
        ", " * 1_000_000,
    ],
    ids=["blanks", "lines", "open", "fences", "gap", "ticks", "paths", "braces", "key", "commas"],
)
def test_patterns_stay_linear_on_large_texts(text: str) -> None:
    # A pattern that goes back over such a text takes minutes, not the second or so that this takes.
    assert STR_REPLACE.marks is not None
    assert STR_REPLACE.marks.search(text) is None
    assert parse(text).problem is not None
