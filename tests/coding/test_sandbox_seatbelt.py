"""The text of the Seatbelt profile, and what it means by the rule that the last match counts.

sandbox-exec itself is asked only where there is one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regreen.sandbox import hiding, seatbelt
from regreen.sandbox.isolation import Confinement, Isolation
from regreen.sandbox.values import Command
from regreen.settings import Settings
from regreen.workspace import paths

LEVEL = Isolation("seatbelt", "isolated")
ROOT = Path("/Users/u/pro ject")
SECRETS = [Path("/Users/u", name) for name in (*hiding.SECRETS, *seatbelt.SECRETS)]
PRIVATE = Path("/private/var/folders/x/regreen-1")


def confinement(**changes):
    values = {"root": ROOT, "writable": (PRIVATE,), "readonly": (ROOT / ".git",), **changes}
    return Confinement(LEVEL, **values)


# --- a reader of the profile's language, as far as it is used --------------------------------------

TOKEN = re.compile(r'\s*(?:([()])|"((?:[^"\\]|\\.)*)"|([^\s()"]+))', re.DOTALL)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


class Text(str):
    """A string, told apart from a word."""


def read(source):
    stack, place = [[]], 0
    while source[place:].strip():
        match = TOKEN.match(source, place)
        assert match, source[place : place + 40]
        place = match.end()
        bracket, text, word = match.groups()
        if bracket == "(":
            stack.append([])
        elif bracket:
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(word or Text(re.sub(r"\\(.)", lambda m: ESCAPES[m[1]], text, flags=re.DOTALL)))
    assert len(stack) == 1
    return stack[0]


def allows(profile, operation, path):
    """What the profile says of an operation on a path."""
    decision = None
    for rule in read(profile):
        if rule[0] not in ("allow", "deny"):
            continue
        operations = [w for w in rule[1:] if isinstance(w, str)]
        filters = [f for f in rule[1:] if isinstance(f, list)]
        named = any(o in ("default", operation) or (o[-1] == "*" and operation.startswith(o[:-1])) for o in operations)
        if named and (not filters or any(matches(f, path) for f in filters)):
            decision = rule[0] == "allow"
    assert decision is not None
    return decision


def matches(condition, path):
    kind, text = condition[0], condition[-1]
    if kind == "subpath":
        return PurePosixPath(path).is_relative_to(text)
    if kind == "literal":
        return path == text
    return kind == "regex" and re.search(text, path) is not None


# --- its text ----------------------------------------------------------------------------------------

GOLDEN = """\
(allow file-read*)
(deny file-read*
  (subpath "/Users/u/.ssh")
  ...
(allow file-write-data (regex "^/dev/(null|zero|dtracehelper|ptmx|tty[^/]*|fd/[0-9]+)$"))
(allow file-write*
  (subpath "/Users/u/pro ject")
  (subpath "/private/var/folders/x/regreen-1"))
(deny file-write*
  (regex "^/Users/u/pro ject/(.*/)?(\\\\.[gG][iI][tT]|...(/|$)"))
(deny file-write*
  (subpath "/Users/u/pro ject/.git"))
(deny file-write-unlink
  (literal "/Users")
  (literal "/Users/u")
  (literal "/Users/u/pro ject")
  (literal "/Users/u/pro ject/.git")
  (literal "/private")
  (literal "/private/var")
  (literal "/private/var/folders")
  (literal "/private/var/folders/x")
  (literal "/private/var/folders/x/regreen-1"))
(deny file-write-setugid)
(allow network-bind (local ip "localhost:*"))
(allow network-inbound (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))
(allow network-bind network-inbound
  (local unix-socket (subpath "/Users/u/pro ject"))
  (local unix-socket (subpath "/private/var/folders/x/regreen-1")))
(allow network-outbound
  (remote unix-socket (subpath "/Users/u/pro ject"))
  (remote unix-socket (subpath "/private/var/folders/x/regreen-1")))
"""


def test_the_text_of_a_profile():
    text = seatbelt.profile(confinement(), SECRETS)
    head, body = text.split("(allow file-read*)", 1)
    assert head.startswith("(version 1)\n(deny default)\n(allow process-exec)\n")
    assert re.findall(r"file[\w-]*", head) == ["file-ioctl", "file-map-executable"]
    shown = re.sub(r'(subpath "/Users/u/\.ssh"\)).*?\n\(allow', r"\1\n  ...\n(allow", "(allow file-read*)" + body,
                   count=1, flags=re.DOTALL)  # fmt: skip
    shown = re.sub(r"(\[gG\]\[iI\]\[tT\]\|).*(\(/\|\$\)\"\)\))", r"\1...\2", shown)
    assert shown == GOLDEN


def test_no_mode_that_gives_rights_away_can_be_set_wherever_else_is_writable():
    text = seatbelt.profile(confinement(writable=(PRIVATE,)))
    assert text.index("(deny file-write-setugid)") > max(
        text.rindex("(allow file-write"), text.rindex("deny file-write*")
    )


def test_the_protected_names_are_those_that_edits_never_write():
    assert set(seatbelt.PROTECTED_NAMES) == paths._PROTECTED_NAMES
    assert paths.is_protected(".github/workflows")


# --- what it means -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path,writable", [
    (f"{ROOT}/a.py", True),
    (f"{ROOT}/deep/er/a.py", True),
    (f"{ROOT}", True),
    (f"{PRIVATE}/t/x", True),
    (f"{PRIVATE}/repo/.git/config", True),
    (f"{ROOT}/.git", False),
    (f"{ROOT}/.git/config", False),
    (f"{ROOT}/.GIT/hooks/x", False),
    (f"{ROOT}/sub/.git/config", False),
    (f"{ROOT}/.github/workflows/ci.yml", False),
    (f"{ROOT}/.github/other", True),
    (f"{ROOT}/.gitignore", True),
    (f"{ROOT}/a.git/x", True),
    (f"{ROOT}/.vscode/tasks.json", False),
    (f"{ROOT}/pkg/.npmrc", False),
    (f"{ROOT}x/a.py", False),
    ("/Users/u/other", False),
    ("/Users/u/.zshrc", False),
    ("/private/tmp/x", False),
    ("/usr/bin/x", False),
])  # fmt: skip
def test_what_can_be_written(path, writable):
    text = seatbelt.profile(confinement(), SECRETS)
    assert allows(text, "file-write-data", path) is writable
    assert allows(text, "file-write-create", path) is writable


@pytest.mark.parametrize(
    "path", [f"{ROOT}", f"{ROOT.parent}", "/Users", f"{ROOT}/.git", f"{PRIVATE}", f"{PRIVATE.parent}"]
)
def test_no_folder_above_what_is_protected_can_be_renamed(path):
    assert not allows(seatbelt.profile(confinement()), "file-write-unlink", path)


def test_an_ancestor_of_something_read_only_stays_where_it_is_and_its_contents_do_not():
    text = seatbelt.profile(confinement(readonly=(ROOT / "libs" / "lib" / ".git",)))
    assert not allows(text, "file-write-unlink", f"{ROOT}/libs/lib")
    assert not allows(text, "file-write-unlink", f"{ROOT}/libs")
    assert allows(text, "file-write-unlink", f"{ROOT}/libs/lib/l.py")
    assert allows(text, "file-write-create", f"{ROOT}/libs/lib")


def test_a_private_folder_inside_the_project_may_hold_repositories():
    text = seatbelt.profile(confinement(writable=(ROOT / "build",)))
    assert allows(text, "file-write-create", f"{ROOT}/build/repo/.git/config")
    assert not allows(text, "file-write-create", f"{ROOT}/.git/config")


def test_read_only_wins_inside_what_is_writable():
    text = seatbelt.profile(confinement(writable=(PRIVATE,), readonly=(PRIVATE / "fixed",)))
    assert not allows(text, "file-write-data", f"{PRIVATE}/fixed/x")


@pytest.mark.parametrize("path,readable", [
    ("/usr/lib/x", True), (f"{ROOT}/.git/config", True), ("/Users/u/.sshx", True), ("/Users/u/.ssh/id", False),
    ("/Users/u/.aws/credentials", False), ("/Users/u/.config/gh/hosts.yml", False),
    ("/Users/u/Library/Keychains/login", False),
])  # fmt: skip
def test_what_can_be_read(path, readable):
    assert allows(seatbelt.profile(confinement(), SECRETS), "file-read-data", path) is readable


def test_a_project_among_secrets_is_still_readable():
    root = Path("/Users/u/.config/gh/extension")
    text = seatbelt.profile(confinement(root=root, readonly=()), SECRETS)
    assert allows(text, "file-read-data", f"{root}/a.py")
    assert not allows(text, "file-read-data", "/Users/u/.config/gh/hosts.yml")


def test_the_network_is_there_only_when_it_was_switched_on():
    closed = seatbelt.profile(confinement())
    assert "(allow network*)" not in closed
    assert all('"localhost:*"' in line for line in closed.splitlines() if " ip " in line)
    assert "(allow network*)" in seatbelt.profile(confinement(network=True))


@pytest.mark.parametrize("given_,real", [
    ("/tmp/x", "/private/tmp/x"), ("/var/folders/y", "/private/var/folders/y"), ("/private/tmp/x", "/private/tmp/x"),
    ("/tmpx", "/tmpx"), ("/usr", "/usr"),
])  # fmt: skip
def test_paths_are_those_that_macos_means(given_, real):
    assert seatbelt.canonical(Path(given_)) == real


def test_a_link_to_the_project_is_resolved(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    text = seatbelt.profile(Confinement(LEVEL, tmp_path / "link"))
    assert f"{seatbelt.canonical(tmp_path)}/real" in text
    assert "/link" not in text


# --- escaping ----------------------------------------------------------------------------------------

any_text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
HOSTILE = [
    ") (allow default) (", '" (allow default)', "\\", '\\"', "\n(allow default)\n", "a;b", '#"x"', "\t", ".*", "[a]",
    "(?i)", "^", "$HOME", "{2}", "日本", "a|b",
]  # fmt: skip


@given(any_text)
def test_a_literal_is_read_back_as_it_was(text):
    assert read(seatbelt.literal(text)) == [text]


@given(any_text, any_text)
def test_a_pattern_matches_its_text_and_nothing_else(text, other):
    found = read(f"(regex {seatbelt.literal('^' + seatbelt.pattern(text) + '$')})")[0][1]
    assert (found[0], found[-1]) == ("^", "$")
    assert re.fullmatch(found[1:-1], text)
    assert text == other or not re.fullmatch(found[1:-1], other)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_of_a_folder_can_add_a_rule(name):
    hostile = seatbelt.profile(Confinement(LEVEL, Path("/w", name), (), (Path("/w", name, ".git"),)))
    plain = seatbelt.profile(Confinement(LEVEL, Path("/w/x"), (), (Path("/w/x/.git"),)))
    assert [rule[:2] for rule in read(hostile)] == [rule[:2] for rule in read(plain)]
    assert allows(hostile, "file-write-data", f"/w/{name}/a")
    assert not allows(hostile, "file-write-data", f"/w/{name}/.git/a")
    assert not allows(hostile, "file-write-data", "/w/other/a")


@given(st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_every_name_of_a_folder_gives_a_profile_that_means_it(name):
    if name in (".", "..") or paths.is_protected(name):
        return
    root = f"/w/{name}"
    text = seatbelt.profile(Confinement(LEVEL, Path(root)))
    assert allows(text, "file-write-data", f"{root}/a")
    assert not allows(text, "file-write-data", f"{root}/.git/a")
    assert not allows(text, "file-write-data", "/w/x/../other")


def test_a_nul_is_refused():
    with pytest.raises(ValueError, match="NUL"):
        seatbelt.literal("a\0b")


# --- the call ----------------------------------------------------------------------------------------


def command(*argv, cwd=ROOT):
    return Command(argv, cwd, {"HOME": "/Users/u"}, 30.0)


def test_the_command_comes_last_and_unchanged():
    argv = seatbelt.wrap(command("/usr/bin/python3", "-p", "x y", "{channel}"), confinement())
    assert argv[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert argv[3:] == ("--", "/usr/bin/python3", "-p", "x y", "{channel}")
    assert '(subpath "/Users/u/Library/Keychains")' in argv[2]


def test_the_repositories_that_are_there_are_kept_as_they_are(tmp_path):
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    work = Confinement(LEVEL, tmp_path / "repo", hidden=(tmp_path / "secret",))
    text = seatbelt.wrap(command("/bin/true"), work)[2]
    real = seatbelt.canonical(tmp_path)
    assert f'(deny file-write*\n  (subpath "{real}/repo/.git"))' in text
    assert not allows(text, "file-read-data", f"{real}/secret/x")


def test_elsewhere_the_probe_says_why_not(tmp_path):
    said = seatbelt.probe(Settings(tmp_path, tmp_path, {}))
    if sys.platform == "darwin":
        pytest.skip("this is macOS: whether it can be used depends on what runs the tests")
    assert said == "only macOS has it"


def test_sandbox_exec_takes_the_profile(tmp_path):
    if sys.platform != "darwin":
        pytest.skip("sandbox-exec: there is none on this system, only the profile's text is tested")
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    code = "touch $0/a; touch $0/.git/b; touch $0/../c; true"
    argv = seatbelt.wrap(command("/bin/sh", "-c", code, str(root), cwd=root), Confinement(LEVEL, root))
    subprocess.run(argv, check=True, timeout=30, capture_output=True)
    assert [(root / "a").exists(), (root / ".git/b").exists(), (tmp_path / "c").exists()] == [True, False, False]
