"""C, C++, C#, Rust and Swift: what is easily misread, what macros hide, what half-typed files still show."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regreen.repo.languages import LANGUAGES, language_of
from regreen.repo.mending import c_masks, swift_masks
from regreen.repo.mending.c_branches import closed_branches
from regreen.repo.symbols.extract import extract

FOLDER = Path(__file__).parent.parent / "corpora" / "signatures"
FIXTURES = ("ring_buffer.c", "scene_graph.cpp", "OrderService.cs", "cache.rs", "FeedLoader.swift")
BY_NAME = {language.name: language for language in LANGUAGES}
TOKENS = st.sampled_from([
    "class", "struct", " ", "\n", "\r\n", "{", "}", "(", ")", ";", ":", "FOO_API", "Q_OBJECT", "EXPORT", "void", "f",
    "= {}",    "= {1, 2}", ",", '"', "'", "\\", "//", "/*", "*/",
    "#if A", "#else", "#endif", "#ifdef __cplusplus", 'extern "C" {',
    "é",    "template", "<", ">", "namespace", "enum", "* = nullptr", "__attribute__((x))", "R\"(", "signals:", "=",
    "const", "int",
])  # fmt: skip


def outline(language: str, source: str) -> list[tuple[int, str, str]]:
    return [(s.line, s.kind, s.qualified_name) for s in extract(source.encode(), BY_NAME[language]).symbols]


def heads(language: str, source: str) -> list[str]:
    found = extract(source.encode(), BY_NAME[language])
    assert found.errors == ()
    return [s.signature for s in found.symbols]


def names(language: str, source: str) -> list[str]:
    return [s.qualified_name for s in extract(source.encode(), BY_NAME[language]).symbols]


# --- all of them -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fixture", FIXTURES)
def test_line_ends_of_windows_change_nothing(fixture: str) -> None:
    language = language_of(fixture)
    assert language is not None
    source = (FOLDER / fixture).read_bytes()
    assert extract(source.replace(b"\n", b"\r\n"), language, docstrings=True) == extract(
        source, language, docstrings=True
    )


@pytest.mark.parametrize(
    ("language", "broken", "still_there"),
    [
        ("c", "int a(void) { f(; }\nint b(int x {\n}\nstruct s { int f; };\nint c(void) { }\n", ["a", "b", "s", "c"]),
        ("cpp", "class A : public {\n int x;\n void m();\n};\nint ok();\n", ["A", "A.x", "A.m", "ok"]),
        ("c_sharp", "class A {\n void F() { var x = ; }\n void G(int x {\n }\n void H() { }\n}\nclass B { }\n",
         ["A", "A.F", "A.G", "A.H", "B"]),
        ("rust", "struct S {\n a: u8,\n b:\n}\nimpl S {\n fn f(&self) { let x = ; }\n fn g(&self) { h(; }\n}\n"
         "fn ok() {}\n",
         ["S", "S.a", "S.f", "S.g", "ok"]),
        ("swift", "class A {\n var x: Int =\n func f() { let y = }\n func g() {}\n}\nstruct B { var z: Int }\n",
         ["A", "A.g", "B", "B.z"]),
    ],
)  # fmt: skip
def test_half_typed_source_still_shows_what_is_around(language: str, broken: str, still_there: list[str]) -> None:
    found = extract(broken.encode(), BY_NAME[language])
    assert found.errors
    assert set(still_there) <= {s.qualified_name for s in found.symbols}


def test_documentation_is_above_not_at_the_end_of_the_line_before() -> None:
    source = b"int a; /* of a */\nint b;\n/* of c */\nint c;\n"
    assert [s.doc for s in extract(source, BY_NAME["c"], docstrings=True).symbols] == ["", "", "of c"]


# --- C ---------------------------------------------------------------------------------------------


def test_all_names_in_one_declaration_have_the_whole_of_it_as_signature() -> None:
    source = "static int a = 1, *b, c[3];\nint f(void), g(int);\n"
    assert outline("c", source) == [
        (1, "variable", "a"),
        (1, "variable", "b"),
        (1, "variable", "c"),
        (2, "prototype", "f"),
        (2, "prototype", "g"),
    ]
    assert set(heads("c", source)) == {"static int a = 1, *b, c[3]", "int f(void), g(int)"}


def test_fields_of_a_nameless_struct_belong_to_what_it_is_the_type_of() -> None:
    source = "typedef struct { int v; union { int i; } u; struct { int flat; }; } t, *p;\n"
    assert names("c", source) == ["t", "p", "t.v", "t.u", "t.u.i", "t.flat"]


def test_locals_and_prototypes_in_functions_are_left_out_but_types_are_not() -> None:
    source = "int f(int a) {\n int b = 1;\n int g(void);\n struct s { int x; } v;\n#if A\n int c;\n#endif\n}\n"
    assert names("c", source) == ["f", "f.s", "f.s.x"]


def test_pointers_to_functions_are_variables_and_functions_that_return_them_functions() -> None:
    source = "int (*p)(int);\nint (*q[2])(void);\nint (*get(char c))(int) { return p; }\n"
    source += "void (*sig(int, void (*)(int)))(int);\n"
    assert outline("c", source) == [
        (1, "variable", "p"),
        (2, "variable", "q"),
        (3, "function", "get"),
        (4, "prototype", "sig"),
    ]


def test_macros_show_their_parameters_or_their_value() -> None:
    source = "#define A(x, ...) \\\n  do { f(x); } while (0)\n#  define B \\\n  (1 + 2)\n#define C\n#define D() 1\n"
    assert heads("c", source) == ["#define A(x, ...)", "# define B (1 + 2)", "#define C", "#define D()"]


def test_definitions_in_all_branches_are_found() -> None:
    source = "#if A\nint f(int a) { }\n#elif B\nint f(long a) { }\n#else\nint f(char a) { }\n#endif\n"
    assert heads("c", source) == ["int f(int a)", "int f(long a)", "int f(char a)"]


def test_branches_that_open_the_same_brace_are_all_found() -> None:
    source = (
        '#ifdef A\nint f(int a) {\n#else\nint f(long a) { /* } */ g("}");\n#endif\n return 1;\n}\nint h(void) { }\n'
    )
    assert heads("c", source) == ["int f(int a)", "int f(long a)", "int h(void)"]


def test_branches_that_are_even_keep_their_directives() -> None:
    source = b"#if A\nint f(void) { }\n#else\nint g(void) { }\n#endif\n"
    assert closed_branches(source) == source


def test_linkage_for_cpp_around_a_header_is_no_error() -> None:
    source = '#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n#ifdef __cplusplus\n} /* extern "C" */\n#endif\n'
    assert heads("c", source) == ["int f(void)"]


def test_attributes_are_decorators() -> None:
    source = b"__attribute__((noreturn)) void f(char *s) __attribute__((format(printf, 1, 2)));\n"
    source += b"[[nodiscard]] int g(void);\n"
    found = extract(source, BY_NAME["c"]).symbols
    assert [(s.signature, len(s.decorators)) for s in found] == [("void f(char *s)", 2), ("int g(void)", 1)]


def test_a_return_type_in_capitals_on_its_own_line_stays() -> None:
    assert heads("c", "BOOL\nf(int a)\n{\n}\nstatic HRESULT\ng(void) { }\n") == [
        "BOOL f(int a)",
        "static HRESULT g(void)",
    ]


def test_casts_in_macros_case_are_not_taken_for_macros() -> None:
    source = "EXPORT void f(void);\nint g(void) { int x = (int) MAX; return (long) MAX; }\nint h(void) { return 1; }\n"
    assert heads("c", source) == ["EXPORT void f(void)", "int g(void)", "int h(void)"]


@pytest.mark.parametrize(
    "declaration",
    [
        "FOO_API int f(int a);",
        "FOO_API struct s *f(int a);",
        "static FOO_INLINE unsigned f(int a) FOO_PURE FOO_NONNULL(1);",
        "int WINAPI f(int a);",
        "FOO_DEPRECATED(1) FOO_API foo_t *f(int a);",
        "extern int f(int a) __THROW __nonnull ((1));",
    ],
)
def test_macros_in_a_declaration_stay_in_its_signature(declaration: str) -> None:
    assert outline("c", f"int before;\n{declaration}\nint after;\n") == [
        (1, "variable", "before"),
        (2, "prototype", "f"),
        (3, "variable", "after"),
    ]
    assert heads("c", declaration) == [declaration.rstrip(";")]


# --- C++ -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("#pragma once\nclass X {\n};\n", "cpp"),
        ("/* C */\nnamespace a::b {\n}\n", "cpp"),
        ("template <typename T>\nT f(T a);\n", "cpp"),
        ("struct S {\n public:\n  int a;\n};\n", "cpp"),
        ("#include <vector>\nvoid f(const std::vector<int>& v);\n", "cpp"),
        ('#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n', "c"),
        ("/* a class of things: using names */\nstruct s { int class_; };\nint template_of(int using_it);\n", "c"),
        ("", "c"),
    ],
)
def test_headers_are_of_the_language_they_are_written_in(source: str, name: str) -> None:
    language = language_of("include/x.h", source.encode())
    assert language is not None
    assert language.name == name
    assert language_of("x.c", source.encode()) is BY_NAME["c"]


def test_macros_of_classes_are_read_over() -> None:
    source = """\
class API_EXPORT Foo final : public Bar {
  Q_OBJECT
  Q_PROPERTY(int x READ x)
public:
  EXPORT void f() const NOEXCEPT;
  Foo(int a = {}, std::vector<int> v = {1, 2});
public slots:
  void slot();
signals:
  void sent(int a);
};
struct ALIGNED(16) Point { int x; };
namespace std VISIBLE(default) { class Z; }
"""
    assert heads("cpp", source) == [
        "class API_EXPORT Foo final : public Bar",
        "EXPORT void f() const NOEXCEPT",
        "Foo(int a = {}, std::vector<int> v = {1, 2})",
        "void slot()",
        "void sent(int a)",
        "struct ALIGNED(16) Point",
        "int x",
        "namespace std VISIBLE(default)",
    ]


def test_what_is_defined_outside_of_its_type_belongs_to_it() -> None:
    source = """\
template <typename T> T geo::Vec<T>::dot(const Vec& o) const { return 1; }
geo::Vec::Vec(int a) : x(a), y{2} {}
geo::Vec::~Vec() = default;
geo::Vec<int>::operator int*() const { return 0; }
int geo::Vec::count = 0;
template <> void spec<int>(int a) { }
"""
    assert names("cpp", source) == [
        "geo.Vec.dot", "geo.Vec.Vec", "geo.Vec.~Vec", "geo.Vec.operator int*", "geo.Vec.count", "spec",
    ]  # fmt: skip
    assert heads("cpp", source)[1:3] == ["geo::Vec::Vec(int a)", "geo::Vec::~Vec() = default"]


@pytest.mark.parametrize(
    ("declaration", "name"),
    [
        ("bool operator==(const A&) const = default", "operator=="),
        ("A& operator [](int i)", "operator[]"),
        ("void operator()(int a) &&", "operator()"),
        ("explicit operator bool() const", "operator bool"),
        ("operator const char*() const", "operator const char*"),
        ("template <typename T> operator T() const", "operator T"),
        ("void* operator new(std::size_t n)", "operator new"),
        ("auto operator<=>(const A&) const -> int", "operator<=>"),
        ("virtual ~A() = 0", "~A"),
        ("template <class T> requires C<T> explicit A(T a)", "A"),
    ],
)
def test_special_members_have_their_names(declaration: str, name: str) -> None:
    found = extract(f"struct A {{\n  {declaration};\n}};\n".encode(), BY_NAME["cpp"]).symbols
    assert [(s.name, s.parent, s.signature) for s in found[1:]] == [(name, "A", declaration)]


def test_forward_declarations_and_using_are_no_definitions() -> None:
    source = "class A;\nstruct B;\nusing namespace std;\nusing std::vector;\nclass C { friend class D; };\n"
    assert names("cpp", source) == ["C"]


def test_text_in_raw_strings_is_no_code() -> None:
    source = 'auto a = R"x(class Fake { void f(); };)x";\nint real() { return 1; }\n'
    assert names("cpp", source) == ["a", "real"]


@settings(max_examples=150, deadline=None)
@given(st.lists(TOKENS, max_size=40).map("".join))
def test_masks_move_nothing(source: str) -> None:
    data = source.encode()
    for masked in (c_masks.c(data), c_masks.cpp(data), swift_masks.swift(data)):
        assert len(masked) == len(data)
        assert all(a == b for a, b in zip(masked, data, strict=True) if b in b"\r\n")
    found = extract(data, BY_NAME["cpp"], docstrings=True).symbols
    assert all(1 <= s.line <= source.count("\n") + 1 for s in found)


def test_masks_are_not_slow_on_hostile_text() -> None:
    for text in ("A" * 200_000, "A(" * 50_000, "f(a, " * 40_000, "enum class A_B " * 15_000, "#if A\n{\n" * 20_000,
                 " " * 200_000,
                 "FOO_B " * 40_000, "A_B\n" * 50_000, "x::" * 60_000, ") A_B" * 40_000, "class A<" * 30_000,
                 "{" * 100_000):  # fmt: skip
        c_masks.cpp(text.encode())


# --- C# --------------------------------------------------------------------------------------------


def test_file_scoped_namespace_holds_the_rest_of_the_file() -> None:
    source = "using X;\nnamespace A.B;\nclass C { void M() { } }\nenum E { One }\n"
    assert outline("c_sharp", source) == [
        (2, "namespace", "A.B"),
        (3, "class", "A.B.C"),
        (3, "method", "A.B.C.M"),
        (4, "enum", "A.B.E"),
    ]


def test_properties_stop_before_their_accessors() -> None:
    source = """\
class C {
  [A] public required string Name { get; init; } = "x";
  public int Count => 1;
  public T this[int i, string s = "{"] { get => default; }
  int IFoo.Prop { get; }
  public event Action E { add { } remove { } }
}
"""
    assert heads("c_sharp", source)[1:] == [
        "public required string Name",
        "public int Count",
        'public T this[int i, string s = "{"]',
        "int IFoo.Prop",
        "public event Action E",
    ]


def test_expression_bodies_and_top_level_functions_are_found() -> None:
    source = "int Twice(int x) => x * 2;\nasync Task Run() { }\nvar a = 1;\nrecord R(int X);\nclass P(int a) : B(a);\n"
    assert heads("c_sharp", source) == [
        "int Twice(int x)",
        "async Task Run()",
        "record R(int X)",
        "class P(int a) : B(a)",
    ]


# --- Rust ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "parent"),
    [
        ("Foo", "Foo"), ("Foo<T>", "Foo"), ("a::b::Foo<'_>", "a.b.Foo"), ("&'a mut Foo<u8>", "Foo"), ("dyn Tr", "Tr"),
        ("dyn Tr<A>", "Tr"), ("u8", "u8"), ("[u8; 3]", "[u8; 3]"), ("&str", "str"), ("(A, B)", "(A, B)"), ("T", "T"),
        ("Box<dyn Fn()>", "Box"),
    ],
)  # fmt: skip
def test_methods_belong_to_the_type_of_their_impl(type_: str, parent: str) -> None:
    for head in (f"impl {type_}", f"impl<'a, T> Tr<T> for {type_}\nwhere\n    T: X,\n"):
        (symbol,) = extract(f"{head} {{ fn m(&self) {{}} }}\n".encode(), BY_NAME["rust"]).symbols
        assert (symbol.kind, symbol.parent, symbol.signature) == ("method", parent, "fn m(&self)")


def test_attributes_above_are_decorators_those_of_parameters_and_of_the_file_are_not() -> None:
    source = "#![allow(x)]\n#[inline]\n// a comment\n#[cfg(a)]\n/// Doc.\nfn f(#[cfg(b)] a: u8) {}\n"
    (symbol,) = extract(source.encode(), BY_NAME["rust"], docstrings=True).symbols
    assert (symbol.decorators, symbol.signature, symbol.line) == (
        ("#[inline]", "#[cfg(a)]"),
        "fn f(#[cfg(b)] a: u8)",
        6,
    )


def test_macros_hide_what_is_in_them() -> None:
    source = "macro_rules! m {\n  ($x:expr) => { fn no() {} };\n}\nm! { fn neither() {} }\nfn yes() {}\n"
    assert [s.signature for s in extract(source.encode(), BY_NAME["rust"]).symbols] == ["macro_rules! m", "fn yes()"]


# --- Swift -----------------------------------------------------------------------------------------


def test_semicolons_between_members_are_read_as_line_ends() -> None:
    source = "protocol P { var n: Int { get }; init(x: Int); func f(s: String) -> Int }\n"
    source += 'let s = "a; b"; func g() {} // ; h\n'
    assert heads("swift", source) == [
        "protocol P", "var n: Int", "init(x: Int)", "func f(s: String) -> Int", 'let s = "a; b"', "func g()",
    ]  # fmt: skip


def test_members_of_extensions_belong_to_the_extended_type() -> None:
    source = "extension A.B: P where T: Q {\n  func f() {}\n  static var z: Int { 1 }\n  struct Inner {}\n}\n"
    assert names("swift", source) == ["A.B", "A.B.f", "A.B.z", "A.B.Inner"]


def test_operators_initialisers_and_subscripts_have_their_names() -> None:
    source = """\
struct S {
  init?(_ x: Int = 1) throws { }
  static func == (a: S, b: S) -> Bool { true }
  prefix static func - (a: S) -> S { a }
  subscript(i: Int) -> Int { get { 1 } }
  deinit { }
}
"""
    assert names("swift", source) == ["S", "S.init", "S.==", "S.-", "S.subscript", "S.deinit"]


def test_a_comment_that_never_ends_does_not_hang() -> None:
    source = "func f() {}\n/* a /* b */\nfunc g() {}\n" + "/*" * 5000
    assert names("swift", source) == ["f"]
