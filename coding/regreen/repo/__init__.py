"""Understanding a repository: its files, its folder tree, the definitions in its source files."""

from regreen.repo.budget import estimate_tokens
from regreen.repo.files import FileList, is_test_file, list_files
from regreen.repo.signatures import read_symbols, render, signatures
from regreen.repo.skeleton import skeleton
from regreen.repo.surroundings import linked_trees, remarks

__all__ = [
    "FileList", "estimate_tokens", "is_test_file", "linked_trees", "list_files", "read_symbols", "remarks", "render",
    "signatures", "skeleton",
]  # fmt: skip
