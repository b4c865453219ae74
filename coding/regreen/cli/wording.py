"""From the words of the tools to those of the command line.

The engine's hints name arguments as a program gives them. A person types options: every text of the engine that is
shown to one passes here, and only here. JSON keeps the engine's words.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_OPTIONS = (
    "max_attempts",
    "max_turns",
    "budget_tokens",
    "budget_usd",
    "budget_s",
    "timeout_s",
    "dry_run",
    "keep_partial",
    "last_failed",
    "max_tokens",
)
_COMMANDS = {
    "fix_tests": "fix", "run_tests": "test", "apply_edits": "edit", "show_changes": "changes", "read_file": "read",
    "repo_skeleton": "skeleton", "extract_signatures": "signatures", "repo_map": "map", "find_symbol": "symbol",
    "search_text": "search",
}  # fmt: skip

OR_A_MODEL = "a model (`--proposer anthropic`, with ANTHROPIC_API_KEY), "
"""Of what can be tried, for runs that have asked none."""

_PHRASES = (
    (
        r"No further idea\. [^.]*proposer=caller[^.]*\.",
        f"Try {OR_A_MODEL}a fix of your own with --script, one failing test with --tests, or an agent through `regreen "
        "serve`; the search repairs small faults in Python.",
    ),
    (  # behind a reason
        r"Hand in a fix of your own \(proposer=caller\)[^.]*\.",
        f"Try {OR_A_MODEL}a fix of your own with --script, or an agent through `regreen serve`.",
    ),
    # Said already, where it is so; how to go on is told with the run's id.
    (r"The run was cancelled; everything is as it was\.( Start it again when you are ready\.)?", ""),
    (r"Review the diff: all tests pass, which makes the fix plausible, not proven\.", ""),  # said beside it
    (r"\brestore\(((?:job|txn)-\w+)\)", r"`regreen restore \1`"),
    (r"allow it with `tests`", "allow it with `--tests-policy`"),
    (r"with `paths` that", "with `--paths` that"),
    (r"choose with `runner`", "choose with `--runner`"),
    (r"name that folder \(`repo`\)", "name that folder (`--repo`)"),
    (r"proposer `scripted` and a script belong together", "`--proposer scripted` and `--script` belong together"),
    # Whoever types hands in a file: nothing is left of it to send.
    (r"[;,]? ?(then )?send (all edits of the response|the whole response) again", ""),
    (r" ?[^.;]*proposer=caller[^.;]*[.;]?", ""),
    (r"wait for it \(job_status\), or end it \(job_cancel\)", "wait for it or end that process"),
    (r"wait with job_status", "wait"),
    (r"wait for it with job_status", "wait for it"),
    (r"give a job_id or a transaction\b[^.]*", "`regreen restore` lists the runs and transactions there are"),
    (r"restore the run by its job_id instead", "restore the run instead"),
    (r"give a job_id that [^.]*", "`regreen runs list` lists the runs there are"),
    (
        r"start with `--root DIR`, or give the `repo` argument: [^.]*",
        "go to a repository, or name it with `--repo DIR`",
    ),
    (r"expected_sha256 is given with commit", "`--expect` is given with `--commit`"),
    (r"give its sha256 as expected_sha256 of this path", "give its hash with `--expect PATH=SHA256`"),
    (r"narrow the selection to one failing test", "name one failing test with `--tests`"),
    (r"give 1 <= start_line <= end_line <= (\S+)", r"give `--lines FIRST:LAST` within 1 to \1"),
)
_WORDS = {
    **{name: f"--{name.replace('_', '-')}" for name in _OPTIONS},
    **{name: f"regreen {command}" for name, command in _COMMANDS.items()},
}
_WORD = re.compile(rf"(?<![\w./-])(`?)({'|'.join(_WORDS)})\1(?![\w/=-]|\.\w)")


_FILE_KEYS = re.compile(r"\b(in|below) \[[a-z]+\]")
_DRY_RUN = re.compile(r"use `dry_run`, or start regreen with")
_LINES_SHOWN = re.compile(r"[;:]? ?copy SEARCH from the lines shown")


def worded(text: str, options: Collection[str] | None = None, *, kind: str = "") -> str:
    """The text for somebody who types commands. Empty where it spoke of nothing that can be typed.

    `options` are those of the command that was typed, where only these may be named. `kind` is that of the error whose
    text it is: one about the settings names keys and values as they are written there, and is left as it is.
    """
    if kind == "config_refused":
        return text
    if options is not None and "--dry-run" not in options:
        text = _DRY_RUN.sub("leave it with", text)
    for phrase, said in _PHRASES:
        text = re.sub(phrase, said, text)
    if _FILE_KEYS.search(text):  # speaks of keys of the settings file
        return text.strip()
    return _WORD.sub(lambda m: f"`{_WORDS[m[2]]}`", text).strip()


def without_lines_shown(text: str) -> str:
    """A refusal's text where the lines that it speaks of are not shown with it."""
    return _LINES_SHOWN.sub("", text)
