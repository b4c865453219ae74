"""Commands that only read, on a real repository."""

import pytest
from support.cli import Shell
from support.gitrepos import make_repo

SOURCE = f'''class Cart:
    """A cart."""

    def add(self, item: str) -> None:
        self.items = [item]


TOKEN = "ghp_{"a" * 36}"
'''


@pytest.fixture
def shell(tmp_path):
    repo = make_repo(tmp_path / "shop", {"src/cart.py": SOURCE, ".gitignore": "secret.txt\n", "README.md": "hi\n"})
    (repo / "secret.txt").write_text("x")
    (repo / "a\x1b[31mb.txt").write_text("x")
    return Shell(tmp_path, repo)


def test_skeleton_shows_what_git_would_show(shell):
    done = shell.typed("skeleton")
    assert done.code == 0
    assert "cart.py" in done.out and "secret.txt" not in done.out


def test_names_cannot_command_the_terminal(shell):
    assert "\x1b" not in shell.typed("skeleton").out


def test_skeleton_as_json_is_the_tools_result(shell):
    data = shell.typed("skeleton", "src", "--json").document
    assert {"root", "tree", "files", "dirs", "truncated"} <= set(data)
    assert data["files"] == 1


def test_repository_is_found_from_a_folder_inside(shell, tmp_path):
    inside = Shell(tmp_path, shell.cwd / "src")
    assert "README.md" in inside.typed("skeleton").out


def test_signatures_of_everything_by_default(shell):
    done = shell.typed("signatures")
    assert done.code == 0
    assert "src/cart.py" in done.out and "def add(self, item: str) -> None" in done.out


def test_read_prints_the_lines_asked_for(shell):
    assert shell.typed("read", "src/cart.py", "--lines", "1:2").out == 'class Cart:\n    """A cart."""\n'


def test_read_masks_secrets(shell):
    done = shell.typed("read", "src/cart.py")
    assert "ghp_" not in done.out and "[redacted:github-token]" in done.out


@pytest.mark.parametrize(
    "path, code, kind", [("../outside.txt", 5, "path_outside_workspace"), ("none.py", 2, "not_found")]
)
def test_what_cannot_be_read_is_an_error(shell, path, code, kind):
    done = shell.typed("read", path, "--json")
    assert (done.code, done.document["error"]["kind"]) == (code, kind)


def test_error_for_people_is_on_stderr_with_a_hint(shell):
    done = shell.typed("read", "none.py")
    assert done.out == "" and "none.py" in done.err


def test_changes_since_head(shell):
    (shell.cwd / "README.md").write_text("hello\n")
    done = shell.typed("changes")
    assert done.code == 0
    assert "-hi" in done.out and "+hello" in done.out
    assert [f["path"] for f in shell.typed("changes", "--json").document["files"]].count("README.md") == 1
