"""References to a name: what each occurrence is, in which definition, and what bounds the work."""

from __future__ import annotations

import importlib
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regreen.errors import UsageError
from regreen.model import Reference, Symbol
from regreen.repo.searching.occurrences import classify, words
from regreen.repo.searching.references import last_identifier, references
from regreen.repo.symbols.parsing import parse_within
from regreen.workspace import Workspace

# Each `foo` is followed by what it is: a definition, call, use, import, text in a string, or note in a comment.
_KINDS = {"C": "call", "U": "use", "I": "import", "S": "string", "N": "comment"}
_MARK = re.compile("(?<=foo)‹([A-Z])›")
_LANGUAGES = {
    "tree_sitter_python.language": r"""
from lib import foo‹I›
import foo‹I› as f
# foo‹N›
'''foo‹S›'''
def foo‹D›(a, foo‹U›=1): pass
class A(foo‹U›): pass
@foo‹C›(1)
def g(x: foo‹U›) -> foo‹U›: return foo‹C›(x)
a.foo‹C›(foo‹U›)
foo‹U›.b(1)
a.foo‹U› = 3
bar(foo‹U›=foo‹U›)
f"{foo‹U›} x {foo‹C›()}"
x = "foo‹S›"
bar(x + foo‹U›)
x = [foo‹U› for foo‹U› in foo‹C›()]
foobar(1)
""",
    "tree_sitter_javascript.language": r"""
import foo‹I›, {foo‹I›} from "./foo‹I›";
const foo‹D› = require("foo‹S›");
function foo‹D›(a) { return foo‹C›(a) }
// foo‹N›
/* foo‹N› */
new foo‹C›(1); new a.foo‹C›; a?.foo‹C›();
`t foo‹S› ${foo‹U›} ${foo‹C›()}`;
foo‹C›`x`;
x = {foo‹U›: 1, foo‹U›};
a.foo‹U›.b(); /foo‹S›/.test(foo‹U›);
class A extends foo‹U› { foo‹D›() {} }
const y = <Foo a={foo‹U›}>foo‹S›</Foo>;
""",
    "tree_sitter_typescript.language_typescript": r"""
import type { foo‹I› } from "foo‹I›";
interface X { (a: number): foo‹U›; m(): foo‹U› }
function g<T extends foo‹U›>(a: foo‹U›): foo‹U› { return foo‹C›<T>(a) }
let a = b as foo‹U›;
abstract class Y { foo‹D›(): void {} }
""",
    "tree_sitter_typescript.language_tsx": r"""
import { foo‹I› } from "x";
const y = <foo‹U›.Bar a={foo‹C›()}>foo‹S›</foo‹U›.Bar>;
""",
    "tree_sitter_go.language": r"""
package main
import "x/foo‹I›"
// foo‹N›
func (r *T) foo‹D›(a int) foo‹U› { return a.foo‹C›(foo‹U›) }
func foo‹D›() { x := foo‹U›{a: 1}; y := []foo‹U›{}; go foo‹C›(); b := "foo‹S›"; c := `foo‹S›`; z := foo‹C›[int](1) }
type foo‹D› struct { a foo‹U› }
""",
    "tree_sitter_rust.language": r"""
use a::foo‹I›;
use b::{foo‹I›, c};
/// foo‹N›
fn foo‹D›(a: foo‹U›) -> foo‹U› { foo‹C›(a); x.foo‹C›(1); a::foo‹C›::<T>(2);
  foo‹C›!(foo‹U›); let s = "foo‹S›"; foo‹U› { a: 1 } }
struct foo‹D› { foo‹D›: i32 }
impl foo‹U› for Y {}
""",
    "tree_sitter_java.language": r"""
import a.b.foo‹I›;
// foo‹N›
class foo‹D› extends foo‹U› { foo‹U› f; foo‹D›(int a) { super(); }
 foo‹U› m(foo‹U› x) { foo‹C›(1); x.foo‹C›(2); foo‹U›.m(); return new foo‹C›(foo‹U›, "foo‹S›"); } }
""",
    "tree_sitter_c.language": r"""
#include "foo‹I›"
#define foo‹D›(x) foo‹U› + x
/* foo‹N› */
int foo‹D›(int a) { foo‹C›(a); s.foo‹U› = 1; p->foo‹C›(2); char *s = "foo‹S›"; return foo‹U›; }
struct foo‹D› { int a; };
struct foo‹U› *x;
""",
    "tree_sitter_cpp.language": r"""
#include <foo‹I›>
using a::foo‹I›;
class foo‹D› : public foo‹U› {};
int foo‹D›(int a) { a::foo‹C›(1); foo‹C›<int>(2); new foo‹C›(3); x.foo‹C›(); auto s = R"(foo‹S›)"; foo‹U› y; }
""",
    "tree_sitter_c_sharp.language": r"""
using A.foo‹I›;
class foo‹D› : foo‹U› { foo‹U› p; void foo‹D›() { foo‹C›(1); x.foo‹C›(2);
  x?.foo‹C›(); new foo‹C›(); using (foo‹C›()) {} ;
  var s = $"foo‹S› {foo‹U›}"; var t = "foo‹S›"; x.foo‹C›<int>(1); } }
""",
    "tree_sitter_ruby.language": r"""
require "foo‹S›"
# foo‹N›
def foo‹D›(a)
  a.foo‹C›(1)
  foo‹C› 1, foo‹U›
  x = foo‹U›
  "foo‹S› #{foo‹U›}"
  send(:foo‹U›)
  @foo‹U› = 1
  {foo‹U›: 1}
  a.foo‹C›
end
class C < foo‹U›; end
""",
    "tree_sitter_php.language_php": r"""
<?php
use A\foo‹I›;
// foo‹N›
function foo‹D›($foo‹U›) { foo‹C›($foo‹U›); $x->foo‹C›(1); A::foo‹C›(2); new foo‹C›();
  "foo‹S› $foo‹U›"; 'foo‹S›'; $x->foo‹U›; $f = function() use ($foo‹U›) {}; }
class foo‹D› extends foo‹U› { use foo‹I›; public foo‹U› $a; }
""",
    "tree_sitter_kotlin.language": r"""
import a.foo‹I›
// foo‹N›
fun foo‹D›(a: foo‹U›): foo‹U› { foo‹C›(a); x.foo‹C›(1); foo‹C› { foo‹U› }; val s = "foo‹S› ${foo‹U›}"; return foo‹U› }
class B : foo‹C›(1)
""",
    "tree_sitter_swift.language": r"""
import foo‹I›
// foo‹N›
func foo‹D›(a: foo‹U›) -> foo‹U› { foo‹C›(a); x.foo‹C›(1); foo‹C› { foo‹U› }
  let s = "foo‹S› \(foo‹U›)"; return foo‹U› }
class foo‹D›: foo‹U› {}
""",
    "tree_sitter_scala.language": r"""
import a.foo‹I›
// foo‹N›
object O { def foo‹D›(a: foo‹U›): foo‹U› = { foo‹C›(a); x.foo‹C›(1); new foo‹C›(2)
  s"foo‹S› ${foo‹U›} $foo‹U›"; "foo‹S›"; a foo‹U› b } }
class foo‹D› extends foo‹U›
""",
    "tree_sitter_bash.language": r"""
# foo‹N›
foo‹D›() { foo‹C› a; echo foo‹U› "$foo‹U›" "foo‹S›" ${foo‹U›}; x=$(foo‹C› 1); }
source foo‹U›
foo‹C›
foo‹U›=1
""",
}


@pytest.mark.parametrize("grammar", _LANGUAGES)
def test_occurrences_are_told_apart_in_every_language(grammar: str) -> None:
    import tree_sitter

    module, _, factory = grammar.partition(".")
    language = tree_sitter.Language(getattr(importlib.import_module(module), factory)())
    marked = _LANGUAGES[grammar]
    kinds = _MARK.findall(marked)
    source = _MARK.sub("", marked).encode()
    offsets = list(words(source, b"foo"))
    tree = parse_within(source, language, lambda: False)
    assert tree is not None
    assert len(offsets) == len(kinds)
    found = list(classify(tree, source, offsets, 3))
    assert [o.offset for o in found] == offsets
    for occurrence, kind in zip(found, kinds, strict=True):
        line = source[source.rfind(b"\n", 0, occurrence.offset) + 1 : occurrence.offset]
        if kind == "D":  # one that stands as a name does, or is known to be one
            assert occurrence.kind == "definition" or (occurrence.kind == "use" and occurrence.names), line
        else:
            assert occurrence.kind == _KINDS[kind], line


def look(root: Path, name: str, paths: list[str], **options: Any) -> tuple[tuple[Reference, ...], int, tuple[str, ...]]:
    with Workspace(root) as workspace:
        return references(workspace, paths, name, **options)


def put(root: Path, files: dict[str, str | bytes]) -> list[str]:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data if isinstance(data, bytes) else data.encode())
    return list(files)


_STORE = """\
from lib import load

class Store:
    # load is documented here
    kept = load()

    def load(self, load=None):
        \"\"\"Uses load.\"\"\"
        é = self.load(load)
        return é

@load
def other(): return 'load'
"""


def test_each_occurrence_has_its_kind_and_the_definition_around_it(tmp_path: Path) -> None:
    found, total, notes = look(tmp_path, "load", put(tmp_path, {"a.py": _STORE}))
    assert [(r.line, r.column, r.kind, r.symbol) for r in found] == [
        (1, 17, "import", ""),
        (5, 12, "call", "Store.kept"),
        (7, 9, "definition", "Store"),
        (7, 20, "use", "Store.load"),
        (9, 18, "call", "Store.load"),
        (9, 23, "use", "Store.load"),
        (12, 2, "use", ""),
    ]
    assert found[4].signature == "é = self.load(load)"
    assert total == 7
    assert notes == ("3 more in comments and strings",)


def test_comments_and_strings_are_listed_on_request(tmp_path: Path) -> None:
    found, total, notes = look(tmp_path, "load", put(tmp_path, {"a.py": _STORE}), texts=True)
    assert [(r.line, r.kind) for r in found if r.kind in ("comment", "string")] == [
        (4, "comment"), (8, "string"), (13, "string"),
    ]  # fmt: skip
    assert (total, notes) == (10, ())


def test_parts_of_other_identifiers_are_no_references(tmp_path: Path) -> None:
    text = "loader = preload = load_all = _load = loadé = 1\nload.x\nx.load\n"
    found, _, _ = look(tmp_path, "load", put(tmp_path, {"a.py": text}))
    assert [(r.line, r.column) for r in found] == [(2, 1), (3, 3)]


@pytest.mark.parametrize("name", ["QuerySet.filter", "query::filter", "QuerySet#filter", "a->filter", "filter"])
def test_a_qualified_name_is_looked_for_by_its_last_part_and_that_is_said(tmp_path: Path, name: str) -> None:
    found, _, notes = look(tmp_path, name, put(tmp_path, {"a.py": "q.filter()\n"}), definitions=3)
    assert [r.kind for r in found] == ["call"]
    assert notes == ("references are by name: 3 definitions share `filter`, and which one is meant is not told apart",)


def test_what_is_no_name_is_an_error() -> None:
    assert last_identifier("größe") == "größe"
    for name in ("", "+", "1.5", "::"):
        with pytest.raises(UsageError) as e:
            last_identifier(name)
        assert e.value.kind == "invalid_arguments"


def test_tests_come_last_and_prose_after_code(tmp_path: Path) -> None:
    names = ["vendor/x.py", "tests/a.py", "z.py", "b/test_y.py", "README.md", "b/c.py"]
    found, _, notes = look(tmp_path, "load", put(tmp_path, dict.fromkeys(names, "load(1)\n")))
    assert [r.path for r in found] == ["b/c.py", "z.py", "README.md", "b/test_y.py", "tests/a.py", "vendor/x.py"]
    assert [r.kind for r in found] == ["call", "call", "use", "call", "call", "call"]
    assert notes == ("files without a grammar, where every occurrence is a use: 1",)


def test_in_prose_every_occurrence_is_a_use_below_its_heading(tmp_path: Path) -> None:
    found, _, _ = look(tmp_path, "load", put(tmp_path, {"a.md": "# Top\n\nload this\n\n## Sub\n\ncall load()\n"}))
    assert [(r.line, r.kind, r.symbol.rpartition(".")[2]) for r in found] == [(3, "use", "Top"), (7, "use", "Sub")]


def test_past_the_limit_occurrences_are_counted_only(tmp_path: Path) -> None:
    paths = put(tmp_path, {f"{name}.py": "load()\nload()  # load\n" for name in "abc"})
    found, total, notes = look(tmp_path, "load", paths, limit=3)
    assert [(r.path, r.line) for r in found] == [("a.py", 1), ("a.py", 2), ("b.py", 1)]
    assert total == 2 + 2 + 3
    assert notes == (
        "2 more in comments and strings",
        "past the limit occurrences are only counted, those in comments and strings too (files: 1)",
    )
    with pytest.raises(UsageError):
        look(tmp_path, "load", paths, limit=0)


def test_the_definitions_of_a_file_may_be_given(tmp_path: Path) -> None:
    paths = put(tmp_path, {"a.py": "x = 1\nload = load(1)\n"})
    known = [Symbol("function", "load", "M.load", "", 2, 2, "M")]
    found, _, _ = look(tmp_path, "load", paths, symbols_of=lambda path: known)
    assert [(r.column, r.kind, r.symbol) for r in found] == [(1, "definition", "M"), (8, "call", "M.load")]


def test_files_that_are_not_there_or_no_text_are_counted(tmp_path: Path) -> None:
    paths = put(tmp_path, {"a.py": "load()", "b.py": b"load\0", "big.py": b"load()\n" * 200_000, ".env": "load=1"})
    found, _, notes = look(tmp_path, "load", [*paths, "gone.py"])
    assert [r.path for r in found] == ["a.py"]
    assert notes == ("not read: 1 binary, 1 known to hold secrets, 1 no longer there, 1 too large",)


def test_other_encodings_and_line_ends_keep_lines_and_columns(tmp_path: Path) -> None:
    paths = put(
        tmp_path,
        {
            "a.py": "# -*- coding: latin-1 -*-\r\né = load()\r\n".encode("latin-1"),
            "b.py": b"x = 1\n\xff\xe9 = load()\n",
            "c.py": b"\xef\xbb\xbfload()\n",
        },
    )
    found, _, _ = look(tmp_path, "load", paths)
    assert [(r.path, r.line, r.column) for r in found] == [("a.py", 2, 5), ("b.py", 2, 6), ("c.py", 1, 1)]
    assert [r.signature for r in found] == ["é = load()", "\ufffd\ufffd = load()", "load()"]


def test_broken_code_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    source = "def a():\n    return (load\n\nclass B:\n    def c(self):\n        return self.load(1)\n"
    found, total, _ = look(tmp_path, "load", put(tmp_path, {"a.py": source}))
    assert [r.line for r in found] == [2, 6]
    assert total == 2


def test_the_time_is_kept_and_said(tmp_path: Path) -> None:
    noise = bytes((n * 7919 >> 4) % 251 + 1 for n in range(600_000))
    paths = put(tmp_path, {"a.py": noise + b"\nload\n", "b.py": "load()\n"})
    begun = time.process_time()
    found, _, notes = look(tmp_path, "load", paths, budget_s=0.1)
    assert time.process_time() - begun < 15
    assert found == ()
    assert notes == ("stopped after 0.1 s or on request: 0 of 2 files that have the name were read",)


@pytest.mark.parametrize("source", ["(" * 50_000 + "load", "[load," * 20_000, "x." * 50_000 + "load"])
def test_deep_and_wide_code_ends_in_time(tmp_path: Path, source: str) -> None:
    begun = time.process_time()
    look(tmp_path, "load", put(tmp_path, {"a.py": source}), symbols_of=lambda path: (), budget_s=1.0)
    assert time.process_time() - begun < 15


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(st.sampled_from([b"load", b"(", b")", b"\n", b" ", b"def ", b'"', b"#", b"\xff", b"."])).map(b"".join)
)
def test_no_source_breaks_it_and_no_word_is_lost(tmp_path: Path, data: bytes) -> None:
    found, total, notes = look(tmp_path, "load", put(tmp_path, {"a.py": data}), texts=True, limit=1000)
    assert total == len(found) == len(list(words(data, b"load")))
    assert notes == ()
