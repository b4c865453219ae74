import codecs
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regreen.workspace import Line, Text, TextProblem, split_lines

quick = settings(max_examples=300)

pieces = st.sampled_from([
    b"a", b"\r", b"\n", b"\r\n", b"\xc3\xa9", b"\xe9", b"\xff", b"\x85", b"\x0c", b"\x80", b"\x1b$B", b"x = 1\n",
    "漢".encode("gbk"), codecs.BOM_UTF8, b"\xe2\x80\xa8", b"# coding: gbk\n", b"# -*- coding: latin-1 -*-",
    b"# coding: utf-7\n", b"# vim: set fileencoding=shift_jis :\n",
])  # fmt: skip
any_text = st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=("Cs",)))
bent = ["utf-16", "utf-7", "rot13", "hex", "unicode_escape", "no-such", "undefined", "idna", "cp037"]


def decoded(data: bytes) -> Text:
    text = Text.decode(data)
    assert isinstance(text, Text), text
    return text


@quick
@given(st.one_of(st.binary(max_size=60), st.lists(pieces, max_size=8).map(b"".join)))
def test_what_decodes_comes_back_byte_for_byte(data: bytes) -> None:
    text = Text.decode(data)
    if isinstance(text, Text):
        assert text.encode() == data
    else:
        assert b"\0" in data or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


@quick
@given(
    st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=("Cs",))), st.sampled_from(["le", "be"])
)
def test_utf16_with_a_mark_comes_back_byte_for_byte(body: str, order: str) -> None:
    mark = codecs.BOM_UTF16_LE if order == "le" else codecs.BOM_UTF16_BE
    data = mark + body.encode(f"utf-16-{order}")
    assert decoded(data).encode() == data


def joined(lines: list[Line]) -> str:
    return "".join(body + eol for body, eol in lines)


@quick
@given(st.lists(pieces, max_size=8).map(b"".join), st.data())
def test_changing_one_line_leaves_the_bytes_of_all_others(data: bytes, draw: st.DataObject) -> None:
    text = Text.decode(data)
    if isinstance(text, TextProblem) or not text.lines or b"\x1b" in data:  # ISO 2022 keeps a state between lines
        return
    at = draw.draw(st.integers(0, len(text.lines) - 1))
    lines = list(text.lines)
    before, after = text.with_text(joined(lines[:at])), text.with_text(joined(lines[at + 1 :]))
    lines[at] = Line("new", lines[at].eol)
    whole = text.with_text(joined(lines)).encode()
    head, tail = before.encode(), after.encode()
    assert isinstance(whole, bytes)
    assert isinstance(head, bytes)
    assert isinstance(tail, bytes)
    assert whole == head + b"new" + lines[at].eol.encode() + tail[len(text.bom) :]


@quick
@given(st.text(alphabet="a\r\n\x0b\x0c\x85\u2028"))
def test_lines_end_at_lf_and_crlf_only(body: str) -> None:
    bodies, eols = split_lines(body)
    assert "".join(b + e for b, e in zip(bodies, eols, strict=True)) == body
    assert all("\n" not in b for b in bodies)
    assert all(eol in ("\n", "\r\n") for eol in eols[:-1])
    assert not any(b.endswith("\r") for b, eol in zip(bodies, eols, strict=True) if eol == "\n")


def test_bom_stays_out_of_the_first_line() -> None:
    text = decoded(codecs.BOM_UTF8 + b"using A;\r\nusing B;\r\n")
    assert text.lines == (Line("using A;", "\r\n"), Line("using B;", "\r\n"))
    assert (text.eol, text.encoding) == ("crlf", "utf-8")


@pytest.mark.parametrize(
    ("data", "eol"), [(b"", "none"), (b"a", "none"), (b"a\n", "lf"), (b"a\r\nb", "crlf"), (b"a\r\nb\n", "mixed")]
)
def test_line_ends_are_told(data: bytes, eol: str) -> None:
    assert decoded(data).eol == eol


def test_cookie_names_the_encoding() -> None:
    text = decoded("# -*- coding: gbk -*-\nx = '值'\n".encode("gbk"))
    assert text.lines[1].body == "x = '值'"
    assert text.encoding == "gbk"
    assert text.admits("新") is None


def test_cookie_on_the_second_line_counts_only_after_a_comment() -> None:
    body = "# coding: latin-1\ns = 'é'\n".encode("latin-1")
    assert decoded(b"#!/usr/bin/env python\n" + body).encoding == "iso8859-1"
    assert decoded(b"import os\n" + body).raw


def test_cookie_that_does_not_fit_the_bytes_is_not_believed() -> None:
    data = b"# coding: gbk\nx = '\xff'\n"
    assert decoded(data).raw
    assert decoded(data).encode() == data


@pytest.mark.parametrize(
    "name", ["utf-16", "utf-7", "rot13", "hex", "unicode_escape", "no-such", "undefined", "idna", "cp037"]
)
def test_cookie_of_an_encoding_that_bends_ascii_is_not_believed(name: str) -> None:
    data = f"# coding: {name}\nx = 1\n".encode()
    assert decoded(data).encoding == "utf-8"
    assert decoded(data).encode() == data


def test_unencodable_new_text_is_refused_with_its_character() -> None:
    problem = decoded(b"# coding: latin-1\nx = 'a'\n").admits("漢")
    assert isinstance(problem, TextProblem)
    assert problem.kind == "encoding"
    assert "U+6F22" in problem.message


def test_file_with_stray_bytes_takes_ascii_only() -> None:
    text = decoded(b"caf\xe9\n")
    assert text.raw
    assert text.admits("plain") is None
    assert isinstance(text.admits("é"), TextProblem)


def test_lone_surrogates_and_nul_cannot_be_added() -> None:
    text = decoded(b"x\n")
    assert isinstance(text.admits("\ud800"), TextProblem)
    assert isinstance(text.admits("a\0"), TextProblem)
    assert isinstance(text.with_text("\ud800\n").encode(), TextProblem)


@pytest.mark.parametrize("data", [b"a\0b", "ab".encode("utf-16-le"), codecs.BOM_UTF32_LE + "a".encode("utf-32-le")])
def test_nul_means_binary(data: bytes) -> None:
    problem = Text.decode(data)
    assert isinstance(problem, TextProblem)
    assert problem.kind == "binary"


def test_broken_utf16_is_an_encoding_problem() -> None:
    problem = Text.decode(codecs.BOM_UTF16_LE + b"abc")
    assert isinstance(problem, TextProblem)
    assert problem.kind == "encoding"


def test_hostile_first_line_is_read_in_linear_time() -> None:
    started = time.process_time()
    decoded(b"#" + b"coding:" * 100_000 + b"\n")
    decoded(b" " * 500_000 + b"x")
    assert time.process_time() - started < 15
