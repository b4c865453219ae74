"""Definitions in Ruby, PHP, shell and Go: traps, damage, and how definitions belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from regreen.repo.languages import installed, language_of
from regreen.repo.symbols.extract import extract
from regreen.repo.symbols.extraction import Extraction

FOLDER = Path(__file__).parent.parent / "corpora" / "signatures"


def of(name: str, source: str) -> Extraction:
    language = language_of(name)
    assert language is not None
    if not installed(language):
        pytest.skip(f"no grammar for {language.name}")
    return extract(source.encode(), language, docstrings=True)


def outline(name: str, source: str) -> list[tuple[int, str, str]]:
    return [(s.line, s.kind, s.qualified_name) for s in of(name, source).symbols]


def signature_lines(name: str, source: str) -> list[str]:
    return [s.signature for s in of(name, source).symbols]


def docs(name: str, source: str) -> dict[str, str]:
    return {s.name: s.doc for s in of(name, source).symbols}


# Ruby


def test_ruby_header_ends_where_the_body_begins() -> None:
    source = """\
def a; 1; end
def b = 1
def c(x, y: { z: 1 }) = x # why
def d x, *y # why
end
def e(x = (1; 2)) x end
def f(
  x, # one
  y = "end" # two
) end
def g() = puts "Hello"
class A < B::C; end
class D < Struct.new(:x) # why
end
"""
    assert signature_lines("a.rb", source) == [
        "def a", "def b", "def c(x, y: { z: 1 })", "def d x, *y", "def e(x = (1; 2))", 'def f(x, y = "end")', "def g()",
        "class A < B::C", "class D < Struct.new(:x)",
    ]  # fmt: skip


def test_ruby_visibility_before_def_begins_the_signature() -> None:
    found = of("a.rb", "class A\n  # Doc.\n  private def x(a) = a\n  memoize public def self.y; end\nend\n").symbols
    assert [(s.line, s.name, s.signature, s.doc) for s in found[1:]] == [
        (3, "x", "private def x(a)", "Doc."),
        (4, "y", "memoize public def self.y", ""),
    ]


def test_ruby_methods_of_the_class_itself_belong_to_it() -> None:
    source = """\
class A
  class << self
    def b; end
    attr_reader :c
  end
  def self.d; end
  def A.e; end
end
def A.f; end
class << A
  def g; end
end
"""
    assert outline("a.rb", source) == [
        (1, "class", "A"), (3, "method", "A.b"), (4, "property", "A.c"), (6, "method", "A.d"), (7, "method", "A.e"),
        (9, "method", "A.f"), (11, "method", "g"),
    ]  # fmt: skip


def test_ruby_blocks_calls_and_locals_are_no_definitions() -> None:
    source = """\
describe("x") { it("def a") { b = 1 } }
context "y" do
  let(:c) { C = 1 }
  D.define_method(:e) { 1 }
end
f = 1
g, h = 2, 3
puts <<~A, <<~B
  def i; end
A
  class J; end
B
%w[def k]
=begin
def l; end
=end
m = :def
# def n; end
"""
    assert outline("a_spec.rb", source) == [(3, "constant", "C")]


def test_ruby_operators_have_their_names() -> None:
    names = ["+", "-@", "!", "[]", "[]=", "<=>", "===", "=~", "`", "x=", "y?", "z!", "**", "<<", "class", "größe"]
    source = "".join(f"def {name}(*)\nend\n" for name in names)
    assert [s.name for s in of("a.rb", source).symbols] == names
    assert not of("a.rb", source).errors


def test_ruby_magic_comments_are_no_docs() -> None:
    source = "# frozen_string_literal: true\n# typed: strict\nclass A\n  # rubocop:disable X\n  def b; end\nend\n"
    assert docs("a.rb", source) == {"A": "", "b": ""}


def test_half_typed_ruby_keeps_what_is_around_the_damage() -> None:
    source = """\
class Order
  def total
    items.sum { |i|
  end

  def paid?
    if x
  end

  def late(a,
           **opts)
    foo.
  end
  def broken(a, b
end

module Util
  def self.help; end
"""
    found = of("a.rb", source)
    assert outline("a.rb", source) == [
        (1, "class", "Order"), (2, "method", "Order.total"), (6, "method", "Order.paid?"), (10, "method", "Order.late"),
        (14, "method", "Order.broken"), (17, "module", "Util"), (18, "method", "Util.help"),
    ]  # fmt: skip
    assert found.errors[:2] == ("line 3: could not be parsed", "line 7: could not be parsed")


# PHP


def test_php_namespaces_with_braces_end_and_others_go_on() -> None:
    source = """\
<?php
namespace A\\B { class C { function d() {} } }
namespace { function e() {} }
"""
    assert outline("a.php", source) == [
        (2, "class", "A\\B.C"),
        (2, "method", "A\\B.C.d"),
        (3, "function", "e"),
    ]
    source = "<?php\nnamespace A;\nclass B {}\nnamespace C\\D;\ninterface E {}\n"
    assert outline("a.php", source) == [(3, "class", "A.B"), (5, "interface", "C\\D.E")]


def test_php_outside_of_its_tags_and_in_strings_is_text() -> None:
    source = """\
<b>function a() {}</b>
<?php $x = <<<EOT
function b() {}
EOT;
$y = <<<'EOT'
class C {}
EOT;
// function d() {}
# class E {}
$z = "function f() {}" ?>
class G {}
<?php function h(): void {} ?>
"""
    assert outline("a.phtml", source) == [
        (2, "variable", "$x"), (5, "variable", "$y"), (10, "variable", "$z"), (12, "function", "h"),
    ]  # fmt: skip


def test_php_attributes_stay_on_parameters_only() -> None:
    source = """\
<?php
/** Doc. */
#[A(1), B]
#[C]
final class X {
    #[D] public int $y = 1;
    #[E(name: 'function z() {}')]
    // why
    public function f(#[F] private int $a, #[G(1)] $b = [1, 2,],) {}
}
"""
    found = of("a.php", source).symbols
    assert [(s.line, s.signature, list(s.decorators), s.doc) for s in found] == [
        (5, "final class X", ["#[A(1), B]", "#[C]"], "Doc."),
        (6, "public int $y = 1", ["#[D]"], ""),
        (9, "public function f(#[F] private int $a, #[G(1)] $b = [1, 2])", ["#[E(name: 'function z() {}')]"], ""),
    ]


def test_half_typed_php_keeps_what_is_around_the_damage() -> None:
    source = """\
<?php
class Cart {
    public function add(Item $item) {
        $this->
    }
    public function total(): int {
        return $this->sum(;
    }
    private $x
    public static function make(
        array $a = [], // why
    ): static { return new static; }
    public function (
}
function helper($a) {
    if ($a {
}
class Next { function z() {} }
"""
    assert [s.qualified_name for s in of("a.php", source).symbols] == [
        "Cart", "Cart.add", "Cart.total", "Cart.make", "helper", "Next", "Next.z",
    ]  # fmt: skip
    assert of("a.php", source).errors[0] == "line 4: could not be parsed"


# Shell


def test_shell_functions_in_all_forms() -> None:
    source = """\
a() { :; }
function b { :; }
function c () ( :; )
d ()
{
  e() { :; }
  local f=1
  g=2
}
h::i-j.k() { cat <<X
l() { :; }
X
}
# m() { :; }
echo 'n() { :; }' "$(o)"
PATH=/x p
q+=(1)
"""
    assert signature_lines("a.sh", source) == ["a()", "function b", "function c ()", "d ()", "e()", "h::i-j.k()"]


def test_shell_files_go_by_name_too() -> None:
    names = [".bashrc", "home/.profile", "a.bash", "a.zsh", "a.SH"]
    assert [getattr(language_of(name), "name", "") for name in names] == ["bash"] * 5
    assert [getattr(language_of(n), "name", "") for n in ("Rakefile", "x/Gemfile", "a.gemspec")] == ["ruby"] * 3


def test_half_typed_shell_keeps_what_is_around_the_damage() -> None:
    source = 'a() {\n  if [ x\n}\nb() {\n  echo "unclosed\n}\nc() { :; }\nD=1\n'
    assert [s.name for s in of("a.sh", source).symbols] == ["a", "b", "c", "D"]
    assert of("a.sh", source).errors == ("line 2: could not be parsed", "line 5: could not be parsed")


# Go


def test_go_directives_are_no_docs() -> None:
    source = """\
//go:build linux
package p

//go:noinline
func a() {}

// B is.
//
//go:nosplit
func B() {}

//export C
func C() {}

// +build ignore
func d() {}

// go:later is prose.
func e() {}
"""
    assert docs("a.go", source) == {"a": "", "B": "B is.", "C": "", "d": "", "e": "go:later is prose."}


def test_go_every_name_of_a_declaration_counts() -> None:
    source = (
        "package p\nconst a, b = 1, 2\nconst (\n\tc, d = iota, 1\n\te, f\n)\nvar g, h int\nvar (\n\ti, j = 1, 2\n)\n"
    )
    assert [s.name for s in of("a.go", source).symbols] == list("abcdefghij")


def test_go_embedded_fields_are_called_as_their_types() -> None:
    source = 'package p\ntype A struct {\n\tB\n\t*c.D\n\tE[int]\n\t*f.G[H] `x:"y"`\n}\n'
    assert [s.name for s in of("a.go", source).symbols] == ["A", "B", "D", "E", "G"]


def test_half_typed_go_keeps_what_is_around_the_damage() -> None:
    source = """\
package p

type A struct {
	x int
func (a *A) M(x int) {
	a.
}

// F does.
func F(a int,
	b string,
) (int, error) {
	if x {
}

func G() { foo( }

func H(
"""
    found = of("a.go", source)
    assert [(s.line, s.qualified_name, s.signature) for s in found.symbols] == [
        (3, "A", "type A struct"),
        (4, "A.x", "x int"),
        (5, "A.M", "func (a *A) M(x int)"),
        (10, "F", "func F(a int, b string) (int, error)"),
        (16, "G", "func G()"),
        (18, "H", "func H()"),
    ]
    assert found.errors[1:3] == ("line 6: could not be parsed", "line 13: could not be parsed")


def test_go_strings_that_are_not_indented_end_no_function() -> None:
    source = "package p\nfunc a() {\n\ts := `\nfunc b() {\n}\n`\n\tuse(s)\n}\nfunc c() {\n\tx(\n}\nfunc d() {}\n"
    assert [s.name for s in of("a.go", source).symbols] == ["a", "c", "d"]
    assert of("a.go", source).errors == ("line 10: could not be parsed",)


# Python


def test_type_parameters_with_defaults_are_read() -> None:
    source = (
        "class A[T = int, *Ts = *tuple[int, ...], **P = [int, str]](B[T], x=1):\n"
        "    def f[K: (int, str) = dict[str, int]](self, a: K = 3): ...\n"
    )
    found = of("a.py", source)
    assert [s.signature for s in found.symbols] == [
        "class A[T = int, *Ts = *tuple[int, ...], **P = [int, str]](B[T], x=1)",
        "def f[K: (int, str) = dict[str, int]](self, a: K = 3)",
    ]
    assert found.errors == ()


# All


@pytest.mark.parametrize("name", ["ledger.rb", "catalogue.php", "queue.go", "deploy.sh", "release-notes.md"])
def test_line_ends_of_windows_change_nothing(name: str) -> None:
    source = (FOLDER / name).read_text("utf-8")
    assert of(name, source.replace("\n", "\r\n")) == of(name, source)


@pytest.mark.parametrize("name", ["ledger.rb", "catalogue.php", "queue.go", "deploy.sh", "inventory.py"])
def test_most_is_found_wherever_a_file_ends(name: str) -> None:
    """Half of a file gives what begins in it, but for what it ends in."""
    source = (FOLDER / name).read_text("utf-8")
    lines = source.split("\n")
    whole = {(s.line, s.name) for s in of(name, source).symbols}
    for end in range(5, len(lines), 7):
        found = {(s.line, s.name) for s in of(name, "\n".join(lines[:end])).symbols}
        expected = {(line, n) for line, n in whole if line < end - 12}
        assert expected - found == set(), end
