"""Where a program is taken from: never from the project by accident."""

import os

import pytest

from regreen.commands.programs import batch_problem, file_names, find_program, local_program


def program(path, mode=0o755):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"#!/bin/sh\n")
    path.chmod(mode)
    return path


@pytest.fixture
def root(tmp_path):
    made = tmp_path / "project"
    made.mkdir()
    return made


def on_path(*folders):
    return {"PATH": os.pathsep.join(map(str, folders))}


def test_program_is_the_first_on_the_path_outside_of_the_project(root, tmp_path):
    program(root / "bin" / "jest")
    first, second = program(tmp_path / "one" / "jest"), program(tmp_path / "two" / "jest")
    assert find_program("jest", on_path(root / "bin", first.parent, second.parent), root) == first
    assert find_program("jest", on_path(root / "bin"), root) is None
    assert find_program("go", on_path(first.parent), root) is None
    assert find_program("jest", {}, root) is None


def test_program_is_not_taken_from_the_project_through_a_link(root, tmp_path):
    program(root / "bin" / "jest")
    (tmp_path / "folder-link").symlink_to(root / "bin", target_is_directory=True)
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "jest").symlink_to(root / "bin" / "jest")
    program(tmp_path / "outside" / "jest")
    (root / "to-outside").symlink_to(tmp_path / "outside", target_is_directory=True)
    for folder in (
        tmp_path / "folder-link",
        tmp_path / "links",
        root / "to-outside",
        tmp_path / "links" / ".." / "project/bin",
    ):
        assert find_program("jest", on_path(folder), root) is None, folder
    (tmp_path / "root-link").symlink_to(root, target_is_directory=True)
    assert find_program("jest", on_path(root / "bin"), tmp_path / "root-link") is None


def test_folders_of_the_path_that_are_not_absolute_are_passed_over(root, tmp_path, monkeypatch):
    program(tmp_path / "bin" / "jest")
    monkeypatch.chdir(tmp_path)
    assert find_program("jest", {"PATH": f"bin{os.pathsep}{os.pathsep}.{os.pathsep}./bin"}, root) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/bin/sh", "a\\b", "a\0", "C:x"])
def test_name_that_is_a_path_is_no_program(name, root):
    assert find_program(name, on_path("/bin", "/usr/bin"), root) is None


def test_program_that_cannot_be_run_or_is_no_file_is_passed_over(root, tmp_path):
    program(tmp_path / "one" / "jest", 0o644)
    (tmp_path / "two" / "jest").mkdir(parents=True)
    (tmp_path / "three").mkdir()
    (tmp_path / "three" / "jest").symlink_to("nowhere")
    os.mkfifo(tmp_path / "three" / "go", 0o755)
    folders = [tmp_path / n for n in ("one", "two", "three")]
    assert find_program("jest", on_path(*folders), root) is None
    assert find_program("go", on_path(*folders), root) is None
    last = program(tmp_path / "four" / "jest")
    assert find_program("jest", on_path(*folders, last.parent), root) == last


def test_program_of_the_project_is_found_by_its_name(root):
    jest = program(root / "packages" / "a" / "node_modules" / ".bin" / "jest")
    gradlew = program(root / "gradlew")
    assert local_program(root, "packages/a", "node_modules/.bin/jest") == jest
    assert local_program(root, "", "gradlew") == gradlew
    assert local_program(root, ".", "gradlew") == gradlew
    assert local_program(root, "packages/a", "gradlew") is None


def test_program_of_the_project_may_be_a_link_that_stays_inside(root):
    program(root / "node_modules" / "jest" / "bin" / "jest.js")
    program(root / "node_modules" / ".pnpm" / "vitest@1" / "node_modules" / "vitest" / "vitest.mjs")
    bin_folder = root / "node_modules" / ".bin"
    bin_folder.mkdir()
    (bin_folder / "jest").symlink_to("../jest/bin/jest.js")
    (root / "node_modules" / "vitest").symlink_to(".pnpm/vitest@1/node_modules/vitest", target_is_directory=True)
    (bin_folder / "vitest").symlink_to("../vitest/vitest.mjs")
    assert local_program(root, "", "node_modules/.bin/jest") == bin_folder / "jest"
    assert local_program(root, "", "node_modules/.bin/vitest") == bin_folder / "vitest"


def test_program_of_the_project_that_leads_out_is_none(root, tmp_path):
    program(tmp_path / "out" / "jest")
    program(root / ".git" / "hooks" / "evil")
    (root / "gradlew").symlink_to(tmp_path / "out" / "jest")
    (root / "vendor").symlink_to(tmp_path / "out", target_is_directory=True)
    (root / "mvnw").symlink_to(".git/hooks/evil")
    (root / "loop").symlink_to("loop")
    for folder, relative in (
        *(("", "gradlew"), ("", "vendor/jest"), ("vendor", "jest"), ("", "mvnw"), ("", "loop")),
        *(
            ("..", "out/jest"),
            ("", "../out/jest"),
            ("/", "bin/sh"),
            ("", "/bin/sh"),
            ("", "a\0b"),
            ("", "..\\out\\jest"),
        ),
    ):
        assert local_program(root, folder, relative) is None, (folder, relative)


def test_on_windows_a_name_means_the_files_with_an_extension_that_runs(root, tmp_path):
    assert file_names("jest", ".EXE;.CMD", windows=True) == ("jest.exe", "jest.cmd")
    assert file_names("jest.CMD", ".EXE;.CMD", windows=True) == ("jest.CMD",)
    assert file_names("jest.js", "", windows=True) == ("jest.js.com", "jest.js.exe", "jest.js.bat", "jest.js.cmd")
    assert file_names("jest", ".EXE", windows=False) == ("jest",)
    program(tmp_path / "one" / "jest", 0o644)
    cmd = program(tmp_path / "two" / "jest.cmd", 0o644)
    path = {"PATH": f"{tmp_path / 'one'};{tmp_path / 'two'}", "PATHEXT": ".EXE;.CMD"}
    assert find_program("jest", path, root, windows=True) == cmd
    local = program(root / "node_modules" / ".bin" / "jest.cmd", 0o644)
    program(root / "node_modules" / ".bin" / "jest", 0o644)
    assert local_program(root, "", "node_modules/.bin/jest", pathext=".CMD", windows=True) == local


def test_words_that_a_batch_file_would_run_are_told(tmp_path):
    assert batch_problem(tmp_path / "npm.cmd", ("test", "a&calc")) != ""
    assert batch_problem(tmp_path / "npm.CMD", ("test", 'a" b')) != ""
    assert batch_problem(tmp_path / "npm.cmd", ("test", "a b")) == ""
    assert batch_problem(tmp_path / "node.exe", ("a&b",)) == ""
