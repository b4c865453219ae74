"""Whatever a file holds, reading its definitions ends, within bounds, and says what was not read."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import ALL, sample

import regreen
from regreen.model import FileSymbols, Symbol
from regreen.repo.languages import LANGUAGES, Language, language_of
from regreen.repo.signatures import symbols_in
from regreen.repo.symbols.extract import MAX_MATCHES, extract
from regreen.session import Session

FOLDER = Path(__file__).parent.parent / "corpora" / "signatures"
FIXTURES = {
    name: (language, path.read_bytes())
    for path in sorted(FOLDER.iterdir())
    if path.suffix != ".json" and (language := language_of(name := path.name)) is not None
}
BY_NAME = {language.name: language for language in LANGUAGES}
LIMIT_S = 1.0  # of processor time, for parsing any one file
ALL_S = 6.0  # ... and with what comes after that, on a slow machine

languages = st.sampled_from(LANGUAGES)
pieces = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([
        b"{", b"}", b"(", b")", b"[", b"]", b"<", b">", b'"', b"'", b"`", b"\\", b"\n", b"\r", b"\r\n", b"\t", b"\0",
        b"/*", b"*/", b"//", b"#", b"<!--", b"<script>", b"</script>", b"<?php ", b"?>", b'"""', b"<<EOF\n", b"#if X\n",
        b"#endif\n", b"class A ", b"def f", b"fn f", b"func f", b"function ", b"template<", b"=>", b"->", b"::", b";",
        b":", b"\xff", b"\xed\xa0\x80", "\u202e\N{MATHEMATICAL BOLD CAPITAL A}".encode(), b"async ", b"@", b"```\n",
        b'{"cells": [', b'{"cell_type": "code", "source": ["', b"%%bash\n", b"macro_rules! ", b"\x0c", b"= 1\n",
    ]),
)  # fmt: skip


def checked(source: bytes, language: Language) -> None:
    """What must hold of whatever is read."""
    started = time.thread_time()
    found = extract(source, language, docstrings=True, max_cpu_s=LIMIT_S)
    assert time.thread_time() - started < ALL_S
    last = source.count(b"\n") + source.count(b"\r") + 2
    assert len(found.symbols) <= MAX_MATCHES
    assert all(well_formed(symbol, last) for symbol in found.symbols)
    assert not (found.gave_up and found.symbols)
    assert all("\n" not in message for message in (*found.errors, found.gave_up))


def well_formed(symbol: Symbol, last: int) -> bool:
    return (
        1 <= symbol.line <= symbol.end_line <= last
        and bool(symbol.name)
        and "\n" not in symbol.signature + symbol.name + symbol.doc
        and len(symbol.signature) <= 2000
    )


@given(languages, st.lists(pieces, max_size=40).map(b"".join))
@settings(max_examples=200 if ALL else 50)
def test_noise_is_read_to_its_end(language: Language, source: bytes) -> None:
    checked(source, language)


@given(st.sampled_from(sorted(FIXTURES)), st.data())
@settings(max_examples=120 if ALL else 50)
def test_damaged_sources_are_read_to_their_end(name: str, data: st.DataObject) -> None:
    language, source = FIXTURES[name]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(source)))
        kind = data.draw(st.sampled_from(["insert", "delete", "cut", "repeat"]))
        size = data.draw(st.integers(1, 60))
        if kind == "insert":
            source = source[:at] + data.draw(pieces) + source[at:]
        elif kind == "delete":
            source = source[:at] + source[at + size :]
        elif kind == "cut":
            source = source[:at]
        else:
            source = source[:at] + source[at : at + size] * 20 + source[at + size :]
    checked(source, language)


@given(st.sampled_from(sorted(FIXTURES)), st.binary(max_size=300))
@settings(max_examples=100 if ALL else 50)
def test_bytes_of_any_file_give_symbols_or_a_reason(name: str, noise: bytes) -> None:
    language, source = FIXTURES[name]
    for data in (noise, source[:200] + noise + source[200:400]):
        found = symbols_in(name, language, data)
        assert isinstance(found, FileSymbols) or found.reason


@pytest.mark.parametrize("language", sample(LANGUAGES, 3, 2), ids=lambda language: language.name)
def test_brackets_nested_a_hundred_thousand_deep_end(language: Language) -> None:
    checked(b"x = " + b"[" * 100_000 + b"]" * 100_000 + b"\n", language)


NESTED = [(name, source) for name in ("python", "typescript", "ruby", "c")
          for source in (b"([{" * 33_000 + b"}])" * 33_000, b"f(" * 50_000, b"{" * 100_000)]  # fmt: skip


@pytest.mark.parametrize(("name", "source"), sample(NESTED, 4, 1))
def test_other_nesting_ends_too(name: str, source: bytes) -> None:
    checked(source, BY_NAME[name])


def test_definitions_over_the_limit_are_counted_out() -> None:
    found = extract(b"a=1\n" * (MAX_MATCHES + 10), BY_NAME["python"])
    assert len(found.symbols) == MAX_MATCHES
    assert found.errors == (f"more than {MAX_MATCHES:,} definitions: the rest is left out",)


def test_a_source_that_takes_its_grammar_too_long_is_given_up() -> None:
    words = random.Random(5)
    source = " ".join(f"{words.getrandbits(32):08x}" for _ in range(22_000)).encode()
    started = time.thread_time()
    found = extract(source, BY_NAME["scala"], max_cpu_s=0.2)
    assert found.gave_up == "takes more than 0.2 s to parse"
    assert found.symbols == ()
    assert time.thread_time() - started < 1.5


def asked(session: Session, path: str) -> tuple[str, str]:
    """Why the file's definitions are not there, by name and by glob."""
    named = session.signatures([path])
    found = session.signatures([f"*{Path(path).suffix}"])
    return tuple(next(s.reason for s in r.skipped if s.path == path) for r in (named, found))  # type: ignore[return-value]


@pytest.mark.parametrize("suffix", [".py", ".js", ".ipynb"])
def test_ten_megabytes_on_one_line_are_a_note(tmp_path: Path, suffix: str) -> None:
    (tmp_path / "small.py").write_text("def seen(): ...\n")
    (tmp_path / f"wide{suffix}").write_bytes(b"var a=(1);" * 1_000_000)
    (tmp_path / f"less{suffix}").write_bytes(b"var a=(1);" * 200_000)
    with regreen.open(tmp_path) as session:
        started = time.process_time()
        for path in (f"wide{suffix}", f"less{suffix}"):
            assert all("too large" in reason or "is over 8388608 bytes" in reason for reason in asked(session, path))
        found = session.repo_map(max_tokens=500)
        assert "seen" in found.text
        assert "not parsed: 2 huge" in found.text
        assert found.indexed == 1
        assert time.process_time() - started < 5
