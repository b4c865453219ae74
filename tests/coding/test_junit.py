"""JUnit reports of many writers, and of no writer at all."""

from __future__ import annotations

import os
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regreen.testing.reports.hardened_xml import MAX_DEPTH
from regreen.testing.reports.junit import as_heard, frames_in, full_name, gather, read_reports, standing
from regreen.testing.reports.junit_xml import parse, seconds

SUREFIRE = b"""<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="com.x.FooTest" time="1,234.5" tests="6">
  <properties><property name="java.version" value="17"/></properties>
  <testcase name="adds" classname="com.x.FooTest" time="0.01"/>
  <testcase name="fails" classname="com.x.FooTest" time="0.02">
    <failure message="expected: &lt;3&gt; but was: &lt;4&gt;" type="org.opentest4j.AssertionFailedError"
    ><![CDATA[org.opentest4j.AssertionFailedError: expected
	at com.x.FooTest.fails(FooTest.java:12)]]></failure>
    <system-out>said</system-out>
  </testcase>
  <testcase name="breaks" classname="com.x.FooTest">
    <error type="java.lang.NullPointerException">trace</error></testcase>
  <testcase name="later" classname="com.x.FooTest"><skipped message="not now"/></testcase>
  <testcase name="shaky" classname="com.x.FooTest">
    <flakyFailure message="once" type="X">t<system-out>o</system-out></flakyFailure></testcase>
  <testcase name="worse" classname="com.x.FooTest">
    <failure type="A">one</failure><rerunFailure type="A">two</rerunFailure></testcase>
</testsuite>"""


def test_surefire_is_read() -> None:
    document = parse(SUREFIRE)
    assert not document.problem
    assert [c.result for c in document.cases] == ["passed", "failed", "error", "skipped", "passed", "failed"]
    failed = document.cases[1]
    assert failed.message == "expected: <3> but was: <4>"
    assert failed.kind == "org.opentest4j.AssertionFailedError"
    assert "FooTest.java:12" in failed.text
    assert failed.stdout == "said"
    assert document.cases[2].message == "trace"
    assert document.cases[4].flaky
    assert document.cases[5].text == "one"


def test_reports_become_what_a_runner_hears(tmp_path: Path) -> None:
    (tmp_path / "TEST-a.xml").write_bytes(SUREFIRE)
    heard = as_heard(read_reports(gather(tmp_path, ["TEST-*.xml"])))
    assert heard.finished
    assert {c.id: c.outcome for c in heard.cases}["com.x.FooTest.breaks"] == "failed"
    assert any("com.x.FooTest.shaky" in note for note in heard.notes)
    strict = as_heard(read_reports(gather(tmp_path, ["TEST-*.xml"])), error_is_failure=False)
    assert {c.id: c.outcome for c in strict.cases}["com.x.FooTest.breaks"] == "error"


def test_nested_suites_files_and_lines() -> None:
    text = b"""<testsuites><testsuite name="outer" file="tests/A.php"><testsuite name="inner">
      <testcase name="a" class="A" file="tests/A.php" line="7"><failure>A::a
Failed asserting.

tests/A.php:9</failure></testcase></testsuite>
      <testcase name="b"/></testsuite></testsuites>"""
    first, second = parse(text).cases
    assert (first.suites, first.file, first.line, first.classname) == (("outer", "inner"), "tests/A.php", 7, "A")
    assert second.file == "tests/A.php"
    assert [(f.path, f.line) for f in frames_in(first.text)] == [("tests/A.php", 9)]


def test_a_suite_that_fails_as_a_whole_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(
        '<testsuite name="s"><error message="cannot load" type="E">trace</error></testsuite>'
    )
    heard = as_heard(read_reports([tmp_path / "a.xml"]), base="sub")
    assert not heard.cases
    assert [(e.id, e.message, e.text) for e in heard.errors] == [("s", "cannot load", "trace")]


def test_status_attributes_count_where_there_is_no_element() -> None:
    cases = parse(
        b'<testsuite><testcase name="a" status="notrun"/><testcase name="b" status="FAILED"/></testsuite>'
    ).cases
    assert [c.result for c in cases] == ["skipped", "failed"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"   ",
        b"not xml",
        b"<html><body/></html>",
        b'<!DOCTYPE a [<!ENTITY b "b"><!ENTITY c "&b;&b;">]><testsuite name="&c;"/>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><testsuite/>',
        b'<testsuite><testcase name="a">',
        b"<testsuite>" * (MAX_DEPTH + 1),
    ],
)
def test_what_is_no_whole_report_says_so(text: bytes) -> None:
    assert parse(text).problem


def test_what_stood_before_a_break_is_kept() -> None:
    document = parse(b'<testsuite><testcase name="a"/><testcase name="b"><failure message="m">some te')
    assert document.problem
    assert [(c.name, c.result) for c in document.cases] == [("a", "passed"), ("b", "failed")]
    assert document.cases[1].text == "some te"


def test_characters_that_xml_forbids_are_written_out() -> None:
    cases = parse(
        b'<testsuite><testcase name="a\x1b[31m&#27;&#x0;b"><failure>\x00\x08 \xff</failure></testcase></testsuite>'
    ).cases
    assert cases[0].name == "a\\x1b[31m\\x1b\\x00b"
    assert cases[0].text == "\\x00\\x08 \ufffd"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings(encoding: str) -> None:
    name = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    text = f'<?xml version="1.0" encoding="{name}"?><testsuite><testcase name="grüße"/></testsuite>'
    assert parse(text.encode(encoding)).cases[0].name == "grüße"


def test_times() -> None:
    assert [seconds(t) for t in ("1,234.5", "0.5", "", "NaN", "-1", "x", "inf")] == [1234.5, 0.5, 0, 0, 0, 0, 0]


def test_names_say_class_and_test_once() -> None:
    text = b'<testcase classname="A" name="A::t"/><testcase classname="A" name="t"/><testcase name="t"/>'
    cases = parse(b"<testsuite>" + text + b"</testsuite>").cases
    assert [full_name(c) for c in cases] == ["A::t", "A.t", "t"]


def test_reports_of_an_earlier_run_are_left_aside(tmp_path: Path) -> None:
    old, again, new = (tmp_path / f"{n}.xml" for n in ("old", "again", "new"))
    old.write_text('<testsuite><testcase name="old"/></testsuite>')
    again.write_text('<testsuite><testcase name="again"/></testsuite>')
    before = standing(gather(tmp_path, ["*.xml"]))
    os.utime(again, ns=(1, 1))  # written again, whatever time it says
    new.write_text('<testsuite><testcase name="new"/></testsuite>')
    reports = read_reports(gather(tmp_path, ["*.xml"]), before)
    assert [c.name for c in reports.cases] == ["again", "new"]
    assert reports.stale == ("old.xml",)
    assert not read_reports([old], before).finished


def test_only_regular_files_below_the_root_are_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    outside = tmp_path / "outside.xml"
    outside.write_text('<testsuite><testcase name="x"/></testsuite>')
    (root / "link.xml").symlink_to(outside)
    (root / "folder.xml").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe.xml")
    assert gather(root, ["*.xml", "../*.xml"]) == ()
    assert read_reports([root / "pipe.xml", root / "absent.xml"]).problems


def test_many_cases_are_read_fast(tmp_path: Path) -> None:
    case = (
        '<testcase classname="c" name="t{}"><failure message="m">'
        + "at a.b.c(File.java:1)\n" * 20
        + "</failure></testcase>"
    )
    text = "<testsuite>" + "".join(case.format(i) for i in range(5000)) + "</testsuite>"
    (tmp_path / "a.xml").write_text(text)
    assert len(as_heard(read_reports([tmp_path / "a.xml"])).cases) == 5000


def test_places_in_long_texts_are_found_in_linear_time() -> None:
    assert frames_in("a" * 200_000) == ()
    assert frames_in("a.b/" * 50_000) == ()


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_no_bytes_raise(data: bytes) -> None:
    parse(data)
    parse(b"<testsuite><testcase name='a'>" + data)


@given(
    st.lists(
        st.tuples(st.text(max_size=30), st.sampled_from(["", "failure", "error", "skipped"]), st.text(max_size=60)),
        max_size=8,
    )
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_written_is_read(cases: list[tuple[str, str, str]]) -> None:
    body = "".join(
        f"<testcase name={quoteattr(name)}>" + (f"<{tag} message={quoteattr(text)}/>" if tag else "") + "</testcase>"
        for name, tag, text in cases
    )
    document = parse(f"<testsuite>{body}</testsuite>".encode("utf-8", "replace"))
    assert not document.problem
    wanted = {"": "passed", "failure": "failed"}
    assert [c.result for c in document.cases] == [wanted.get(tag, tag) for _, tag, _ in cases]


@given(st.integers(0, len(SUREFIRE)))
@settings(max_examples=80, deadline=None)
def test_a_report_cut_anywhere_is_never_a_whole_one(at: int) -> None:
    document = parse(SUREFIRE[:at])
    assert bool(document.problem) == (at < len(SUREFIRE))
