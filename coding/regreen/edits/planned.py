"""A file as a plan leaves it: its change, its diff, and the parts (hunks) that can be chosen.

Rule: a file that is created, deleted or renamed is one part; what is chosen of a modified file is what its diff shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from regreen.edits.diff import Diff, compose, diff
from regreen.edits.lines import Block, Rows
from regreen.edits.target import Target, encode
from regreen.errors import UsageError
from regreen.model import FileAction, FileDiff
from regreen.workspace import Change, FileImage, Text, TextProblem

_NOTHING = Rows([], [])


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """`image` is what is on disk, at `image.real`; `data` the new bytes, None for a file that is deleted."""

    path: str
    image: FileImage
    form: Text
    before: Rows
    after: Rows
    changed: tuple[Block, ...]
    data: bytes | None
    sha: str  # of `data`
    mark: str = ""

    @classmethod
    def of(cls, target: Target, data: bytes | None) -> PlannedFile:
        """What became of a target, whose lines are not changed any more."""
        image = target.source.image if target.source is not None else target.image
        before = _NOTHING if image.kind == "absent" else target.before
        lines = target.lines
        changed = tuple(lines.blocks)
        return cls(target.path, image, target.text, before, lines.rows, changed, data, _sha(data), target.mark)

    @property
    def action(self) -> FileAction:
        if self.image.kind == "absent":
            return "create"
        if self.data is None:
            return "delete"
        return "modify" if self._source == self.path else "rename"

    @property
    def _source(self) -> str:
        return self.image.real

    @property
    def changes(self) -> tuple[Change, ...]:
        """What the journal is asked to do; a renamed file is there before the old one goes."""
        if self.action != "rename":
            before = self.image.sha256
            return (Change(self.path, before, self.data, exact=True),)
        moved = Change(self.path, "", self.data, self.image.mode & 0o7777, like=self._source, exact=True)
        return moved, Change(self._source, self.image.sha256, None, exact=True)

    def diff(self) -> Diff:
        """What changes, as text and as hunks."""
        action = self.action
        return diff(
            self.path,
            None if action == "create" else self.before,
            None if action == "delete" else self.after,
            self.changed,
            mark=self.mark,
            source=self._source if action == "rename" else "",
            mode=self.image.mode,
        )

    def report(self) -> FileDiff:
        """The change as its reader sees it."""
        made, action = self.diff(), self.action
        source = self._source if action == "rename" else None
        parts = len(made.hunks) if action == "modify" else 1
        return FileDiff(
            self.path, action, made.added, made.removed, self.image.sha256, self.sha, made.text, source, parts
        )

    def spans(self) -> list[tuple[int, int]]:
        """The lines on disk (1-based, inclusive) that each change of the file stands at."""
        if self.action != "modify":
            return [(0, len(self.before) + 1)]
        return [(block.a1 + 1, block.a2) for hunk in self.diff().hunks for block in hunk]

    def only(self, chosen: Collection[int]) -> PlannedFile | None:
        """The file with the hunks of these numbers (from 0 on) only; None if nothing remains."""
        if self.action != "modify":
            return self if chosen else None
        hunks = [hunk for number, hunk in enumerate(self.diff().hunks) if number in chosen]
        after, moved = compose(self.before, self.after, hunks)
        data = encode(self.form, after, unsure=True)
        if isinstance(data, TextProblem):
            raise UsageError("invalid_arguments", f"`{self.path}`: these hunks alone: {data.message}",
                             "choose all hunks of the file")  # fmt: skip
        return replace(self, after=after, changed=moved, data=data, sha=_sha(data)) if hunks else None


def plan_id(files: Iterable[PlannedFile]) -> str:
    """The same changes have the same id, whoever plans them and when."""
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda f: f.path):
        row = "\0".join((file.action, file.path, file.image.real, file.image.sha256, file.sha, ""))
        digest.update(row.encode("utf-8", "surrogateescape"))
    return f"plan-{digest.hexdigest()[:16]}"


def _sha(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()
