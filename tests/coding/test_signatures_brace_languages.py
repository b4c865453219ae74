"""Definitions in JavaScript, TypeScript, Java, Kotlin, Scala and single-file components: traps, and half-typed code."""

from __future__ import annotations

import pytest

from regreen.repo.languages import language_of
from regreen.repo.mending import brace_masks
from regreen.repo.mending.closing import attempts
from regreen.repo.symbols.extract import extract
from regreen.repo.symbols.extraction import Extraction


def of(name: str, source: str, *, docstrings: bool = False) -> Extraction:
    language = language_of(name, source.encode())
    assert language is not None
    return extract(source.encode(), language, docstrings=docstrings)


def outline(name: str, source: str) -> list[str]:
    return [f"{s.kind} {s.qualified_name}" for s in of(name, source).symbols]


def signature_lines(name: str, source: str) -> list[str]:
    return [s.signature for s in of(name, source).symbols]


# --- JavaScript and TypeScript --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("module.exports = function createApp(a) {};", ["function createApp"]),
        ("module.exports = function (a) {};", ["function exports"]),
        ("module.exports = class A { m() {} };", ["class A", "method A.m"]),
        ("module.exports = { a() {}, b: () => 1, c };", ["method a", "function b"]),
        ("exports.a = 1; exports.b = () => 2;", ["variable a", "function b"]),
        ("A.b = function c() {}; A.prototype.d = function () {};", ["function b", "method d"]),
        ("A.prototype = { b() {}, c: function () {} };", ["method b", "function c"]),
        ("export default function () {}", ["function default"]),
        ("export default class extends B { m() {} }", ["class default", "method default.m"]),
        ("export default async () => {};", ["function default"]),
        (
            "export default { data() {}, methods: { go() {}, on: () => 1 } };",
            ["method data", "method go", "function on"],
        ),
        ("export default defineComponent({ setup() {}, methods: { go() {} } });", ["method setup", "method go"]),
        ("const a = { b: { c() {}, d: () => 1 } };", ["constant a", "method a.b.c", "function a.b.d"]),
        ("const { a, b: c, d = 1 } = e; const [f] = g;", [f"constant {name}" for name in "adcf"]),
    ],
)
def test_what_modules_give_away_is_found(source: str, expected: list[str]) -> None:
    assert sorted(outline("x.js", source)) == sorted(expected)


def test_variables_of_functions_without_a_name_are_local() -> None:
    source = (
        "(function () { var a = 1; function b() { let c; } })();\nit('x', () => { const d = 1; const e = () => 1; });\n"
    )
    assert outline("x.js", source) == ["function b", "function e"]
    assert outline("x.js", "if (a) { var b = 1; let c = 2; function d() {} }") == ["variable b", "function d"]


def test_a_private_name_is_no_comment() -> None:
    source = "class A { #a = 1; @b #c = 2; @d() static #e() {} }"
    found = of("x.js", source).symbols
    assert [(s.signature, s.decorators) for s in found[1:]] == [
        ("#a = 1", ()),
        ("#c = 2", ("@b",)),
        ("static #e()", ("@d()",)),
    ]


def test_declarations_with_several_names() -> None:
    source = "export const a = 1, f = (x) => x;\nvar g = function () {}, h;\n"
    assert outline("x.js", source) == ["constant a", "function f", "function g", "variable h"]
    assert signature_lines("x.js", source) == ["a = 1", "f = (x)", "g = function ()", "h"]


def test_comments_behind_declarations_without_a_semicolon_change_nothing() -> None:
    source = "const a = () => 1 // b\nlet /* c */ d // e\nconst f = { // g\n  h() {}, // i\n} /* j */\n"
    assert signature_lines("x.js", source) == ["const a = ()", "let d", "const f", "h()"]


def test_javascript_with_flow_types_is_read_as_tsx() -> None:
    source = "/**\n * @flow strict-local\n */\nfunction f(a: ?string, b?: number): void {}\n"
    assert signature_lines("x.js", source) == ["function f(a: ?string, b?: number): void"]
    assert of("x.js", source).errors == ()
    language = language_of("x.js", b"function f() {} // @flowing")
    assert language is not None
    assert language.name == "javascript"


def test_decorators_of_parameters_stay_in_the_signature() -> None:
    source = "export @a class B { @c() constructor(@d({ e: ')' }) private f: G) {} }"
    assert [(s.signature, s.decorators) for s in of("x.ts", source).symbols] == [
        ("export class B", ("@a",)),
        ("constructor(@d({ e: ')' }) private f: G)", ("@c()",)),
    ]


def test_overloads_and_ambient_declarations_are_all_found() -> None:
    source = """\
declare const a: number, b: string;
declare let c: { d: number };
export declare function f(x: string): void;
declare module "m" { export function g(): void; var h: number; }
declare global { interface I { j: string } }
declare abstract class K { abstract l(): void; l(x: number): void; abstract get m(): string; }
"""
    assert outline("x.d.ts", source) == [
        "constant a", "constant b", "variable c", "function f", "namespace m", "function m.g", "variable m.h",
        "namespace global", "interface global.I", "field global.I.j", "class K", "method K.l", "method K.l",
        "method K.m",
    ]  # fmt: skip


def test_long_object_types_are_folded() -> None:
    members = "; ".join(f"member{n}: string" for n in range(30))
    assert signature_lines("x.ts", f"export type A<T> = {{ {members} }};") == ["export type A<T> = {…}"]
    assert signature_lines("x.ts", "type B = { c: string };") == ["type B = { c: string }"]


def test_only_the_scripts_of_a_component_are_read() -> None:
    script = "<script>\r\nfunction f() {}\r\n</script>\r\n"
    source = f"<template>it's {{{{ a }}}}</template>\r\n{script}<!-- <script>var b</script> -->\r\n"
    assert [(s.line, s.name) for s in of("x.vue", source).symbols] == [(3, "f")]
    masked = brace_masks.component(source.encode())
    assert len(masked) == len(source)
    assert masked.split() == b"function f() {}".split()
    assert of("x.svelte", "<p>no script {</p>").symbols == ()


def test_types_of_other_modules_are_no_errors() -> None:
    source = 'export type * from "a";\ndeclare function f(x: import("b").C<D>): import(\'e\').F<G, H>;\n'
    found = of("x.ts", source)
    assert found.errors == ()
    assert [s.signature for s in found.symbols] == ["declare function f(x: import(\"b\").C<D>): import('e').F<G, H>"]
    assert len(brace_masks.typescript(source.encode())) == len(source)


# --- Java, Kotlin, Scala --------------------------------------------------------------------------


def test_objects_of_java_classes_without_a_name_hold_their_methods() -> None:
    source = "class A { B b = new B() { @C void d() {} }; void e() { f(new G() { void h() {} }); } }"
    found = of("A.java", source).symbols
    assert [s.qualified_name for s in found] == ["A", "A.b", "A.b.d", "A.e", "A.e.h"]
    assert [s.decorators for s in found] == [(), (), ("@C",), (), ()]
    assert found[1].signature == "B b = new B()"


def test_enum_constants_are_not_reported_but_name_what_they_hold() -> None:
    assert outline("A.java", "enum A { B { void c() {} }, D; int e; void c() {} }") == [
        "enum A", "method A.B.c", "field A.e", "method A.c",
    ]  # fmt: skip
    assert outline("A.kt", "enum class A { B { fun c() { } }, D; val e = 1 }") == [
        "enum A", "method A.B.c", "field A.e",
    ]  # fmt: skip
    assert outline("A.scala", "enum A:\n  case B, C\n  def d = 1\n") == ["enum A", "method A.d"]


def test_kotlin_bodies_may_end_on_the_line_of_their_last_declaration() -> None:
    source = """\
class A { val b = "c }"; fun d() = 1 }
object E { companion object { fun f() { } } }
interface G { fun h(): Int }
"""
    found = of("x.kts", source)
    assert found.errors == ()
    assert [(s.line, s.signature) for s in found.symbols] == [
        (1, "class A"), (1, 'val b = "c }"'), (1, "fun d()"), (2, "object E"), (2, "companion object"), (2, "fun f()"),
        (3, "interface G"), (3, "fun h(): Int"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ['"a }"', '"""b }\n }"""', "'}' // c }", "/* d } */", "`e }`"])
def test_strings_and_comments_of_kotlin_are_not_touched(text: str) -> None:
    assert brace_masks.kotlin(text.encode()) == text.encode()


def test_lines_of_errors_in_kotlin_are_those_of_the_source() -> None:
    assert of("x.kt", "class A { val a = 1 }\nclass B { fun b() { } }\nval c = = 1\n").errors == (
        "line 3: could not be parsed",
    )


def test_kotlin_properties_end_before_their_accessors() -> None:
    source = "val a: Int get() = 1\nvar b = 2\n    private set\nval c by lazy { 3 }\n"
    assert signature_lines("x.kt", source) == ["val a: Int", "var b = 2", "val c by lazy { 3 }"]


def test_scala_extensions_belong_to_their_type() -> None:
    source = "extension (s: String)\n  def a: Int = 1\n  def b: Int = 2\nextension [T](xs: List[T]) def c = 3\n"
    assert outline("x.scala", source) == ["method String.a", "method String.b", "method List.c"]


def test_blocks_by_indentation_end_with_their_last_line() -> None:
    found = of("x.scala", "class A:\n  def b =\n    1\n\n\nclass C\n").symbols
    assert [(s.line, s.end_line) for s in found] == [(1, 3), (2, 3), (6, 6)]


# --- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "source", "expected", "errors"),
    [
        ("x.ts", "export class A {\n  a(b: string): void { }\n  c(d: number", "A A.a A.c", "line 3"),
        ("x.js", "function a() {}\nclass B {\n  c() {\n    const d = e(;\n  }\n  f() {}", "a B B.c B.f", "line 4"),
        ("x.js", "const a = {\n  b() {},\n", "a a.b", "line 1"),
        ("A.java", "class A {\n  void a() {\n    if (b.\n  }\n  int c() { return d; }\n}\n", "A A.a A.c", "line 3"),
        ("A.java", "class A {\n  int a() { return b; }\n  void c() {\n    int d = ", "A A.a A.c", "line"),
        ("x.kt", "class A(val x: Int) : B() {\n  fun a() {\n  }\n  fun b(c: ", "A A.a A.b", "line 4"),
        ("x.scala", "class A {\n  def a = {\n    b.\n  }\n}\nobject D {\n  def e(", "A A.a D D.e", "line 3"),
    ],
)  # fmt: skip
def test_half_typed_code_hides_nothing_around_it(name: str, source: str, expected: str, errors: str) -> None:
    found = of(name, source)
    assert [s.qualified_name for s in found.symbols] == expected.split()
    assert any(error.startswith(errors) for error in found.errors)
    assert all(s.end_line <= source.count("\n") + 1 for s in found.symbols)


def test_brackets_go_into_white_space_or_to_the_end() -> None:
    tried = list(attempts(b"f(a {\n  b(\n }\n", [3]))
    assert tried[0].source == b"f(a {\n  b(\n)}\n)"
    assert tried[0].places == (9, 1)
    assert tried[1].source == b"    {\n  b(\n)}\n"
    assert tried[1].places == (3,)


def test_what_is_closed_is_not_tried_again() -> None:
    assert list(attempts(b"f('(', \"[\", `{`) // (\n/* { */", [])) == []
    assert list(attempts(b")]} f()", [])) == []
