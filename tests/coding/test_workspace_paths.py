import pytest

from regreen.errors import Refused
from regreen.workspace import is_command_bearing, is_protected, is_version_control
from regreen.workspace.paths import check_clean, check_new, clean, shown

ROOTS = ("/w/repo", "/link/to/repo")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("a.py", "a.py"),
        ("./sub//ok.py", "sub/ok.py"),
        ("pkg/a..b.py", "pkg/a..b.py"),
        ("sub/../ok.py", "ok.py"),
        (".", ""),
        ("/w/repo/sub/a.py", "sub/a.py"),
        ("/link/to/repo/a.py", "a.py"),
        ("/w/repo", ""),
        ("cafe\u0301.py", "cafe\u0301.py"),
        ("数据/测试.py", "数据/测试.py"),
        ("it's a;b|c $HOME.txt", "it's a;b|c $HOME.txt"),
        ("x~", "x~"),
        ("-weird.py", "-weird.py"),
    ],
)
def test_good_paths_become_clean_relative_ones(path: str, wanted: str) -> None:
    assert clean(path, ROOTS).path == wanted


@pytest.mark.parametrize(
    "path",
    ["..", "../x", "a/../../x", "/etc/passwd", "/w/repo-evil/x", "/w/repo/../x", "C:\\Windows\\x", "c:/x", "..\\x",
     "a\\..\\..\\x", "\\\\server\\share", "\\x", "//etc/passwd"],
)  # fmt: skip
def test_paths_that_leave_the_root_are_refused(path: str) -> None:
    with pytest.raises(Refused) as caught:
        clean(path, ROOTS)
    assert caught.value.kind == "path_outside_workspace"


@pytest.mark.parametrize(
    "path", ["", "a\0b", "a\nb", "a\x1b[0m", "a\u2028b", "file:///etc/passwd", "http://x/y", "a" * 5000]
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(Refused) as caught:
        clean(path, ROOTS)
    assert caught.value.kind == "path_invalid"
    assert "\n" not in caught.value.message
    assert "\0" not in caught.value.message


def test_folders_that_dotdot_steps_over_are_told() -> None:
    assert clean("a/b/../../c.py").stepped == ("a/b", "a")


@pytest.mark.parametrize(
    ("path", "kind"),
    [("~/x.py", "path_outside_workspace"), ("~root/x", "path_outside_workspace"), ("a.txt:x", "path_invalid"),
     ("con", "path_invalid"), ("sub/AUX.py", "path_invalid"), ("lpt1.txt", "path_invalid"), ("a. ", "path_invalid"),
     ("dir./x", "path_invalid"), ("a\udc80", "path_invalid")],
)  # fmt: skip
def test_names_that_other_systems_cannot_hold_are_not_for_new_files(path: str, kind: str) -> None:
    with pytest.raises(Refused) as caught:
        check_new(path)
    assert caught.value.kind == kind


@pytest.mark.parametrize("path", ["conftest.py", "console.py", "nullable.py", ".hidden", "a.b.c", "auxiliary/x", "x~"])
def test_common_names_are_fine_for_new_files(path: str) -> None:
    check_new(path)


@pytest.mark.parametrize("path", ["../x", "/x", "a/../b", "a//b", "./a", ".", "a\0b", "a\ud800b"])
def test_last_check_before_the_disk_lets_only_clean_paths_pass(path: str) -> None:
    with pytest.raises(Refused):
        check_clean(path)


@pytest.mark.parametrize(
    "path",
    [".git/config", ".GIT/hooks/pre-commit", "vendor/sub/.git/hooks/post-checkout", ".git", "a/.Git ", ".git./x",
     ".git::$INDEX_ALLOCATION/x", "GIT~1/config", ".g\u200cit/config", "sub\\.git\\config", ".hg/hgrc", ".svn/x",
     ".vscode/tasks.json", ".idea/x", ".cursor/rules", ".claude/settings.json", ".mcp.json",
     "sub/.MCP.json", ".github/workflows/ci.yml", "x/.GitHub/Workflows/ci.yml", ".bashrc", "home/.zshrc", ".gitmodules",
     ".gitattributes", ".regreen/x"],
)  # fmt: skip
def test_protected_names_count_at_any_depth_case_and_form(path: str) -> None:
    assert is_protected(path)


@pytest.mark.parametrize(
    "path",
    [".gitignore", "src/.gitkeep", "git/config", "a.git/x", ".github/ISSUE_TEMPLATE/a.md", "workflows/x", "bashrc"],
)
def test_ordinary_names_are_not_protected(path: str) -> None:
    assert not is_protected(path)


def test_only_version_control_itself_is_closed_to_restores_too() -> None:
    assert is_version_control("a/.GIT/x")
    assert not is_version_control(".vscode/x")


@pytest.mark.parametrize(
    "path", ["conftest.py", "tests/conftest.py", "pyproject.toml", "TOX.INI", "Makefile", "package.json", "a/evil.pth",
             "build.gradle.kts", "sitecustomize.py", "jest.config.mjs", "setup.py"]
)  # fmt: skip
def test_files_that_decide_what_runs_are_known(path: str) -> None:
    assert is_command_bearing(path)


@pytest.mark.parametrize("path", ["src/app.py", "tests/test_a.py", "tasks.py", "package.jsonx", "my_conftest.py"])
def test_ordinary_code_does_not_bear_commands(path: str) -> None:
    assert not is_command_bearing(path)


def test_paths_are_shown_on_one_line() -> None:
    assert shown("a\n\nApproved: yes") == "`a\\x0a\\x0aApproved: yes`"
