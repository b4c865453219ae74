"""Which tests a selection means: ids, labels and module paths, files, folders, bare titles. Standalone and pure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cargo_workspace import Target

_NAMED = 5


@dataclass
class Chosen:
    """`names` by target label; `docs`: names of documentation tests; `unmatched`: entries that mean no test, with the
    candidates of those that mean several."""

    names: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    docs: list[str] = field(default_factory=list[str])
    unmatched: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Known:
    """What there is. `tests` are names by label; `docs` are ids of documentation tests with the names they go by;
    `folder` is the one that paths are relative to."""

    targets: Sequence[Target]
    tests: Mapping[str, Sequence[str]]
    docs: Mapping[str, str]
    folder: Path


def choose(entries: Sequence[str], known: Known) -> Chosen:
    """The tests that the entries mean."""
    everything = {f"{label}::{name}": (label, name) for label, names in known.tests.items() for name in names}
    everything |= {t.label: (t.label, "") for t in known.targets if not t.harness and t.label in known.tests}
    chosen = Chosen()
    wanted: dict[str, None] = {}
    for entry in entries:
        found = _exact(entry, everything, known) or _in_path(entry, everything, known)
        if not found:
            found = _titled(entry, everything, known)
            if len(found) > 1:
                more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
                chosen.unmatched.append(f"{entry} (it may mean {', '.join(found[:_NAMED])}{more})")
                continue
        if not found:
            chosen.unmatched.append(entry)
        wanted.update(dict.fromkeys(found))
    for test in wanted:
        if test in known.docs:
            chosen.docs.append(known.docs[test])
        else:
            label, name = everything[test]
            chosen.names.setdefault(label, []).append(name)
    return chosen


def _exact(entry: str, everything: Mapping[str, tuple[str, str]], known: Known) -> list[str]:
    ids = [*everything, *known.docs]
    if entry in everything or entry in known.docs:
        return [entry]
    if entry.rstrip("/") in (".", ""):
        return ids
    return [i for i in ids if i.startswith(f"{entry}::")]


def _in_path(entry: str, everything: Mapping[str, tuple[str, str]], known: Known) -> list[str]:
    path = (known.folder / entry).resolve()
    if not os.path.exists(path):  # noqa: PTH110
        return []
    found: list[str] = []
    for target in known.targets:
        mine = [i for i, (label, _) in everything.items() if label == target.label]
        source = target.source.resolve()
        if source.is_relative_to(path) or target.folder.resolve().is_relative_to(path):
            found += mine
        elif (module := _module(path, source)) and target.kind in ("lib", "bin"):
            found += [i for i in mine if i.startswith(f"{target.label}::{module}::")]
    return [*found, *(doc for doc, name in known.docs.items() if _doc_in(name, path, known.targets))]


def _doc_in(name: str, path: Path, targets: Sequence[Target]) -> bool:
    """Whether a documentation test (`src/lib.rs - item (line 3)`) stands in a file or below a folder."""
    file = name.partition(" - ")[0]
    tops = [top for t in targets for top in (t.folder, *t.folder.parents) if os.path.isfile(top / file)]  # noqa: PTH113
    return any((top / file).resolve().is_relative_to(path) for top in tops[:3])


def _module(path: Path, main: Path) -> str:
    """The module that a file or folder below the main file's folder holds."""
    if not path.is_relative_to(main.parent) or path == main.parent:
        return ""
    parts = list(path.relative_to(main.parent).with_suffix("").parts)
    if parts[-1] == "mod":
        parts.pop()
    return "::".join(parts)


def _titled(entry: str, everything: Mapping[str, tuple[str, str]], known: Known) -> list[str]:
    """Tests that end in this title, those of the very name first."""
    found = [i for i, (_, name) in everything.items() if name == entry or name.endswith(f"::{entry}")]
    docs = [i for i, name in known.docs.items() if _item(name) == entry]
    return found or docs


def _item(name: str) -> str:
    return name.partition(" - ")[2].partition(" (line ")[0].rpartition("::")[2]


def scope(entries: Sequence[str], targets: Sequence[Target], folder: Path) -> list[str] | None:
    """Arguments that make cargo build only what the entries can mean; None where that cannot be said beforehand."""
    by_label = {t.label: t for t in targets}
    chosen: dict[str, Target] = {}
    for entry in entries:
        label = next((part for part in (entry, entry.partition("::")[0]) if part in by_label), "")
        if label and " - " not in entry:
            chosen[label] = by_label[label]
            continue
        path = (folder / entry).resolve()
        one = [t for t in targets if t.source.resolve() == path and t.kind != "lib"]
        if not one:
            return _packages(entries, targets, folder)
        chosen[one[0].label] = one[0]
    kinds = {(t.kind, t.name) for t in chosen.values()}
    packages = list(dict.fromkeys(t.package["name"] for t in chosen.values()))
    words = [w for kind, name in sorted(kinds) for w in (["--lib"] if kind == "lib" else [f"--{kind}", name])]
    return [*(w for p in packages for w in ("-p", p)), *dict.fromkeys(words)] if len(packages) == 1 else _all(packages)


def _all(packages: Sequence[str]) -> list[str] | None:
    return [w for p in packages for w in ("-p", p)] or None


def _packages(entries: Sequence[str], targets: Sequence[Target], folder: Path) -> list[str] | None:
    """The packages that the entries' paths lie in, where one of them is not built by default."""
    found: dict[str, None] = {}
    for entry in entries:
        path = (folder / entry).resolve()
        label = entry.partition("::")[0]
        inside = [t for t in targets if os.path.exists(path) and path.is_relative_to(t.folder.resolve())]  # noqa: PTH110
        inside.sort(key=lambda t: -len(t.folder.parts))
        mine = inside[:1] or [t for t in targets if t.label == label]
        if not mine:
            return None
        found[mine[0].package["name"]] = None
    return _all(list(found))
