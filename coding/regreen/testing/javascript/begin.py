"""How a runner that is an installed package starts: what it needs is there, and what it is given has been read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regreen.testing.heard import Absent, Asked, Plan
from regreen.testing.javascript.chosen import Chosen, absent_paths, choose, lifted, options_of, without
from regreen.testing.javascript.scripts import Script
from regreen.testing.javascript.tools import Node, Package, find_node, find_package, lay_out, made_for


@dataclass(frozen=True, slots=True)
class Begun:
    """A start so far. `command` is the runner without options; `options` and `rest` are the words it is given, without
    those that are ours to set; `laid` are our files, as they were asked for."""

    name: str
    node: Node
    package: Package
    command: tuple[str, ...]
    environment: Mapping[str, str]
    options: tuple[str, ...]
    rest: tuple[str, ...]
    chosen: Chosen
    laid: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    def plan(
        self, argv: Sequence[str], environment: Mapping[str, str] | None = None, writable: tuple[Path, ...] = ()
    ) -> Plan:
        """The plan of a run with a reporter of ours. `environment` is what is added to the script's."""
        return Plan(
            tuple(argv),
            self.node.shown,
            {**self.environment, "REGREEN_CHANNEL": "{channel}", **(environment or {})},
            live=True,
            writable=writable,
            notes=(*made_for(self.package, self.name, self.node), *self.notes),
            data=self.chosen,
        )


def begin(
    asked: Asked, script: Script, package: str, valued: Collection[str], ours: Mapping[str, bool], files: Sequence[str]
) -> Begun | Absent:
    """Find Node and the package, read the words and the selection, and lay out our `files`. `valued` and `ours` are as
    `options_of` and `without` want them."""
    node = find_node(asked)
    if isinstance(node, Absent):
        return node
    found = find_package(asked, package)
    if isinstance(found, Absent):
        return found
    chosen = choose(asked.look, asked.request.selection, asked.request.last_failed)
    if chosen.missing:
        return absent_paths(chosen)
    words, limits = lifted(script.arguments, asked.arguments)
    options, rest = options_of(words, valued)
    return Begun(
        name=package,
        node=node,
        package=found,
        command=(str(node.path), *script.node_options, str(found.script)),
        environment=script.environment,
        options=tuple(without(options, ours)),
        rest=tuple(rest),
        chosen=chosen,
        laid=tuple(lay_out(asked, files)),
        notes=(f"left out of the script, since they keep tests from running: {' '.join(limits)}",) if limits else (),
    )
