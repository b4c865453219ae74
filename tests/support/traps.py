"""A repository whose configuration runs programs at every turn, and what springs each trap when the user's git works.

Each trap has a program of its own, which leaves a file of the trap's name and behaves like `cat`.
"""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.gitrepos import ENVIRON, git, make_repo, write

HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit",
    "pre-merge-commit", "pre-push", "pre-rebase", "prepare-commit-msg", "reference-transaction", "update",
)  # fmt: skip
_ATTRIBUTES = """\
*.dat diff=t
*.ext diff=x
*.cl filter=c
*.sm filter=s
*.pr filter=p
*.inc filter=included
*.mg merge=m
"""
_PATHS = ("a.dat", "a.ext", "a.cl", "a.sm", "a.pr", "a.inc", "a.mg", "a.attr")


@dataclass(frozen=True)
class Trapped:
    """A repository full of traps, and where those that sprang are told."""

    root: Path
    marks: Path
    programs: Path

    def sprung(self) -> set[str]:
        return {p.name for p in self.marks.iterdir()}

    def program(self, name: str, then: str = "exec cat") -> str:
        path = write(self.programs / name, f"#!/bin/sh\ntouch {self.marks}/{name}\n{then}\n")
        path.chmod(0o755)
        return str(path)


def trapped(folder: Path, files: dict[str, str | bytes], *, hooks: str) -> Trapped:
    """`files` and all traps, with the hooks in the folder `hooks` (of the work tree, or `.git/hooks`)."""
    made = Trapped(folder / "r", folder / "marks", folder / "programs")
    made.marks.mkdir(parents=True)
    attributes = {".gitattributes": _ATTRIBUTES, **dict.fromkeys(_PATHS, "one\n")}
    root = make_repo(made.root, {**files, **attributes})
    inner = make_repo(folder / "inner", {"lib.py": "x\n"})
    git(root, "submodule", "--quiet", "add", str(inner), "mod")
    git(root, "commit", "-qm", "mod")
    git(root, "checkout", "-qb", "side")
    write(root / "a.mg", "side\n")
    git(root, "commit", "-qam", "side")
    git(root, "checkout", "-q", "main")
    write(root / "a.mg", "main\n")
    git(root, "commit", "-qam", "main")
    for name in (n for n in _PATHS if n != "a.mg"):
        write(root / name, "two\n")  # other bytes of the same size, so that git has to look into them
    _set_traps(made, hooks)
    return made


def _set_traps(made: Trapped, hooks: str) -> None:
    p = made.program
    for where in (made.root / hooks, made.root / ".git" / "modules" / "mod" / "hooks"):
        for hook in HOOKS:
            script = f"#!/bin/sh\ntouch {made.marks}/hooks {made.marks}/hook-{hook}\n"
            write(where / hook, script).chmod(0o755)
    included = write(made.programs / "included.cfg", f'[filter "included"]\n\tclean = {p("include")}\n')
    attributes = write(made.programs / "attributes", "*.attr filter=elsewhere\n")
    settings = {
        "core.fsmonitor": p("fsmonitor", "exit 1"), "core.pager": p("pager"), "core.editor": p("editor", "exit 0"),
        "core.sshCommand": p("ssh", "exit 1"), "core.askPass": p("askpass"), "core.gitProxy": p("proxy"),
        "core.alternateRefsCommand": p("alternates"), "core.attributesFile": str(attributes),
        "include.path": str(included), "diff.t.textconv": p("textconv"), "diff.x.command": p("diff-command"),
        "diff.external": p("external"), "filter.c.clean": p("clean"), "filter.s.smudge": p("smudge"),
        "filter.p.process": p("process", "exit 1"), "filter.elsewhere.clean": p("attributes-file"),
        "merge.m.driver": p("merge"), "submodule.mod.update": f"!{p('submodule')}", "alias.st": f"!{p('alias')}",
        "gpg.program": p("gpg"), "commit.gpgSign": "true", "credential.helper": f"!{p('credential')}",
        "sequence.editor": p("sequence"), "remote.evil.url": "ssh://nowhere.invalid/x",
        "remote.evil.uploadpack": p("uploadpack"), "uploadpack.packObjectsHook": p("pack-objects"),
        "interactive.diffFilter": p("interactive"), "pager.log": p("pager-log"), "protocol.ext.allow": "always",
        "log.showSignature": "true", "submodule.recurse": "true", "status.submoduleSummary": "true",
        "gc.auto": "1", "core.untrackedCache": "true",
    }  # fmt: skip
    if hooks != ".git/hooks":
        settings["core.hooksPath"] = hooks
    for name, value in settings.items():
        git(made.root, "config", name, value)


def spring(on: Trapped) -> None:
    """Do what a user does, and let every trap spring that can."""
    _git(on, "status")
    git(on.root, "config", "--unset", "filter.p.process")  # it is no filter that git could go on with
    steps: Sequence[Callable[[], object]] = (
        lambda: _git(on, "diff", "--no-ext-diff"),
        lambda: _git(on, "diff"),
        lambda: _git(on, "add", "-A"),
        lambda: (on.root / "a.sm").unlink(),
        lambda: _git(on, "checkout", "--", "a.sm"),
        lambda: _git(on, "st"),
        lambda: _git(on, "commit", "-m", "x"),
        lambda: _git(on, "-c", "commit.gpgSign=false", "commit", "--amend"),
        lambda: _git(on, "-c", "commit.gpgSign=false", "merge", "side"),
        lambda: _git(on, "-c", "core.alternateRefsCommand=", "fetch", "evil"),
        lambda: _git(on, "submodule", "update", "--init", "--force"),
        lambda: _git(on, "credential", "fill", stdin=b"protocol=https\nhost=nowhere.invalid\n\n"),
        lambda: _on_terminal(on, "show"),
    )
    for step in steps:
        step()


SPRINGING = frozenset((
    "fsmonitor", "textconv", "diff-command", "external", "clean", "smudge", "process", "include", "attributes-file",
    "hooks", "hook-post-index-change", "hook-reference-transaction", "merge", "submodule", "alias", "gpg", "ssh",
    "credential", "editor", "pager",
))  # fmt: skip


def _git(on: Trapped, *args: str, stdin: bytes = b"") -> None:
    subprocess.run(("git", *args), cwd=on.root, env=_ENVIRON, input=stdin, capture_output=True, timeout=60)


def _on_terminal(on: Trapped, *args: str) -> None:
    ours, theirs = pty.openpty()
    try:
        subprocess.run(("git", *args), cwd=on.root, env=_ENVIRON, stdin=subprocess.DEVNULL, stdout=theirs,
                       stderr=theirs, timeout=60)  # fmt: skip
    finally:
        os.close(theirs)
        os.close(ours)


_ENVIRON = {**ENVIRON, "TERM": "xterm"}
