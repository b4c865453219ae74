"""Understanding a repository: its files, its folder tree, the definitions in its source files."""

from regreen.repo.budget import estimate_tokens
from regreen.repo.classes import is_test_file, role_of, role_of_path
from regreen.repo.files import FileList, list_files
from regreen.repo.outline import render
from regreen.repo.signatures import read_symbols, signatures
from regreen.repo.skeleton import skeleton
from regreen.repo.surroundings import linked_trees, remarks

__all__ = [
    "FileList", "estimate_tokens", "is_test_file", "linked_trees", "list_files", "read_symbols", "remarks", "render",
    "role_of", "role_of_path", "signatures", "skeleton",
]  # fmt: skip
