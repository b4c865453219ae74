"""What a model is told: the words, the order, the room, and which files it is shown."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.prompting import BRIEF, CALC, FAILURE, LATER, README, REFUSED, MemorySources

from regreen import edits
from regreen.errors import ConfigError
from regreen.model import AttemptState, Brief, EditError, EditResult, Failure, SuspiciousLine, Tried
from regreen.model.edits import ClosestPlace, FirstDifference
from regreen.proposers.edit_formats import edit_format_for
from regreen.proposers.fitting import Part, cut, fenced, parts, size
from regreen.proposers.involved import involved
from regreen.proposers.prompt import FORMATS, build, least_tokens, read_prompt, refused_text, system_text
from regreen.redact import Redactor

EXPECTED = Path(__file__).parents[1] / "corpora" / "prompts"
MASK = Redactor(["hunter2hunter2"])


def as_recorded(name: str, text: str) -> None:
    """`text` is what the file says; REGREEN_RECORD_PROMPTS=1 writes the file anew."""
    file = EXPECTED / f"{name}.txt"
    if os.environ.get("REGREEN_RECORD_PROMPTS") == "1":
        file.write_text(text + "\n", "utf-8", newline="\n")
    assert text + "\n" == file.read_bytes().decode("utf-8")


def user(brief: Brief, sources: MemorySources | None = None, max_tokens: int = 100_000) -> str:
    return build(brief, sources or MemorySources(), MASK, edit_format="search_replace", max_tokens=max_tokens).user


@pytest.mark.parametrize("name", FORMATS)
def test_the_system_text_is_the_recorded_one(name: str) -> None:
    as_recorded(f"system_{name}", system_text(name))


def test_the_first_message_is_the_recorded_one() -> None:
    as_recorded("first", user(BRIEF))


def test_a_later_message_is_the_recorded_one() -> None:
    as_recorded("later", user(LATER))


def test_the_answer_to_a_refusal_is_the_recorded_one() -> None:
    as_recorded("refused", refused_text(REFUSED, LATER.advice, MASK))


@pytest.mark.parametrize("name", FORMATS)
def test_the_example_of_each_format_can_be_read_as_that_format(name: str) -> None:
    parsed = edits.parse(read_prompt(f"example_{name}"), name)
    assert parsed.problem is None
    assert len(parsed.edits) == 1
    assert edits.parse(read_prompt(f"example_{name}")).format == name


def test_every_format_of_the_table_has_a_prompt() -> None:
    models = ("claude-sonnet-5-5", "gpt-4-turbo", "openai/gpt-5.2", "o3-mini", "qwen3-coder", "gpt-4o", "")
    chosen = [edit_format_for(m) for m in models]
    assert chosen == [
        "search_replace", "unified_diff", "apply_patch", "apply_patch", "search_replace", "search_replace",
        "search_replace",
    ]  # fmt: skip
    assert set(chosen) <= set(FORMATS)


def test_what_stays_from_one_attempt_to_the_next_stands_first() -> None:
    later = user(replace(BRIEF, tried=LATER.tried, attempts_left=4))
    until = user(BRIEF).index("# Now")
    assert "## shop/calc.py" in later[:until]
    assert "# Suspicious lines" in later[:until]
    assert later[:until] == user(BRIEF)[:until]


def test_only_the_form_that_was_chosen_is_spoken_of() -> None:
    assert "SEARCH/REPLACE" not in user(BRIEF)
    assert "say needs_test_change" in user(BRIEF)
    assert "SEARCH" not in system_text("apply_patch")


def test_no_fence_in_a_file_ends_the_fence_around_it() -> None:
    tried = replace(LATER.tried[0], diff="--- a/shop/README.md\n+++ b/shop/README.md\n@@ -1 +1 @@\n-Use\n+Use it:\n")
    shown = user(replace(BRIEF, tried=(tried,)))
    assert f"`````\n{README}`````" in shown


def test_secrets_in_a_brief_are_masked() -> None:
    told = "E   assert 'hunter2hunter2' == 'sk-ant-REDACTED'"
    brief = replace(
        LATER,
        failures=(replace(FAILURE, excerpt=told),),
        suspicious=(SuspiciousLine("shop/calc.py", 6, 1.0, "x = 'hunter2hunter2'"),),
        signatures=("def f(x='hunter2hunter2')",),
        tried=(replace(LATER.tried[0], diff="+hunter2hunter2", note="hunter2hunter2", result="hunter2hunter2"),),
        failing=("t.py::test[hunter2hunter2]",),
        advice="not hunter2hunter2",
    )
    shown = user(brief)
    assert "hunter2" not in shown
    assert "aaaaaaaaaaaaaaaaaaaa" not in shown
    assert "hunter2" not in refused_text(brief.tried[0], brief.advice, MASK)


def test_what_is_no_unicode_can_be_sent() -> None:
    brief = replace(BRIEF, failures=(replace(FAILURE, excerpt="E   \udcff"),))
    user(brief, MemorySources({"shop/calc.py": "x = '\udce4'\n"})).encode("utf-8")


def test_a_file_that_is_too_long_is_shown_around_the_suspicious_lines() -> None:
    rows = [f"def f{n}(): return {n}" for n in range(1, 5001)]
    brief = replace(BRIEF, suspicious=(SuspiciousLine("shop/calc.py", 2500, 1.0, rows[2499]),))
    shown = user(brief, MemorySources({"shop/calc.py": "\n".join(rows) + "\n"}), 3_000)
    assert "## shop/calc.py (only lines 2460-2540 of 5000)" in shown
    assert f"```\n{rows[2459]}\n" in shown
    assert f"\n{rows[2539]}\n```" in shown


def test_a_line_that_no_room_holds_is_left_out_with_its_file() -> None:
    sources = MemorySources({"shop/calc.py": "x" * 100_000, "tests/test_calc.py": "def test_total(): ...\n"})
    shown = user(BRIEF, sources, 6_000)
    assert "## shop/calc.py" not in shown
    assert "## tests/test_calc.py (a test)" in shown


def test_files_that_cannot_be_read_are_left_out() -> None:
    shown = user(LATER, MemorySources({}))
    assert "# Files" not in shown
    assert "shop/calc.py:6  1.00" in shown


def test_a_room_in_which_nothing_can_be_told_is_refused() -> None:
    with pytest.raises(ConfigError, match="too few") as e:
        user(BRIEF, None, least_tokens("search_replace") - 1)
    assert "max_input_tokens" in e.value.hint


def test_the_files_of_a_failure_are_found_the_likeliest_first() -> None:
    texts = {
        "pkg/__init__.py": "from .core import work\n",
        "pkg/core.py": "def work(): ...\n",
        "pkg/deep/inner.py": "x = 1\n",
        "src/other/mod.py": "y = 1\n",
        "tests/test_it.py": "import os\nfrom pkg import work\nfrom other import (\n    mod,\n)\n",
        "vendor/lib.py": "z = 1\n",
        "empty.py": "\n",
    }
    frames = (
        "tests/test_it.py:4 in test_it",
        "pkg/deep/inner.py:1 in f",
        "vendor/lib.py:1",
        "/usr/re.py:9",
        "empty.py:1",
    )
    excerpt = "\n".join(frames)
    failure = replace(FAILURE, id="tests/test_it.py::test_it", file="pkg/deep/inner.py", line=1, excerpt=excerpt)
    brief = replace(BRIEF, suspicious=(), failures=(failure,), failing=(failure.id,))
    found = involved(brief, texts.get)
    assert [f.path for f in found] == [
        "pkg/deep/inner.py", "tests/test_it.py", "pkg/__init__.py", "pkg/core.py", "src/other/mod.py",
    ]  # fmt: skip
    assert [f.path for f in found if f.is_test] == ["tests/test_it.py"]
    assert found[0].lines == (1,)


def test_the_files_of_other_languages_are_found_by_their_imports_and_names() -> None:
    script = {"test/a.test.js": "const { sum } = require('../lib/sum')\nimport x from './x.mjs'\n",
              "lib/sum.js": "exports.sum = 1\n", "test/x.mjs": "export default 1\n"}  # fmt: skip
    failure = replace(FAILURE, id="test/a.test.js > adds", file="test/a.test.js", excerpt="")
    brief = replace(BRIEF, suspicious=(), failures=(failure,), failing=())
    assert [f.path for f in involved(brief, script.get)] == ["test/a.test.js", "lib/sum.js", "test/x.mjs"]
    go = {"pad/pad_test.go": "package pad\n", "pad/pad.go": "package pad\n"}
    failure = replace(FAILURE, id="pad TestPad", file="pad/pad_test.go", excerpt="")
    brief = replace(brief, failures=(failure,))
    assert [f.path for f in involved(brief, go.get)] == ["pad/pad_test.go", "pad/pad.go"]


def test_parts_that_touch_are_one_part() -> None:
    text = "".join(f"line {n}\n" for n in range(1, 101))
    assert parts(text, (10, 14, 90), 280, 20) == (
        Part(5, 19, "\n".join(f"line {n}" for n in range(5, 20))),
        Part(85, 95, "\n".join(f"line {n}" for n in range(85, 96))),
    )
    assert parts(text, (), 60, 20) == (Part(1, 5, "line 1\nline 2\nline 3\nline 4\nline 5"),)
    assert parts(text, (50,), 10, 20) == ()


def test_the_report_on_refused_edits_shows_the_place_and_the_difference() -> None:
    from regreen.fix.brief import make_brief
    from regreen.model import Attempt, Counts, SuiteReport, SuiteStatus

    error = EditError(
        "no_match", "`shop/calc.py`: the lines do not stand there", "copy them from the file", (3, 9),
        ClosestPlace(5, 6, "5 |     s = sum(prices)\n6 |     return s - s * rate"),
        FirstDifference(6, "'    return s-s*rate'", "'    return s - s * rate'"),
    )  # fmt: skip
    failed = [EditResult(n, "shop/calc.py", "failed", error=error) for n in range(6)]
    report = SuiteReport(SuiteStatus.FAILED, "pytest", (), "", "", Counts(), (), (), 0.0)
    attempt = Attempt(1, AttemptState.REFUSED, "", "short", "no_match", edits=tuple(failed))
    told = make_brief([FAILURE.id], report, [attempt], 3).tried[0].result
    assert "edit 1: no_match: `shop/calc.py`: the lines do not stand there" in told
    assert "line 6: sent '    return s-s*rate', found '    return s - s * rate'" in told
    assert "closest place, lines 5-6:\n5 |     s = sum(prices)" in told
    assert "... and 2 more edits" in told
    same = replace(attempt, state=AttemptState.REFUSED, edits=())
    assert make_brief([FAILURE.id], report, [same], 3).tried[0].result == "short"


any_text = st.text(st.characters(exclude_categories=()), max_size=300) | st.sampled_from(
    ["`" * 50, "x" * 5_000, "\n" * 1_000, "ä" * 2_000, "a b\n" * 2_000, "\udcff" * 900, CALC, ""]
)
any_path = (
    st.sampled_from(["shop/calc.py", "tests/test_calc.py", "a.js", "/etc/passwd", "../x.py", "", "no.py"]) | any_text
)
any_failure = st.builds(
    Failure, id=any_text, file=any_path, line=st.integers(-1, 9_999), kind=any_text, message=any_text,
    excerpt=any_text, signature=st.just("s"), note=any_text,
)  # fmt: skip
any_tried = st.builds(Tried, st.integers(1, 9), st.sampled_from(AttemptState), any_text, any_text, any_text)
any_brief = st.builds(
    Brief,
    task=any_text,
    failing=st.lists(any_path, max_size=5).map(tuple),
    failures=st.lists(any_failure, max_size=3).map(tuple),
    suspicious=st.lists(
        st.builds(SuspiciousLine, any_path, st.integers(-1, 9_999), st.just(0.5), any_text), max_size=3
    ).map(tuple),
    signatures=st.lists(any_text, max_size=3).map(tuple),
    tried=st.lists(any_tried, max_size=3).map(tuple),
    attempts_left=st.integers(0, 9),
    failing_total=st.integers(0, 99),
    advice=any_text,
)


@settings(max_examples=60, deadline=None)
@given(any_brief, st.dictionaries(any_path, any_text, max_size=3), any_text, st.integers(0, 9_000))
def test_a_prompt_is_never_longer_than_its_room(brief: Brief, texts: dict[str, str], drawn: str, more: int) -> None:
    most = least_tokens("search_replace") + more
    prompt = build(brief, MemorySources(texts, drawn), MASK, edit_format="search_replace", max_tokens=most)
    taken, chars = size(prompt.system) + size(prompt.user), len(prompt.system) + len(prompt.user)
    told = "Answer with the cause and the edits." in prompt.user
    assert (taken <= most * 3.5, chars / 4 <= most, told) == (True, True, True)


@given(any_text.map(lambda t: t.encode("utf-8", "replace").decode()), st.integers(0, 600))
def test_what_is_cut_is_whole_lines_and_says_so(text: str, room: int) -> None:
    shorter = cut(text, room)
    assert size(shorter) <= room or not shorter
    if shorter and shorter != text:
        kept = shorter.split("\n")
        assert kept[-1] == "[... the rest is left out]"
        assert text.split("\n")[: len(kept) - 1] == kept[:-1]
    assert fenced(text).split("\n")[0] not in text.split("\n")
