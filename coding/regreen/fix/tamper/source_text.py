"""The text of a source file without its comments, for languages that are not parsed here. Lines stay where they are."""

from __future__ import annotations

import re

_C_LIKE = re.compile(
    r"""(?P<keep>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(?P<drop>//[^\n]*|/\*.*?(?:\*/|\Z))""",
    re.DOTALL,
)
_RUST = re.compile(
    r"""(?P<keep>r(?P<h>\#*)".*?"(?P=h)|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\\n])')|(?P<drop>//[^\n]*|/\*.*?(?:\*/|\Z))""",
    re.DOTALL,
)
_HASH = re.compile(
    r"""(?P<keep>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<drop>(?<![\w$])\#(?!\{)[^\n]*|^=begin.*?^=end)""",
    re.DOTALL | re.MULTILINE,
)
_PHP = re.compile(
    r"""(?P<keep>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<drop>//[^\n]*|\#(?!\[)[^\n]*|/\*.*?(?:\*/|\Z))""", re.DOTALL
)
_LANGUAGES: dict[str, str] = {
    **dict.fromkeys(("js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte"), "javascript"),
    "go": "go", "rs": "rust", "rb": "ruby", "rake": "ruby", "php": "php", "java": "java", "kt": "java", "kts": "java",
    "groovy": "java", "scala": "java", "cs": "csharp", "fs": "csharp", "vb": "csharp",
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hpp", "hh"), "c"),
    "py": "python", "pyi": "python", "pyw": "python", "pyx": "python",
}  # fmt: skip
_JOINED = re.compile(r"""(["'`])((?:\\.|(?!\1)[^\\\n])*)\1\s*[+.]\s*(["'`])((?:\\.|(?!\3)[^\\\n])*)\3""")
_MAX_JOINS = 200


def language_of(path: str) -> str:
    """The language of a source file, by its name; "" for all else."""
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), "") if "." in path else ""


def without_comments(text: str, language: str) -> str:
    """The source with its comments blanked. Texts stay as they are."""
    pattern = {"rust": _RUST, "ruby": _HASH, "python": _HASH, "php": _PHP}.get(language, _C_LIKE)
    return pattern.sub(lambda m: m[0] if m["drop"] is None else re.sub(r"[^\n]", " ", m[0]), text)


def with_texts_joined(code: str) -> str:
    """The source with neighbouring constant texts put together: `"a" + "b"` becomes `"ab"`."""
    for _ in range(_MAX_JOINS):
        code, count = _JOINED.subn(lambda m: f'"{m[2]}{m[4]}"', code)
        if not count:
            break
    return code
