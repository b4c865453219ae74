"""One typed command, understood: its settings, the repository it speaks of, where its output goes.

The folder that a person names, or stands in, is trusted: it becomes one of `Settings.roots`.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.cli.exit_codes import of_result
from regreen.cli.lines import Line
from regreen.errors import UsageError
from regreen.settings import Settings, load_settings
from regreen.wire import Json

if TYPE_CHECKING:
    from regreen.cli.screen import Screen


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say: `data` for programs, `lines` for people, `code` for the shell."""

    data: Mapping[str, Json]
    lines: tuple[Line, ...]
    code: int


@dataclass(frozen=True, slots=True)
class Invocation:
    """`args` are the parsed arguments, `cwd` and `environ` those of the process."""

    args: Namespace
    cwd: Path
    environ: Mapping[str, str]
    screen: Screen

    def repo(self, path: str | None = None) -> Path:
        """The repository meant: PATH or --repo, else the one around the working directory. Raises UsageError."""
        named = [self.folder(text) for text in (path, self.args.repo) if text]
        if len(named) == 2 and named[0] != named[1]:
            raise UsageError("invalid_arguments", f"PATH says {named[0]}, --repo says {named[1]}", "name one of them")
        return named[0] if named else _around(self.cwd, self._home())

    def folder(self, text: str) -> Path:
        """A folder that was typed, with links resolved. Raises UsageError."""
        path = (self.cwd / Path(text).expanduser()).resolve()
        if not path.is_dir():
            found = "a file, not a folder" if path.exists() else "not found"
            raise UsageError("not_found", f"{text}: {found}", "name an existing folder")
        return path

    def file(self, text: str) -> Path:
        """A file that was typed. Raises UsageError."""
        path = (self.cwd / Path(text).expanduser()).resolve()
        if not path.is_file():
            found = "a folder, not a file" if path.is_dir() else "not found"
            raise UsageError("not_found", f"{text}: {found}", "name an existing file")
        return path

    def inside(self, repo: Path, typed: Sequence[str]) -> list[str]:
        """Paths, globs and test ids as typed in the working folder, made relative to the repository's root."""
        from regreen.cli.typed import from_root

        return [from_root(text, self.cwd, repo) for text in typed]

    def to_trust(self, folder: Path) -> Path:
        """The folder, if it may be trusted. Raises UsageError for one that holds the home folder, or everything."""
        home = self._home()
        if folder == Path(folder.anchor) or (home is not None and home.is_relative_to(folder)):
            what = "your home folder" if folder == home else "far more than a repository"
            raise UsageError("invalid_arguments", f"{folder} is {what}: everything in it would be trusted",
                             "name the folder of one repository, or one that holds only repositories")  # fmt: skip
        return folder

    def tell_repo(self, repo: Path) -> None:
        """Say which repository is worked on, where that is not the folder that a person stands in."""
        if repo != self.cwd and not self.screen.as_json:
            self.screen.tell([Line(f"repository: {repo}", "dim")])

    def settings(self, *roots: Path) -> Settings:
        """The settings in force, with `roots` trusted. Raises ConfigError."""
        settings = load_settings(self.environ, roots=roots, mode=self.args.mode, sandbox=self.args.sandbox,
                                 python=getattr(self.args, "python", ""), config_file=self._config_file(),
                                 default_mode=getattr(self.args, "default_mode", "accept-edits"))  # fmt: skip
        return replace(settings, strict_edits=settings.strict_edits or getattr(self.args, "strict", False))

    def given(self, *names: str) -> dict[str, object]:
        """Those of the named arguments that were given a value, for handing on to a tool."""
        return {n: v for n in names if (v := getattr(self.args, n)) not in (None, "", [], (), False)}

    def _config_file(self) -> Path | None:
        typed = getattr(self.args, "config", None)
        return self.file(typed) if typed else None

    def _home(self) -> Path | None:
        home = self.environ.get("HOME", "")
        return Path(home).resolve() if home else None


def _around(cwd: Path, home: Path | None) -> Path:
    from regreen.git import find_top

    here = cwd.resolve()
    top = find_top(here)
    found = top if top is not None and top != home else here
    if found == home or found == Path(found.anchor):
        raise UsageError("not_found", f"no repository around {here}", "go to one, or name it with --repo DIR")
    return found


def answer(tool: str, data: Mapping[str, Json]) -> Answer:
    """The answer that a tool's structured result makes."""
    from regreen.cli.render import render

    return Answer(data, tuple(render(tool, data)), of_result(tool, data))
