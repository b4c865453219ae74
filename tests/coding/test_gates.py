"""Gates besides the tests: what counts as a finding, which findings are new, and real runs in the sandbox."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from pathlib import Path

import pytest
from support.engines import engine_on, replacement, run_script, script
from support.repos import BUG, FIX, make_repo, red_repo

from regreen.errors import ConfigError
from regreen.fix.gates import Gate, GateReport, compare, findings
from regreen.sandbox import Cancel, isolation
from regreen.session.gating import gates_of, run_gate
from regreen.session.repository import Session
from regreen.settings import load_settings
from regreen.tools.text import say

pytestmark = pytest.mark.usefixtures("few_looks")

# --- findings -----------------------------------------------------------------------------------------

OUTPUTS = {
    "ruff": (
        """\
        F401 [*] `os` imported but unused
         --> src/a.py:1:8
          |
        1 | import os
          |        ^^
        2 | import sys
          |
        help: Remove unused import: `os`
          |
          - import os
        1 | import sys
          |

        C901 `f` is too complex (12 > 10)
          --> src/a.py:11:5
           |
         9 | l = 1
        11 | def f(x):
           |     ^

        Found 2 errors.
        [*] 1 fixable with the `--fix` option.
        """,
        ("src/a.py: F401 `os` imported but unused", "src/a.py: C901 `f` is too complex"),
    ),
    "ruff concise": (
        """\
        src/a.py:1:8: F401 [*] `os` imported but unused
        src/a.py:11:7: F821 Undefined name `nope`
        Found 2 errors.
        [*] 1 fixable with the `--fix` option.
        """,
        ("src/a.py: F401 `os` imported but unused", "src/a.py: F821 Undefined name `nope`"),
    ),
    "flake8": (
        """\
        ./src/a.py:1:1: F401 'os' imported but unused
        ./src/a.py:7:1: F811 redefinition of unused 'os' from line 1
        ./src/a.py:9:80: E501 line too long (103 > 79 characters)
        value = 'something that is far too long'
                                               ^
        ./src/b.py:2:1: E302 expected 2 blank lines, found 1
        1     E302 expected 2 blank lines, found 1
        """,
        (
            "src/a.py: F401 'os' imported but unused",
            "src/a.py: F811 redefinition of unused 'os' from line",
            "src/a.py: E501 line too long",
            "src/b.py: E302 expected 2 blank lines, found 1",
        ),
    ),
    "mypy": (
        """\
        src/a.py: note: In function "f":
        src/a.py:6:12: error: Incompatible return value type (got "int", expected "str")  [return-value]
        src/a.py:9: error: Name "x" already defined on line 3  [no-redef]
        src/a.py:9: note: See https://mypy.readthedocs.io/en/stable/running_mypy.html#missing-imports
        Found 2 errors in 1 file (checked 12 source files)
        """,
        (
            'src/a.py: error: Incompatible return value type (got "int", expected "str") [return-value]',
            'src/a.py: error: Name "x" already defined on line [no-redef]',
        ),
    ),
    "pyright": (
        """\
        /w/repo/src/a.py
          /w/repo/src/a.py:6:12 - error: Type "int" is not assignable to return type "str"
            "int" is not assignable to "str" (reportReturnType)
          /w/repo/src/a.py:11:7 - error: "nope" is not defined (reportUndefinedVariable)
          /w/repo/src/a.py:12:7 - information: Type of "x" is "int"
        2 errors, 0 warnings, 1 information
        """,
        (
            'src/a.py: error: Type "int" is not assignable to return type "str"',
            'src/a.py: error: "nope" is not defined (reportUndefinedVariable)',
        ),
    ),
    "eslint": (
        """\

        /w/repo/src/a.js
           1:10  error    'x' is defined but never used  no-unused-vars
          12:3   warning  Unexpected console statement   no-console

        /w/repo/src/b.js
          3:1  error  Parsing error: Unexpected token }

        ✖ 3 problems (2 errors, 1 warning)
          1 error and 0 warnings potentially fixable with the `--fix` option.

        """,
        (
            "src/a.js: error 'x' is defined but never used no-unused-vars",
            "src/a.js: warning Unexpected console statement no-console",
            "src/b.js: error Parsing error: Unexpected token }",
        ),
    ),
    "eslint compact": (
        "/w/repo/src/a.js: line 1, col 10, Error - 'x' is defined but never used. (no-unused-vars)\n\n1 problem\n",
        ("src/a.js: Error - 'x' is defined but never used. (no-unused-vars)",),
    ),
    "tsc": (
        """\
        src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.
        app/[id]/page.tsx(10,3): error TS2345: Argument of type 'X' is not assignable to parameter of type 'Y'.
          Property 'z' is missing in type 'X' but required in type 'Y'.
        error TS5055: Cannot write file 'a.js' because it would overwrite input file.
        """,
        (
            "src/a.ts: error TS2322: Type 'string' is not assignable to type 'number'.",
            "app/[id]/page.tsx: error TS2345: Argument of type 'X' is not assignable to parameter of type 'Y'.",
            "error TS5055: Cannot write file 'a.js' because it would overwrite input file.",
        ),
    ),
    "tsc pretty": (
        "\x1b[96msrc/a.ts\x1b[0m:\x1b[93m3\x1b[0m:\x1b[93m7\x1b[0m - \x1b[91merror\x1b[0m\x1b[90m TS2322: \x1b[0m"
        "Type 'string' is not assignable to type 'number'.\n\n\x1b[7m3\x1b[0m const n: number = 's';\n"
        "\x1b[7m \x1b[0m \x1b[91m      ~\x1b[0m\n\n\nFound 1 error in src/a.ts\x1b[90m:3\x1b[0m\n",
        ("src/a.ts: error TS2322: Type 'string' is not assignable to type 'number'.",),
    ),
    "gcc": (
        """\
        In file included from b.c:3:
        a.h:2:1: warning: ‘g’ declared ‘static’ but never defined [-Wunused-function]
        a.c: In function ‘f’:
        a.c:4:14: warning: format ‘%s’ expects argument of type ‘char *’, but argument 2 has type ‘int’ [-Wformat=]
            4 |     printf("%s\\n", x);
              |             ~^     ~
              |              |     |
              |              |     int
              |             %d
        a.c:2:9: note: declared here
        a.c:9:5: error: ‘y’ undeclared (first use in this function)
            9 |     y = 1;
              |     ^
        """,
        (
            "a.h: warning: ‘g’ declared ‘static’ but never defined [-Wunused-function]",
            "a.c: warning: format ‘%s’ expects argument of type ‘char *’, but argument 2 has type ‘int’ [-Wformat=]",
            "a.c: error: ‘y’ undeclared (first use in this function)",
        ),
    ),
    "cargo": (
        """\
            Checking cr v0.1.0 (/w/repo/cr)
        warning: unused variable: `x`
         --> src/main.rs:2:9
          |
        2 |     let x = 3;
          |         ^ help: if this is intentional, prefix it with an underscore: `_x`
          |
          = note: `#[warn(unused_variables)]` on by default

        error[E0308]: mismatched types
         --> src/main.rs:7:7
          |
        7 |     f("a");
          |     - ^^^ expected `i32`, found `&str`
          |
        note: function defined here
         --> src/main.rs:1:4
          |
        1 | fn f(x: i32) {
          |    ^ ------

        For more information about this error, try `rustc --explain E0308`.
        warning: `cr` (bin "cr") generated 1 warning
        error: could not compile `cr` (bin "cr") due to 1 previous error; 1 warning emitted
        """,
        ("src/main.rs: warning: unused variable: `x`", "src/main.rs: error[E0308]: mismatched types"),
    ),
    "go vet": (
        """\
        # example.com/m
        ./main.go:8:2: self-assignment of y to y
        # [example.com/m/sub]
        vet: sub/o.go:2:19: too many return values
        \thave (number)
        \twant ()
        """,
        ("main.go: self-assignment of y to y", "sub/o.go: too many return values"),
    ),
    "javac by maven": (
        "[INFO] ----\n[ERROR] /w/repo/src/A.java:[3,5] cannot find symbol\n[INFO] 1 error\n",
        ("src/A.java: cannot find symbol",),
    ),
    "black": (
        "would reformat src/a.py\n\nOh no! 💥 💔 💥\n1 file would be reformatted, 3 files would be left unchanged.\n",
        ("would reformat src/a.py", "Oh no! 💥 💔 💥"),
    ),
    "prettier": (
        "Checking formatting...\n[warn] src/a.js\n[warn] Code style issues found in 2 files. Run Prettier to fix.\n",
        ("[warn] src/a.js",),
    ),
    "gofmt -l": ("main.go\nsub/o.go\n", ("main.go", "sub/o.go")),
    "windows": (
        "C:\\w\\a.ts(3,5): error TS1005: ';' expected.\r\nC:\\w\\b.c:3:5: error: x\r\n",
        ("C:\\w\\a.ts: error TS1005: ';' expected.", "C:\\w\\b.c: error: x"),
    ),
    "nothing": ("", ()),
}


@pytest.mark.parametrize("tool", OUTPUTS)
def test_findings_of_known_tools_are_taken_without_what_moves(tool: str) -> None:
    output, expected = OUTPUTS[tool]
    assert findings(textwrap.dedent(output), "/w/repo") == expected


def test_output_of_no_known_layout_counts_line_by_line_without_its_numbers() -> None:
    first = findings("12:30:45 checked 12 of 40 tables in 0.31 s\n12:30:46 table users has no key\n\n-----\n")
    again = findings("09:01:02 checked 13 of 41 tables in 1.2 s\n09:01:09 table users has no key\n=====\n")
    assert first == again
    assert first[1] == "table users has no key"
    assert len(first) == 2


def test_lines_that_only_look_like_places_are_none() -> None:
    for text in ("localhost:8080: refused", "12:30 - lunch", "see http://a.b/c:80", "  at f (/p/a.js:3:5)"):
        assert not any(f.startswith(("localhost:", "12", "see http", "at f")) and f != text
                       for f in findings(text + "\na.py:1: real"))  # fmt: skip
        assert findings(text + "\na.py:1: real") == ("a.py: real",)


def test_equal_findings_are_counted() -> None:
    twice = "a.py:1:1: F401 `os` unused\na.py:9:1: F401 `os` unused\n"
    assert findings(twice) == ("a.py: F401 `os` unused",) * 2


def test_a_flood_of_output_is_read_in_time_that_grows_with_it() -> None:
    listed = "src/a.js\n" + "".join(f"  {i}:1  error  bad thing  rule\n" for i in range(20_000))
    assert len(findings(listed)) == 20_000
    assert findings("x " * 500_000) != ()
    assert findings(":1" * 400_000) is not None
    assert findings("a:" * 400_000) is not None


# --- comparing ----------------------------------------------------------------------------------------


def report(status: int | None, *found: str, message: str = "") -> GateReport:
    return GateReport("lint", ("lint", "."), status, found, message)


def test_only_new_findings_block() -> None:
    result = compare(report(1, "a: x", "b: y"), report(1, "b: y", "c: z", "a: x"))
    assert not result.ok
    assert result.new == ("c: z",)
    assert "new finding" in result.message
    assert (result.name, result.argv) == ("lint", ("lint", "."))


def test_what_failed_before_and_fails_the_same_does_not_block() -> None:
    for now in (report(1, "b: y", "a: x"), report(1, "a: x"), report(0)):
        result = compare(report(1, "a: x", "b: y"), now)
        assert result.ok
        assert result.new == ()


def test_one_more_of_the_same_is_new() -> None:
    assert compare(report(1, "a: x"), report(1, "a: x", "a: x")).new == ("a: x",)
    assert compare(report(1, "a: x", "a: x"), report(1, "a: x")).ok


def test_what_passed_and_fails_now_blocks_even_without_findings() -> None:
    result = compare(report(0), report(3))
    assert not result.ok
    assert "3" in result.message
    warned = compare(report(0, "a: warning"), report(1, "a: warning"))
    assert not warned.ok
    assert warned.new == ()


def test_a_gate_that_passes_passes_whatever_it_prints() -> None:
    assert compare(report(1, "a: x"), report(0, "b: warning")).ok
    assert compare(report(0), report(0, "b: warning")).ok


def test_a_gate_that_could_not_run_at_the_start_neither_vouches_nor_blocks_and_says_so() -> None:
    for now in (report(0), report(1, "a: x"), report(None, message="gone")):
        result = compare(report(None, message="mypy is not installed"), now)
        assert (result.ok, result.compared, result.blocks) == (False, False, False)
        assert result.message == "not compared: it could not be run at the start (mypy is not installed)"


def test_a_gate_that_only_ever_says_why_it_cannot_work_is_quoted() -> None:
    broken = report(1, "python3: No module named mypy")
    result = compare(broken, broken)
    assert (result.ok, result.blocks) == (True, False)
    assert result.message.endswith("with nothing new; it says: python3: No module named mypy")
    assert len(compare(report(1, "x" * 999), report(1, "x" * 999)).message) < 400


def test_a_gate_that_can_run_no_more_blocks() -> None:
    for before in (report(0), report(1, "a: x")):
        result = compare(before, report(None, message="it took longer than 5 s"))
        assert not result.ok
        assert "longer than 5 s" in result.message


def test_another_way_of_failing_without_a_finding_blocks() -> None:
    assert not compare(report(1, "a: x"), report(2)).ok
    assert compare(report(1, "a: x"), report(1)).ok
    assert compare(report(3, "a: x", "b: y"), report(2, "a: x")).ok  # pylint's status is made of bits


def test_many_new_findings_are_shown_in_part() -> None:
    result = compare(report(0), report(1, *(f"a: {i}" for i in range(100))))
    assert len(result.new) == 20
    assert "100 new findings" in result.message
    assert "80 more" in result.message


# --- settings -----------------------------------------------------------------------------------------


def settings_of(folder: Path, text: str):
    file = folder / "config.toml"
    file.write_text(text, "utf-8")
    return load_settings({}, config_file=file)


def test_gates_are_read_from_the_users_file_in_their_order(tmp_path: Path) -> None:
    found = settings_of(tmp_path, """\
[[gates."/abs/repo/"]]
name = "types"
argv = ["mypy", "src"]
timeout_s = 90

[[gates."/abs/repo/"]]
name = "lint"
argv = ["ruff", "check"]

[[gates."/b"]]
name = "lint"
argv = ["make", "lint"]
""").gates  # fmt: skip
    assert found == {
        "/abs/repo": (Gate("types", ("mypy", "src"), 90.0), Gate("lint", ("ruff", "check"))),
        "/b": (Gate("lint", ("make", "lint")),),
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[[gates."rel"]]\nname = "a"\nargv = ["x"]', "absolute"),
        ('[gates."/a"]\nname = "a"\nargv = ["x"]', "double brackets"),
        ('gates = ["x"]', "gates"),
        ('[[gates."/a"]]\nargv = ["x"]', "name"),
        ('[[gates."/a"]]\nname = " "\nargv = ["x"]', "name"),
        ('[[gates."/a"]]\nname = "a\\nb"\nargv = ["x"]', "name"),
        ('[[gates."/a"]]\nname = "a"', "argv"),
        ('[[gates."/a"]]\nname = "a"\nargv = "mypy src"', "list of words"),
        ('[[gates."/a"]]\nname = "a"\nargv = []', "list of words"),
        ('[[gates."/a"]]\nname = "a"\nargv = ["x", 3]', "list of words"),
        ('[[gates."/a"]]\nname = "a"\nargv = ["x"]\ntimeout_s = -1', "seconds"),
        ('[[gates."/a"]]\nname = "a"\nargv = ["x"]\ntimeout_s = true', "seconds"),
        ('[[gates."/a"]]\nname = "a"\nargv = ["x"]\ntimeout_s = inf', "seconds"),
        ('[[gates."/a"]]\nname = "a"\nargv = ["x"]\nshell = true', "something else"),
        ('[[gates."/a"]]\nname = "a"\nargv = ["x"]\n[[gates."/a"]]\nname = "a"\nargv = ["y"]', "name"),
    ],
)
def test_a_mistake_in_a_gate_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings_of(tmp_path, text)
    assert caught.value.kind == "config_refused"
    assert told in caught.value.message + caught.value.hint
    assert caught.value.hint


# --- real runs ----------------------------------------------------------------------------------------

CHECKER = """\
import os
import pathlib
import sys

bad = 0
for path in sorted(pathlib.Path(".").glob("*.py")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "TODO" in line:
            bad += 1
            print(f"{path}:{number}:{line.index('TODO') + 1}: T1 {line.strip()}")
print(f"Found {bad} errors.")
print(os.environ.get("SECRET_TOKEN", "no token"), os.environ.get("GIVEN", ""), file=sys.stderr)
sys.exit(bool(bad))
"""


def gate_run(root: Path, *argv: str, timeout_s: float = 0.0, cancel: Cancel | None = None, **chosen) -> GateReport:
    with engine_on(root, **chosen) as engine:
        gate = Gate("check", argv, timeout_s)
        return run_gate(engine.session(), gate, cancel or Cancel(), root.parent / "logs")


@pytest.fixture
def checked(tmp_path: Path) -> Path:
    tool = tmp_path / "tools" / "check.py"
    tool.parent.mkdir()
    tool.write_text(CHECKER)
    (tmp_path / "r").mkdir()
    return make_repo(tmp_path / "r", {"a.py": "x = 1  # TODO a\n", "b.py": "y = 1\n"})


def test_a_gate_is_run_and_what_moved_is_no_new_finding(checked: Path) -> None:
    tool = str(checked.parent / "tools" / "check.py")
    before = gate_run(checked, sys.executable, tool)
    assert before.status == 1
    assert before.findings == ("a.py: T1 x = 1 # TODO a",)
    assert before.argv == (sys.executable, tool)
    assert "Found 1 errors." in Path(before.log).read_text()
    (checked / "a.py").write_text("\n\nimport os\n\nx = 1  # TODO a\n")
    assert compare(before, gate_run(checked, sys.executable, tool)).ok
    (checked / "b.py").write_text("y = 2  # TODO b\n")
    result = compare(before, gate_run(checked, sys.executable, tool))
    assert not result.ok
    assert result.new == ("b.py: T1 y = 2 # TODO b",)


def test_a_gate_sees_the_environment_of_tests_and_no_secrets(checked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2hunter2")
    shown = gate_run(checked, sys.executable, str(checked.parent / "tools" / "check.py"), test_environ={"GIVEN": "yes"})
    assert "no token yes" in Path(shown.log).read_text()


def test_secrets_that_a_gate_prints_are_masked(checked: Path) -> None:
    code = "import os; print('a.py:1:1: ' + os.environ['API_TOKEN'])"
    shown = gate_run(checked, sys.executable, "-c", code, test_environ={"API_TOKEN": "hunter2hunter2xyz"})
    assert shown.status == 0
    assert len(shown.findings) == 1
    assert "hunter2hunter2xyz" not in shown.findings[0]


def test_a_gate_that_is_not_there_says_so(checked: Path) -> None:
    for word in ("no-such-tool", "./no-such-file", "/no/such/tool"):
        shown = gate_run(checked, word)
        assert shown.status is None
        assert word in shown.message


def test_a_gate_that_hangs_is_ended(checked: Path) -> None:
    shown = gate_run(checked, sys.executable, "-c", "import time; time.sleep(600)", timeout_s=1.0)
    assert shown.status is None
    assert "within 1 s" in shown.message


def test_a_cancelled_gate_ends(checked: Path) -> None:
    cancel = Cancel()
    cancel.set()
    shown = gate_run(checked, sys.executable, "-c", "import time; time.sleep(600)", cancel=cancel)
    assert shown.status is None
    assert "cancelled" in shown.message


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_gate_that_dies_of_a_signal_could_not_be_run(checked: Path) -> None:
    shown = gate_run(checked, sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert shown.status is None
    assert "signal" in shown.message.lower() or "SIGKILL" in shown.message


def test_a_flood_is_not_compared(checked: Path) -> None:
    shown = gate_run(checked, sys.executable, "-c", "print(('x' * 999 + '\\n') * 9000)")
    assert shown.status is None
    assert "bytes" in shown.message
    assert shown.findings == ()


def test_a_gate_is_kept_from_what_tests_are_kept_from(checked: Path) -> None:
    outside = checked.parent / "outside.txt"
    shown = gate_run(checked, sys.executable, "-c", f"open({str(outside)!r}, 'w').write('x')")
    with engine_on(checked) as engine:
        level = isolation(engine.settings).level
    if level == "none":
        pytest.skip("no isolation here")
    assert shown.status is not None
    assert not outside.exists()  # at some levels it is written into a private folder of that name


def test_the_names_of_private_folders_make_nothing_new(checked: Path) -> None:
    code = "import os, sys; print('error: no space in', os.environ['TMPDIR']); sys.exit(1)"
    first, again = (gate_run(checked, sys.executable, "-c", code) for _ in range(2))
    assert first.findings == again.findings == ("error: no space in $TMPDIR/tmp",)


def test_programs_of_the_projects_environment_come_first(checked: Path) -> None:
    programs = checked / ".venv" / "bin"
    programs.mkdir(parents=True)
    (checked / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (programs / "python").symlink_to(sys.executable)
    (programs / "lint").write_text("#!/bin/sh\necho a.py:1:1: seen\nexit 4\n")
    (programs / "lint").chmod(0o755)
    shown = gate_run(checked, "lint")
    assert (shown.status, shown.findings) == (4, ("a.py: seen",))


def test_real_ruff_leaves_nothing_in_the_project(checked: Path) -> None:
    ruff = shutil.which("ruff") or shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip("no ruff")
    (checked / "a.py").write_text("import os\n")
    before = {p.name for p in checked.iterdir()}
    shown = gate_run(checked, ruff, "check", "--isolated", ".")
    assert shown.findings == ("a.py: F401 `os` imported but unused",)
    assert {p.name for p in checked.iterdir()} == before
    assert shown.cpu_s > 0


def test_gates_belong_to_the_repository_that_the_user_named(checked: Path) -> None:
    gate = Gate("lint", ("lint",))
    with engine_on(checked, gates={str(checked): (gate,), "/elsewhere": (Gate("x", ("x",)),)}) as engine:
        session = engine.session()
        assert isinstance(session, Session)
        assert gates_of(session) == (gate,)
    with engine_on(checked) as engine:
        assert gates_of(engine.session()) == ()


# --- in a fix run -------------------------------------------------------------------------------------

RULE = """\
import pathlib
import sys

pathlib.Path(".gate-cache").write_text("x")
bad = [f"{p}:{n}:1: G1 {line}" for p in sorted(pathlib.Path(".").glob("*.py"))
       for n, line in enumerate(p.read_text().splitlines(), 1) if "lambda:" in line or "old" in line]
print("\\n".join(bad))
sys.exit(bool(bad))
"""


def test_a_fix_that_a_gate_objects_to_is_no_fix_and_the_next_one_may_be(tmp_path: Path) -> None:
    tool = tmp_path / "gate.py"
    tool.write_text(RULE)
    root = red_repo(tmp_path / "r")
    (root / "legacy.py").write_text("old = 1\n")  # fails the gate from the start
    gates = {str(root): (Gate("rules", (sys.executable, str(tool))), Gate("gone", ("no-such-program",)))}
    bad = [replacement("calc.py", BUG, "    return s + (lambda: s * rate)()")]
    good = [replacement("calc.py", BUG, FIX), replacement("legacy.py", "old = 1", "\nold = 1")]
    with engine_on(root, gates=gates) as engine:
        data = run_script(engine, script(tmp_path, [bad, good]))
    outcome = data["outcome"]
    assert outcome["reason"] == "fixed"
    assert [a["state"] for a in data["attempts"]] == ["same", "passed"]
    assert "lambda:" in data["attempts"][0]["message"]
    told = {g["name"]: g for g in outcome["evidence"]["gates"]}
    assert told["rules"]["ok"]
    assert data["attempts"][0]["gates"] == ["rules"]
    assert not told["gone"]["ok"]
    assert not told["gone"]["compared"]
    assert "no-such-program" in told["gone"]["message"]
    said = say("fix_tests", data).splitlines()
    assert any(line.startswith("gate gone: not compared: it could not be run at the start (`no-such-") for line in said)
    assert any(line.startswith("gate rules: failed as it did at the start (exit status 1)") for line in said)
    assert not outcome["conflicts"]
    assert not (root / ".gate-cache").exists()


def test_a_run_that_ends_for_a_gates_objections_advises_to_look_at_the_gate(tmp_path: Path) -> None:
    tool = tmp_path / "gate.py"
    tool.write_text(RULE)
    root = red_repo(tmp_path / "r")
    ways = ("s + (lambda: s * rate)()", "s + (lambda: rate * s)()", "(lambda: s * rate)() + s")
    bad = [[replacement("calc.py", BUG, f"    return {way}")] for way in ways]
    with engine_on(root, gates={str(root): (Gate("rules", (sys.executable, str(tool))),)}) as engine:
        outcome = run_script(engine, script(tmp_path, bad))["outcome"]
    assert outcome["reason"] == "no_progress"
    assert "gate rules objects" in outcome["hint"]
    assert "failing values" not in outcome["hint"]
