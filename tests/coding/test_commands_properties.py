"""What holds for every command line: no hostile option gets through in any spelling, and what passed passes again."""

import tempfile
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import GIT, HOSTILE, HOSTILE_GIT, ordinary, project

from regreen.commands import check, check_git
from regreen.commands.table import READS_GIT, RUNS_TESTS, find
from regreen.errors import RegreenError

LINES = [argv for _, argv in ordinary()] + GIT
PAIRS = [*HOSTILE, *HOSTILE_GIT]
KINDS = {
    *("command_not_allowed", "argument_not_allowed", "argument_value_invalid", "invalid_arguments", "limit_exceeded"),
    "path_outside_workspace",
}
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
CONTROL = st.sampled_from("\x00\x01\x07\x08\t\n\r\x1b\x7f\x85\x9b\u2028\u2029\u202e\u2066\ud800\udfff")


@pytest.fixture(scope="module")
def root():
    with tempfile.TemporaryDirectory() as folder:
        yield project(Path(folder))


def checked(argv, root):
    """What came of it: the checked command, or None. Whatever is refused is refused in one of the known ways."""
    try:
        return (check_git if argv[:1] == ["git"] else check)(argv, root)
    except RegreenError as e:
        assert e.kind in KINDS
        assert len(e.message) + len(e.hint) <= 400, e.as_json()
        assert e.message.isprintable()
        return None


def start_of(argv):
    return find(argv, READS_GIT if argv[0] == "git" else RUNS_TESTS)


FAMILIES = {}
for _start, _option in PAIRS:
    FAMILIES.setdefault(start_of(_start).runner, []).append(_option)


def behind_paths(argv, place):
    """Whether a word at this place is one of git's paths, where every word is a name."""
    return argv[0] == "git" and "--" in argv[:place]


def hostile_for(argv):
    """The hostile options of the command's family."""
    return FAMILIES[start_of(argv).runner]


def known(argv):
    """Every option that the command, or the program behind it, has of its own."""
    schema = start_of(argv).schema
    return schema.known | (schema.inner.known if schema.inner else frozenset())


@st.composite
def spelled(draw, option):
    """A hostile option in some spelling, as one or two words."""
    value = draw(st.sampled_from(["x", "../out/x", "/tmp/x", "no", "1", "true", "a=b", ""]))
    form = draw(st.sampled_from(["plain", "equals", "two", "colon", "abbreviated"]))
    match form:
        case "equals":
            return [f"{option}={value}"]
        case "two":
            return [option, value]
        case "colon":
            return [f"{option}:{value}"]
        case "abbreviated" if option.startswith("--") and len(option) > 4:
            return [option[: draw(st.integers(4, len(option) - 1))]]
        case _:
            return [option]


@given(data=st.data())
def test_hostile_option_among_the_words_of_an_ordinary_command_is_refused(data, root):
    argv = data.draw(st.sampled_from(LINES))
    option = data.draw(st.sampled_from(hostile_for(argv)))
    words = data.draw(spelled(option))
    place = data.draw(st.integers(len(start_of(argv).words), len(argv)))
    if behind_paths(argv, place) or known(argv) & {option, words[0].partition("=")[0]}:
        return
    assert checked([*argv[:place], *words, *argv[place:]], root) is None


@given(data=st.data())
def test_hostile_option_with_another_dash_is_at_most_the_value_of_a_filter(data, root):
    argv = data.draw(st.sampled_from(LINES))
    option = data.draw(st.sampled_from(hostile_for(argv)))
    dash = data.draw(st.sampled_from(DASHES))
    for word in (dash + option.lstrip("-"), dash * 2 + option.lstrip("-"), f"-{dash}{option.lstrip('-')}"):
        place = data.draw(st.integers(len(start_of(argv).words), len(argv)))
        found = checked([*argv[:place], word, *argv[place:]], root)
        if found is not None and not behind_paths(argv, place):
            values = [*found.options, *(found.after.options if found.after else ())]
            assert word in [value for _, value in values]


@given(data=st.data(), control=CONTROL)
def test_control_character_in_any_word_is_refused(data, control, root):
    argv = list(data.draw(st.sampled_from(LINES)))
    place = data.draw(st.integers(0, len(argv) - 1))
    at = data.draw(st.integers(0, len(argv[place])))
    argv[place] = argv[place][:at] + control + argv[place][at:]
    assert checked(argv, root) is None


WORDS = st.one_of(
    st.sampled_from([w for argv in LINES for w in argv]),
    st.sampled_from([option for _, option in PAIRS]),
    st.sampled_from(["--", "-", "", "=", "--=", "-=", "@x", "~", "..", "/", "a\\b", "C:x", "link/x", "-1", ":/"]),
    st.text(max_size=8),
    st.text(alphabet="-=ab/.@~:", max_size=6),
)


@settings(max_examples=200)
@given(data=st.data())
def test_what_is_allowed_is_allowed_again_and_means_the_same(data, root):
    start = data.draw(st.sampled_from(LINES))
    words = data.draw(st.lists(WORDS, max_size=6))
    argv = [*start[: data.draw(st.integers(1, len(start)))], *words]
    found = checked(argv, root)
    if found is None:
        return
    assert checked([*found.words, *found.arguments], root) == found
    given_words = [w for w in argv if w != "--"]
    assert [w for w in (*found.words, *found.arguments) if w != "--"] == given_words
    every = [found, *([found.after] if found.after else [])]
    for word in (w for part in every for w in part.targets):
        assert unicodedata.category(word[0]) != "Pd" or found.runner == "git"
        assert not word.startswith(("/", "@~")[: 1 if found.runner == "git" else 2])
    for name, _ in (o for part in every for o in part.options):
        assert name.startswith("-")


@given(argv=st.lists(st.text(max_size=12), max_size=6))
def test_any_words_are_refused_in_a_known_way(argv, root):
    checked(argv, root)
