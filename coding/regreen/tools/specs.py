"""The tools as other programs see them: names, descriptions, flat JSON Schemas, annotations. Data only.

Every description is product text: a model chooses by it. Schemas stay portable: no references, no unions, no nulls;
an option that is not given is absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from regreen.settings import EDIT_FORMATS

Schema: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool. `parameters` maps names to JSON Schema fragments; `required` are those without a default; `withheld`
    are arguments that a caller might expect and must not have: name and why."""

    name: str
    title: str
    description: str
    parameters: Schema
    outputs: Schema
    required: tuple[str, ...] = ()
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    withheld: tuple[tuple[str, str], ...] = ()
    shown: tuple[tuple[str, Schema], ...] = ()  # shorter forms of parameters that another tool shows in full

    @property
    def input_schema(self) -> Schema:
        """As sent to clients. Bounds of numbers are checked, and said in the error, but not sent: they cost context."""
        bare = {k: _without_bounds(v) for k, v in (self.parameters | dict(self.shown)).items()}
        required = {"required": list(self.required)} if self.required else {}
        return {"type": "object", "properties": {**bare, "repo": _REPO}, **required}

    @property
    def checked_schema(self) -> Schema:
        return {**self.input_schema, "properties": {**self.parameters, "repo": _REPO}}

    @property
    def output_schema(self) -> Schema:
        """Top-level fields only; a call that is refused has `error` instead."""
        return {"type": "object", "properties": {**self.outputs, "error": {"type": "object"}}}


def _without_bounds(schema: Schema) -> Schema:
    kept = {k: v for k, v in schema.items() if k not in ("minimum", "maximum")}
    return kept | {"items": _without_bounds(kept["items"])} if "items" in kept else kept


def _string(description: str = "") -> Schema:
    return {"type": "string", **({"description": description} if description else {})}


def _integer(low: int, high: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high}


def _number(low: float, high: float) -> Schema:
    return {"type": "number", "minimum": low, "maximum": high}


def _choice(*options: str) -> Schema:
    return {"type": "string", "enum": list(options)}


_REPO = _string()
_TEXT, _FLAG, _COUNT, _LIST, _OBJECT = (
    {"type": t} for t in ("string", "boolean", "integer", "array", "object")
)  # fmt: skip
_WAIT = _number(0, 45)
_TOKENS = _integer(100, 20000)
_CHARS = _integer(1_000, 60_000)
_PATHS: Schema = {"type": "array", "items": _TEXT}
_REPLACEMENTS: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"path": _TEXT, "search": _TEXT, "replace": _TEXT},
        "required": ["path", "search", "replace"],
    },
}
_FORMAT = _choice(*EDIT_FORMATS)

_FIX_OUTPUTS: Schema = {
    "job_id": _TEXT, "state": _TEXT, "brief": _OBJECT, "attempts": _LIST, "outcome": _OBJECT, "progress": _TEXT,
    "cursor": _TEXT,
}  # fmt: skip

TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        name="repo_skeleton",
        title="Repository skeleton",
        description="File tree, ignore rules respected, folded to max_tokens (4000); cursor pages on.",
        parameters={"path": _TEXT, "depth": _integer(1, 50), "max_tokens": _TOKENS, "cursor": _TEXT},
        outputs={"root": _TEXT, "tree": _TEXT, "files": _COUNT, "dirs": _COUNT, "truncated": _FLAG, "cursor": _TEXT},
        read_only=True, idempotent=True,
    ),
    ToolSpec(
        name="extract_signatures",
        title="Signatures",
        description="Definitions in source files (16 languages, Markdown, notebooks) with full signatures and lines.",
        parameters={"paths": {**_PATHS, "description": "Files, folders, globs"}, "docstrings": {"type": "boolean"},
                    "max_tokens": _TOKENS, "cursor": _TEXT},
        outputs={"files": _LIST, "skipped": _LIST, "truncated": _FLAG, "cursor": _TEXT},
        required=("paths",), read_only=True, idempotent=True,
    ),
    ToolSpec(
        name="repo_map",
        title="Ranked map",
        description="The definitions that matter most, with signatures and lines, ranked by use, for `focus` (files, "
                    "names), the current diff and failing tests; within max_tokens (4000).",
        parameters={"focus": _PATHS, "max_tokens": _TOKENS,
                    "tests": {"type": "boolean"}},
        outputs={"text": _TEXT, "files": _LIST, "tokens": _COUNT, "ranked_symbols": _LIST, "total_files": _COUNT,
                 "total_symbols": _COUNT, "indexed": {"type": "number"}, "notes": _LIST},
        read_only=True, idempotent=True,
    ),
    ToolSpec(
        name="find_symbol",
        title="Find symbol",
        description="Where a (qualified) name is defined; with `references`, where it is used and in what. Names like "
                    "it where there is none.",
        parameters={"name": _TEXT, "kind": _TEXT, "references": {"type": "boolean"}, "limit": _integer(1, 1000),
                    "cursor": _TEXT},
        outputs={"definitions": _LIST, "references": _LIST, "definitions_total": _COUNT, "references_total": _COUNT,
                 "suggestions": _LIST, "indexed": {"type": "number"}, "notes": _LIST, "cursor": _TEXT},
        required=("name",), read_only=True, idempotent=True,
    ),
    ToolSpec(
        name="search_text",
        title="Search text",
        description="Lines that contain `pattern` (literal; with `regex` a linear-time regular expression).",
        parameters={"pattern": _TEXT, "regex": {"type": "boolean"}, "ignore_case": {"type": "boolean"},
                    "globs": _PATHS, "context": _integer(0, 10), "limit": _integer(1, 1000), "cursor": _TEXT},
        outputs={"matches": _LIST, "truncated": _FLAG, "files_searched": _COUNT, "files_matched": _COUNT,
                 "notes": _LIST, "cursor": _TEXT},
        required=("pattern",), read_only=True, idempotent=True,
    ),
    ToolSpec(
        name="read_file",
        title="Read file",
        description="Lines of a text file, and the sha256 that apply_edits takes as expected_sha256.",
        parameters={"path": _TEXT, "start_line": _integer(1, 10_000_000), "end_line": _integer(1, 10_000_000),
                    "max_chars": _CHARS, "cursor": _TEXT},
        outputs={"text": _TEXT, "start_line": _COUNT, "end_line": _COUNT, "total_lines": _COUNT, "sha256": _TEXT,
                 "encoding": _TEXT, "eol": _TEXT, "redacted": _COUNT, "cursor": _TEXT},
        required=("path",), read_only=True, idempotent=True,
    ),
    ToolSpec(
        name="apply_edits",
        title="Apply edits",
        description="Apply edits, all or none: `text` (SEARCH/REPLACE blocks, a diff, a patch, JSON calls, a whole "
                    "file), or replacements (whole lines; empty search creates a file). Each must fit exactly one "
                    "place; nothing is guessed. dry_run shows the diff and gives a plan to commit, or some of its "
                    "hunks. Undo: restore(transaction).",
        parameters={"text": _TEXT, "replacements": _REPLACEMENTS, "format": _FORMAT, "dry_run": {"type": "boolean"},
                    "commit": _string("plan id"),
                    "hunks": {"type": "array", "items": _integer(1, 100_000), "description": "of the plan, by number"},
                    "expected_sha256": {"type": "object", "additionalProperties": _TEXT,
                                        "description": "path: hash of what was read"}},
        outputs={"ok": _FLAG, "plan": _TEXT, "files": _LIST, "edits": _LIST, "warnings": _LIST, "transaction": _TEXT,
                 "cursor": _TEXT},
        destructive=True,
    ),
    ToolSpec(
        name="run_tests",
        title="Run tests",
        description="Run tests (pytest, vitest, jest, node, go, cargo, ...; sandboxed): all, a "
                    "selection (ids, files, folders, titles), or a whitelisted argv. Failures grouped by cause, and "
                    "what changed since the last run. Not done after wait_s (30): job_id for job_status.",
        parameters={"selection": _PATHS, "runner": _TEXT,
                    "warm": {"type": "boolean", "description": "pytest: faster repeats"},
                    "last_failed": {"type": "boolean"},
                    "timeout_s": _number(1, 3600), "wait_s": _WAIT, "argv": _PATHS},
        outputs={"status": _TEXT, "runner": _TEXT, "argv": _LIST, "interpreter": _TEXT, "sandbox": _TEXT,
                 "network": _TEXT, "project": _TEXT, "since_last": _OBJECT, "slowest": _LIST,
                 "counts": _OBJECT, "failures": _LIST, "groups": _LIST, "duration_s": {"type": "number"}, "log": _TEXT,
                 "message": _TEXT, "notes": _LIST, "job_id": _TEXT, "state": _TEXT, "progress": _TEXT,
                 "cursor": _TEXT},
        open_world=True,
        withheld=(("env", "what tests see of the environment is an allow-list, which no caller can add to"),),
    ),
    ToolSpec(
        name="fix_tests",
        title="Fix failing tests",
        description="Turn failing tests green: what does not help is rolled back, a fix verified cold. Ends `fixed`, "
                    "or restored and why. proposer: search = offline; sampling = the client's model; "
                    "caller = you (brief, then submit_fix); auto = in turn.",
        parameters={"selection": _PATHS,
                    "proposer": _choice("auto", "search", "anthropic", "openai", "sampling", "caller"),
                    "paths": {**_PATHS, "description": "What may be edited (default: all but tests)"},
                    "tests": _choice("readonly", "additions_only", "editable"),
                    "max_attempts": _integer(1, 50), "budget_s": _number(1, 86400),
                    "keep_partial": {"type": "boolean"}, "wait_s": _WAIT},
        outputs=_FIX_OUTPUTS,
        destructive=True, open_world=True,
    ),
    ToolSpec(
        name="submit_fix",
        title="Submit a fix",
        description="Edits (as in apply_edits) for a fix_tests job that waits for them. Tested, and kept only if "
                    "better; the answer names tests fixed and broken.",
        parameters={"job_id": _TEXT, "text": _TEXT, "replacements": _REPLACEMENTS, "format": _FORMAT,
                    "note": _TEXT, "wait_s": _WAIT,
                    "needs_test_change": _string("no edits: why no right code can pass these tests")},
        shown=(("replacements", {"type": "array", "items": _OBJECT}), ("format", _TEXT)),
        outputs={**_FIX_OUTPUTS, "attempt": _OBJECT},
        required=("job_id",), destructive=True, open_world=True,
    ),
    ToolSpec(
        name="coding_task",
        title="Coding task",
        description="An agent of regreen's own (needs a configured model) does a task in the repository. Tests in "
                    "`selection` must be green at the end, else all is restored; without them the diff is kept, "
                    "unverified. Ends with regreen's verdict, not the model's.",
        parameters={"task": _TEXT, "selection": _PATHS, "budget_s": _number(1, 86400),
                    "budget_tokens": _integer(1, 1_000_000_000), "budget_usd": _number(0.0001, 1_000_000),
                    "max_turns": _integer(1, 200), "wait_s": _WAIT},
        outputs={"job_id": _TEXT, "state": _TEXT, "outcome": _OBJECT, "diff": _TEXT, "usage": _OBJECT,
                 "turns": _COUNT, "progress": _TEXT, "cursor": _TEXT},
        required=("task",), destructive=True, open_world=True,
    ),
    ToolSpec(
        name="job_status",
        title="Job status",
        description="State, progress and result of a job; call again while it runs.",
        parameters={"job_id": _TEXT, "wait_s": _number(0, 30), "log_offset": _integer(0, 1 << 40),
                    "cursor": _TEXT},
        outputs={**_FIX_OUTPUTS, "status": _TEXT, "counts": _OBJECT, "failures": _LIST, "log_text": _TEXT,
                 "log_next": _COUNT},
        required=("job_id",), read_only=True, idempotent=True,
    ),
    ToolSpec(
        name="job_cancel",
        title="Cancel a job",
        description="End a job now: its processes die, its changes are restored.",
        parameters={"job_id": _TEXT},
        outputs={"job_id": _TEXT, "state": _TEXT, "restored": _FLAG, "outcome": _OBJECT, "cursor": _TEXT},
        required=("job_id",), idempotent=True,
    ),
    ToolSpec(
        name="show_changes",
        title="Show changes",
        description="Unified diff of the work tree since HEAD (default), or of a job or transaction.",
        parameters={"since": _TEXT, "max_chars": _CHARS, "cursor": _TEXT},
        outputs={"since": _TEXT, "files": _LIST, "diff": _TEXT, "truncated": _FLAG, "cursor": _TEXT},
        read_only=True, idempotent=True,
    ),
    ToolSpec(
        name="restore",
        title="Restore files",
        description="Undo a job's or transaction's changes. Files changed since by others are left and named.",
        parameters={"to": _string("job_id or transaction"), "dry_run": {"type": "boolean"}},
        outputs={"restored": _LIST, "deleted": _LIST, "conflicts": _LIST, "transaction": _TEXT, "dry_run": _FLAG,
                 "cursor": _TEXT},
        required=("to",), destructive=True, idempotent=True,
    ),
)  # fmt: skip

BY_NAME: dict[str, ToolSpec] = {t.name: t for t in TOOLS}
CORE: frozenset[str] = frozenset({
    "repo_skeleton", "extract_signatures", "repo_map", "apply_edits", "run_tests", "fix_tests", "submit_fix",
    "job_status", "job_cancel", "restore",
})  # fmt: skip
EDITING: frozenset[str] = frozenset({t.name for t in TOOLS if not t.read_only} - {"job_cancel"})
