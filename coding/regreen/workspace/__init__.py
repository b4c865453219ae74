"""A project's files: path rules, confined reading, the byte-faithful text model, and the journal that writes."""

from regreen.workspace.files import FileImage, Spot, Workspace
from regreen.workspace.journal import Change, Journal
from regreen.workspace.looking import Kind, Stat
from regreen.workspace.paths import is_command_bearing, is_protected, is_secret, is_version_control
from regreen.workspace.text import Eol, Line, Text, TextProblem, split_lines
from regreen.workspace.writing import StaleFile

__all__ = [
    "Change", "Eol", "FileImage", "Journal", "Kind", "Line", "Spot", "StaleFile", "Stat", "Text",
    "TextProblem", "Workspace", "is_command_bearing", "is_protected", "is_secret", "is_version_control", "split_lines",
]  # fmt: skip
