"""The languages whose definitions we can read: one row here and one file in `queries/` each.

Captures that a query file uses, and the only thing `definitions.py` knows about a language:

    @definition.KIND   a definition of that kind (function, class, variable, type, ...); with it, in the same match:
        @name          its name; of two matches with the same name's place, the later pattern in the file counts
        @declarator    instead of a name: a C declarator, which is followed to the name; the kinds `declaration` and
                       `member` then become prototype or variable, method or field
        @stop          where its signature ends (a body, the colon before one); the first of several; without it, at
                       the definition's end
        @last          or what its signature ends with; the last of several
        @value         the value of a variable, which may be cut
        @fold          a body inside a signature, shown as {…} where all would be long
        @parent        a type that the definition belongs to although it stands outside of it
        @qualified     what it is called in the names of what it holds, if not by its name; with dots
        @verbatim      the same as it is written
        @part          what declares the name in a declaration of several; where there are several, it is the definition
        @members       marks a variable that holds definitions
        @scope         marks what gives its name to what it holds, and is no symbol itself
        @rest          marks what holds everything to the end of the file
    @decorator         a decorator, attribute or annotation: of what it is in the head of, or right above
    @wrapper, @declared  `export`, `template <...>` and the like: the signature of what is declared begins with them

Grammars are imported when a file of the language is first read; one parser and one query per language are kept.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from regreen.repo.mending import block_repair, brace_masks, c_masks, python_masks, python_repair, swift_masks
from regreen.repo.mending.python_repair import Repaired
from regreen.repo.symbols import markdown, notebooks
from regreen.repo.symbols.doc_comments import DocStyle
from regreen.repo.symbols.extraction import Scan

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

Repair: TypeAlias = Callable[[bytes, Callable[[bytes], bool]], "Repaired | None"]


@dataclass(frozen=True, slots=True)
class Language:
    """One row."""

    name: str
    extensions: tuple[str, ...]
    grammar: str = ""  # the module, which has the function `factory`
    query: str = ""  # the file in queries/, or several apart by a blank
    factory: str = "language"
    docs: DocStyle = "slashes"
    constant: re.Pattern[str] | None = None  # a variable of this name is a constant
    names: tuple[str, ...] = ()  # whole file names besides the extensions
    mask: Callable[[bytes], bytes] | None = None  # blanks what the grammar cannot read; every offset stays
    broken_mask: Callable[[bytes], bytes] | None = None  # the same, for source that does not parse
    repair: Repair | None = None  # makes broken source parsable, line by line
    scan: Scan | None = None  # reads the definitions without a grammar
    shared: tuple[str, str, re.Pattern[bytes]] | None = None  # an extension, whose it may be, what shows that
    extra: bool = False  # its grammar comes with `regreen[langs]`


_CPP = re.compile(
    rb"^[ \t]*(?:(?:inline[ \t]+)?namespace\b[^=;\n]*\{?[ \t]*$|template[ \t]*<|using[ \t]+\w+[^;\n]*;"
    rb"|(?:enum[ \t]+)?class[ \t]+\w[^;\n]*[{:]?[ \t]*$|(?:public|private|protected)[ \t]*:)|\bstd::",
    re.MULTILINE,
)  # what is C++ in a header
_FLOW = re.compile(rb"^[ \t/*]*@flow\b", re.MULTILINE)  # JavaScript with types, which the grammar of TSX reads better
_UPPER = re.compile(r"_{0,2}[A-Z][A-Z0-9_]*")

LANGUAGES: tuple[Language, ...] = (
    Language(
        "python",
        (".py", ".pyi", ".pyw"),
        "tree_sitter_python",
        "python.scm",
        docs="docstring",
        constant=_UPPER,
        broken_mask=python_masks.defaults,
        repair=python_repair.repair,
    ),
    Language(
        "javascript",
        (".js", ".jsx", ".mjs", ".cjs"),
        "tree_sitter_javascript",
        "ecmascript.scm javascript.scm",
        shared=(".js", "tsx", _FLOW),
    ),
    Language(
        "typescript",
        (".ts", ".mts", ".cts"),
        "tree_sitter_typescript",
        "ecmascript.scm typescript.scm",
        factory="language_typescript",
        broken_mask=brace_masks.typescript,
    ),
    Language(
        "tsx",
        (".tsx",),
        "tree_sitter_typescript",
        "ecmascript.scm typescript.scm",
        factory="language_tsx",
        broken_mask=brace_masks.typescript,
    ),
    Language("go", (".go",), "tree_sitter_go", "go.scm", repair=block_repair.go),
    *(
        Language(
            name,
            ("." + name,),
            "tree_sitter_typescript",
            "ecmascript.scm typescript.scm",
            factory="language_typescript",
            mask=brace_masks.component,
            broken_mask=brace_masks.typescript,
        )
        for name in ("vue", "svelte")
    ),
    Language("java", (".java",), "tree_sitter_java", "java.scm"),
    Language("kotlin", (".kt", ".kts"), "tree_sitter_kotlin", "kotlin.scm", broken_mask=brace_masks.kotlin, extra=True),
    Language("scala", (".scala", ".sc"), "tree_sitter_scala", "scala.scm", extra=True),
    Language(
        "ruby",
        (".rb", ".rake", ".gemspec", ".ru", ".rbi"),
        "tree_sitter_ruby",
        "ruby.scm",
        docs="hashes",
        repair=block_repair.ruby,
        names=("Rakefile", "Gemfile", "Guardfile", "Vagrantfile", "Podfile", "Capfile", "Fastfile"),
    ),
    Language(
        "php",
        (".php", ".phtml"),
        "tree_sitter_php",
        "php.scm",
        factory="language_php",
        docs="both",
        repair=block_repair.php,
    ),
    Language(
        "bash",
        (".sh", ".bash", ".zsh", ".ksh"),
        "tree_sitter_bash",
        "bash.scm",
        docs="hashes",
        repair=block_repair.bash,
        names=(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
        extra=True,
    ),
    Language("markdown", (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"), scan=markdown.scan),
    Language("notebook", (".ipynb",), scan=notebooks.scan),
    Language(
        "c", (".c", ".h"), "tree_sitter_c", "c_family.scm c.scm", shared=(".h", "cpp", _CPP), broken_mask=c_masks.c
    ),
    Language(
        "cpp",
        (".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".ipp", ".tpp", ".inl", ".cu", ".cuh"),
        "tree_sitter_cpp",
        "c_family.scm cpp.scm",
        broken_mask=c_masks.cpp,
    ),
    Language("c_sharp", (".cs", ".csx"), "tree_sitter_c_sharp", "c_sharp.scm"),
    Language("rust", (".rs",), "tree_sitter_rust", "rust.scm"),
    Language(
        "swift",
        (".swift",),
        "tree_sitter_swift",
        "swift.scm",
        mask=swift_masks.closed_comments,
        broken_mask=swift_masks.swift,
        extra=True,
    ),
)

_BY_EXTENSION = {extension: language for language in LANGUAGES for extension in language.extensions}
_BY_LANGUAGE = {language.name: language for language in LANGUAGES}
_BY_NAME = {name: language for language in LANGUAGES for name in language.names}
_LOOKED_AT = 20_000  # bytes


class Grammar(NamedTuple):
    """What reads one language."""

    parser: Parser
    query: Query


class MissingGrammar(Exception):
    """The wheel of a language is not installed."""


def language_of(path: str, source: bytes = b"") -> Language | None:
    """The language of a file, by its name or extension, and where that is shared by two (`.h`) by its first bytes;
    None if there is no row for it."""
    language = _BY_EXTENSION.get(extension_of(path)) or _BY_NAME.get(path.rpartition("/")[2])
    if source and language is not None and language.shared is not None:
        extension, other, shows = language.shared
        if extension_of(path) == extension and shows.search(source, 0, _LOOKED_AT):
            return next(row for row in LANGUAGES if row.name == other)
    return language


def language_named(name: str) -> Language | None:
    """The language with that name in its row."""
    return _BY_LANGUAGE.get(name)


def extension_of(path: str) -> str:
    """The extension in lower case with its dot; "" for none (also for names like `.profile`)."""
    stem, dot, extension = path.rpartition("/")[2].rpartition(".")
    return (dot + extension).lower() if stem else ""


def installed(language: Language) -> bool:
    """Whether the grammar of a language is there; nothing is imported."""
    return not language.grammar or importlib.util.find_spec(language.grammar) is not None


@cache
def grammar(language: Language) -> Grammar:
    """The parser and the compiled query of a language; imports the grammar. Raises MissingGrammar."""
    import tree_sitter

    try:
        module = importlib.import_module(language.grammar)
    except ModuleNotFoundError as e:
        raise MissingGrammar(missing_text(language)) from e
    capsule: object = getattr(module, language.factory)()
    loaded = tree_sitter.Language(capsule)
    folder = resources.files("regreen.repo").joinpath("queries")
    source = "\n".join(folder.joinpath(name).read_text("utf-8") for name in language.query.split())
    return Grammar(tree_sitter.Parser(loaded), tree_sitter.Query(loaded, source))


def missing_text(language: Language) -> str:
    """What to tell of a language whose grammar is not installed."""
    package = language.grammar.replace("_", "-")
    extra = "; `regreen[langs]` has it" if language.extra else ""
    return f"the grammar of {language.name} is not installed ({package}{extra})"
