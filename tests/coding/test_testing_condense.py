"""Short and true: what a failure shows, what failures share, and that what is left out is said."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from regreen.model import Counts, SuiteReport, SuiteStatus
from regreen.testing.channel import Frame, RawFailure, Record
from regreen.testing.condense import MAX_EXCERPT, condense, group, make_failure, neutral, normalised, shorten

ROOT = Path("/project")


def raw(test="tests/test_a.py::test_x", kind="ValueError", message="bad value 3", frames=None, **fields):
    frames = (Frame("/project/a.py", 7, "f", 6, ("def f():", "    raise ValueError(3)")),) if frames is None else frames
    return RawFailure(test, kind, message, tuple(frames), **fields)


def failure(**fields):
    return make_failure(raw(**fields), ROOT, lambda text: text)


def report_of(failures, **fields):
    plain = {"status": SuiteStatus.FAILED, "runner": "pytest", "argv": (), "interpreter": "", "sandbox": "none"}
    values = {**plain, "counts": Counts(failed=len(failures), total=len(failures)), "failures": tuple(failures),
              "groups": group(failures), "duration_s": 1.5, **fields}  # fmt: skip
    return SuiteReport(**values)


def test_failure_shows_the_error_and_the_innermost_place_in_the_project():
    shown = failure()
    assert (shown.file, shown.line, shown.kind, shown.message) == ("a.py", 7, "ValueError", "bad value 3")
    assert shown.excerpt.splitlines() == [
        "E   ValueError: bad value 3",
        "a.py:7 in f",
        "     6 | def f():",
        ">    7 |     raise ValueError(3)",
    ]


def test_signature_is_equal_for_equal_causes_and_differs_by_place_kind_and_words():
    same = {failure(message=m).signature for m in ("bad value 3", "bad value 41", "bad  value 0.5")}
    assert len(same) == 1
    others = (
        failure(kind="KeyError"),
        failure(message="worse value 3"),
        failure(frames=[Frame("/project/b.py", 7, "f")]),
    )
    assert len({*same, *(o.signature for o in others)}) == 4


def test_numbers_addresses_paths_and_times_do_not_make_a_message_another():
    one = normalised(
        "at 0x7f1 in /tmp/pytest-1/x.txt on 2026-01-02T03:04:05.6Z, 12 of 3e4567d8-1111-2222-3333-444455556666"
    )
    two = normalised("at 0x9a2 in /var/q/x.txt on 2025-11-12 13:14:15, 9 of 00000000-aaaa-bbbb-cccc-000000000000")
    assert normalised(one) == normalised(two)


def test_failures_of_one_cause_are_one_group_with_one_exemplar():
    many = [failure(test=f"t.py::test_x[{n}]", message=f"bad value {n}") for n in range(30)]
    text = condense(report_of([*many, failure(test="t.py::test_y", kind="KeyError")]))
    assert text.count("raise ValueError") == 2  # one exemplar of each cause
    assert "same cause: t.py::test_x[1], " in text
    assert "and 21 more" in text
    assert text.startswith("failed: 31 failed in 1.50 s (pytest)")


def test_text_stays_within_its_size_and_says_what_is_left_out():
    many = [failure(test=f"t.py::test_{n}", kind=f"Error{n}", message="m" * 1000) for n in range(50)]
    text = condense(report_of(many, log="/state/tests.log", notes=("output cut",)), 4000)
    assert len(text) <= 4000
    assert "more groups" in text
    assert text.endswith("note: output cut\ncomplete output: /state/tests.log")


def test_excerpt_is_bounded_and_captured_output_keeps_its_end():
    noise = "\n".join(f"line {n}" for n in range(10_000))
    shown = failure(message="x" * 5000, sections=(("Captured stdout call", noise),))
    assert len(shown.excerpt) <= MAX_EXCERPT
    assert "left out" in shown.excerpt
    assert "line 9999" in shown.excerpt
    assert len(shown.message) <= 300


def test_secrets_are_masked_before_anything_is_cut():
    key = "-----BEGIN PRIVATE KEY-----\n" + "A" * 3000 + "\n-----END PRIVATE KEY-----"
    shown = make_failure(raw(message=key), ROOT, lambda text: text.replace(key, "[masked]"))
    assert "AAA" not in shown.excerpt + shown.message


def test_terminal_sequences_and_hidden_characters_are_written_out():
    hostile = "\x1b[2J\x1b]0;title\x07red\x1b[0m\x00\x08 \u202egnp.exe \u200b \ud800 end\r\nnext"
    assert neutral(hostile) == "red\\x00\\x08 \\u202egnp.exe \\u200b \\ud800 end\nnext"


@given(st.text())
def test_neutral_text_can_be_encoded_and_moves_no_cursor(text):
    clean = neutral(text)
    clean.encode("utf-8")
    assert not set(clean) & set(map(chr, [*range(9), *range(11, 32), *range(127, 160)]))


@given(st.text(max_size=300), st.integers(min_value=60, max_value=200), st.booleans())
def test_shortened_text_is_never_longer_than_wanted(text, limit, tail):
    assert len(shorten(text, limit, tail=tail)) <= limit


@given(st.binary(max_size=200))
def test_bytes_on_the_channel_that_are_not_ours_change_no_result(data):
    record = Record("nonce", lambda: 0.0)
    record.feed(data + b"\n")
    record.feed(b'{"n": "other", "k": "exit", "rc": 0}\n[1]\n"x"\n')
    assert (record.exit_code, record.outcomes, record.hello) == (None, {}, False)
    assert record.foreign >= 3


def test_a_place_without_a_name_is_shown_without_one():
    assert "a.c:7\n" in failure(frames=[Frame("/project/a.c", 7, "", 7, ("x",))]).excerpt
