"""What it takes to put paths back, as far as they may be: looks at what stands there, and changes nothing."""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from regreen.errors import Refused, UsageError
from regreen.model import Conflict, RestoreReport
from regreen.store import Store
from regreen.workspace import paths
from regreen.workspace.files import FileImage, Workspace
from regreen.workspace.merging import Merger
from regreen.workspace.records import Version
from regreen.workspace.restoring import Goal, conflict_of, mode_to_restore
from regreen.workspace.transactions import Step, content_of
from regreen.workspace.writing import Content

MakeSteps: TypeAlias = Callable[[int, FileImage, Content], list[Step]]


@dataclass(slots=True)
class Weighed:
    """What a restore comes to: its steps, what stays and why, and where only our change is taken out."""

    steps: list[Step] = field(default_factory=list[Step])
    conflicts: list[Conflict] = field(default_factory=list[Conflict])
    merged: set[str] = field(default_factory=set[str])

    def report(self, *, dry_run: bool, txn: str = "") -> RestoreReport:
        entries = [step.entry for step in self.steps if step.entry.path not in self.merged]
        restored = tuple(sorted(e.path for e in entries if e.after.sha))
        deleted = tuple(sorted(e.path for e in entries if not e.after.sha))
        return RestoreReport(restored, deleted, tuple(self.conflicts), dry_run, txn, tuple(sorted(self.merged)))


class Weigher:
    """Weighs goals. `make_steps` gives the step that makes what an image shows into a content, numbered."""

    def __init__(self, store: Store, workspace: Workspace, merger: Merger, make_steps: MakeSteps) -> None:
        self._store = store
        self._workspace = workspace
        self._merger = merger
        self._make_steps = make_steps

    def weigh(self, goals: Sequence[Goal], made: Sequence[str]) -> Weighed:
        """The steps to the goals that can be reached, the latest change first. `made` are folders of ours."""
        found = Weighed()
        for goal in reversed(goals):
            reason = self._weigh_one(goal, found, made)
            if reason or goal.note:
                found.conflicts.append(Conflict(goal.path, reason or goal.note))
        return found

    def _weigh_one(self, goal: Goal, found: Weighed, made: Sequence[str]) -> str:
        """Add the step that puts one path back; or say why it stays."""
        try:
            image = self._workspace.image(goal.path, follow=False)
        except (Refused, UsageError) as e:
            return e.message
        clear: tuple[str, ...] = ()
        if image.kind == "directory" and goal.path in made and self._only_holds(image.real, found.steps):
            clear = tuple(path for path in made if f"{path}/".startswith(f"{image.real}/"))
            image = FileImage(goal.path, "absent", real=image.real)
        if paths.is_version_control(image.real):
            return "belongs to version control"
        if reason := conflict_of(image, goal):
            return self._weigh_changed(goal, image, found, reason)
        if goal.merged:
            found.merged.add(image.real)
        target = goal.target
        mtime_ns = target.mtime_ns if image.sha256 in goal.ours else None  # else it is not ours to set
        content = Content(
            content_of(self._store, target).data if goal.data is None else goal.data,
            mode_to_restore(image, goal),
            mtime_ns,
            target.attributes if image.kind == "absent" else None,
        )
        found.steps += [replace(step, clear=clear) for step in self._make_steps(len(found.steps), image, content)]
        return ""

    def _weigh_changed(self, goal: Goal, image: FileImage, found: Weighed, reason: str) -> str:
        """A path that is neither what we left nor what was before: take our change out of it, if that can be done."""
        if goal.left is None:
            return reason
        nothing_left = goal.left.sha == goal.target.sha
        if image.kind != "file":
            return "" if nothing_left else reason
        data = image.content if nothing_left else self._taken_out(goal, goal.left, image)
        if data is None:
            return f"{reason}, and that cannot be told from our change: left as it is{_how_to_see_both(goal)}"
        if data != image.content or goal.merged:  # else the user has taken our change out himself
            found.merged.add(image.real)
        content = Content(data, mode_to_restore(image, goal))
        found.steps += self._make_steps(len(found.steps), image, content)
        return ""

    def _taken_out(self, goal: Goal, left: Version, image: FileImage) -> bytes | None:
        if goal.target.mode is not None and not stat.S_ISREG(goal.target.mode):
            return None
        target = self._merger.bytes_of(goal.target) if goal.data is None else goal.data
        return None if target is None else self._merger.take_out(left, image.content, target)

    def _only_holds(self, folder: str, steps: Sequence[Step]) -> bool:
        """Whether a folder holds nothing but files that the steps delete."""
        doomed = {step.entry.path for step in steps if not step.entry.after.sha}
        rows = self._workspace.scan(skip=lambda _: False)
        inside = (path for path, row in rows.items() if path.startswith(f"{folder}/") and row.kind != "directory")
        return all(path in doomed for path in inside)


def _how_to_see_both(goal: Goal) -> str:
    return f"; `regreen changes --since {goal.since}` shows both" if goal.since else ""
