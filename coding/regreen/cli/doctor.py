"""`regreen doctor` (is everything there that is needed?) and `regreen config show`. Both only look."""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from regreen.cli.exit_codes import ENVIRONMENT, OK
from regreen.cli.invocation import Answer, Invocation
from regreen.cli.lines import Line, Style
from regreen.errors import RegreenError, UsageError
from regreen.settings import Settings
from regreen.settings.extras import how_to_install
from regreen.wire import to_object

if TYPE_CHECKING:
    from regreen.testing import Project, Row
    from regreen.workspace import Workspace

Level: TypeAlias = Literal["ok", "warn", "fail"]
_STYLES: dict[Level, Style] = {"ok": "good", "warn": "warn", "fail": "bad"}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at. `hint` says what to do where it is not ok, or could be better."""

    name: str
    level: Level
    found: str
    hint: str = ""


def doctor(invocation: Invocation) -> Answer:
    """All checks; the status tells whether one failed."""
    repo = _repo(invocation)
    settings = invocation.settings(*([repo] if repo is not None else []))
    checks = tuple(check for look in _LOOKS for check in _looked(look, settings, repo))
    servers = _servers(invocation, repo)
    told = (*checks, *(Check(f"server of {s.client}", s.level, s.found, s.hint) for s in servers))
    code = ENVIRONMENT if any(c.level == "fail" for c in told) else OK
    data = {"ok": code == OK, "repo": repo, "config_file": _config_file(), "checks": checks, "servers": servers}
    return Answer(to_object(data), tuple(_lines(told)), code)


def _servers(invocation: Invocation, repo: Path | None) -> tuple[Any, ...]:
    """The server, started as each client that has our entry starts it; as a new entry would where none has one."""
    door: Any = import_module("regreen_bridge.client_config")
    rehearsal: Any = import_module("regreen_bridge.rehearsal")
    roots = (repo,) if repo is not None else ()
    request = door.SetupRequest(client="claude-desktop", roots=roots, mode="", environ=invocation.environ,
                                platform=sys.platform, python=Path(sys.executable), stamp="")  # fmt: skip
    places = (None, repo) if repo else (None,)
    odd: tuple[Any, ...] = ()
    try:
        odd = tuple(rehearsal.Rehearsal(f.client, str(f.file), "warn", "entry", f.error.message, f.error.hint)
                    for place in places for f in door.not_understood(request.where, place))  # fmt: skip
        entries = tuple(f for place in places for f in door.configured(request.where, place))
        entries = entries or (door.Found("a new client", Path(), door.launch(request)),)
    except RegreenError as e:
        return (*odd, rehearsal.Rehearsal("a new client", "", "fail", "entry", e.message, e.hint))
    return (*odd, *rehearsal.rehearse(entries, request.where.home))


def config(invocation: Invocation) -> Answer:
    """The settings in force; of the environment only what is regreen's own."""
    from regreen.cli.settings_shown import in_force, lines
    from regreen.session.toolbox import check_tool_names

    s = invocation.settings()
    check_tool_names(s.agent, _config_file())
    of_do = replace(invocation, args=Namespace(**{**vars(invocation.args), "default_mode": "ask"})).settings()
    remarks = {"mode": f"of `regreen do`: {of_do.mode}"} if of_do.mode != s.mode else {}
    shown = to_object(in_force(s))
    besides = to_object({"env": sorted(s.test_environ), "state_dir": s.state_dir, "cache_dir": s.cache_dir,
                         "config_file": _config_file()})  # fmt: skip
    told = (*lines(shown, remarks), *(f"# {line}" for line in lines(besides, {"env": "names alone"})))
    return Answer({**shown, **besides}, tuple(map(Line, told)), OK)


def _config_file() -> Path:
    from platformdirs import PlatformDirs

    return PlatformDirs("regreen", appauthor=False).user_config_path / "config.toml"


def _repo(invocation: Invocation) -> Path | None:
    """The repository, if there is one here: doctor is of use anywhere."""
    if invocation.args.repo:
        return invocation.repo()
    try:
        return invocation.repo()
    except UsageError:
        return None


Look: TypeAlias = Callable[[Settings, "Path | None"], Iterator[Check]]


def _looked(look: Look, settings: Settings, repo: Path | None) -> tuple[Check, ...]:
    """The checks of one look; what it raises for the user is itself a finding."""
    try:
        return tuple(look(settings, repo))
    except RegreenError as e:
        return (Check(look.__name__.strip("_"), "fail", e.message, e.hint),)


def _config(_settings: Settings, _repo: Path | None) -> Iterator[Check]:
    file = _config_file()
    yield Check("settings", "ok", f"from {file}" if file.exists() else f"{file} does not exist: the defaults hold")


def _state(settings: Settings, _repo: Path | None) -> Iterator[Check]:
    from regreen.store import Store

    store = Store(settings.state_dir)
    store.put_blob(b"doctor")
    store.close()
    yield Check("state", "ok", f"{settings.state_dir} is writable")


def _git(settings: Settings, repo: Path | None) -> Iterator[Check]:
    from regreen.git import Git, find_top

    found = shutil.which("git", path=settings.environ.get("PATH", ""))
    if found is None:
        yield Check("git", "fail", "not on PATH", "install git; without it only the journal protects your files")
        return
    git = Git.open(repo, settings.environ) if repo is not None else None
    if git is None and repo is not None and find_top(repo) is not None:
        yield Check("git", "fail", f"{found} cannot be used here", "install git 2.31 or newer")
    elif git is None:
        where = f"{repo} is not a git work tree" if repo is not None else "no repository here"
        yield Check("git", "warn", f"{found}; {where}", "name a repository with --repo")
    else:
        yield Check("git", "ok", f"{found}; work tree {git.top}")


def _tests(settings: Settings, repo: Path | None) -> Iterator[Check]:
    from regreen.testing import ROWS, NoProject, find_project
    from regreen.workspace import Workspace

    if repo is None:
        yield Check("tests", "warn", "no repository here", "name one with --repo")
        return
    with Workspace(repo, settings.limits) as workspace:
        project = find_project(workspace, ROWS, ())
        if isinstance(project, NoProject):
            yield Check("tests", "warn", project.message, "name a runner: `regreen test --runner NAME`")
            return
        where = f" in {project.folder}" if project.folder else ""
        row = _really(workspace, settings, project)
        others = f"; also here: {', '.join(project.others)}" if project.others else ""
        yield Check("tests", "ok", f"{row.name}{where}: {project.why}{others}")
        if row.name in ("pytest", "unittest"):
            yield _interpreter(workspace, settings, project.folder, row.name)


def _really(workspace: Workspace, settings: Settings, project: Project) -> Row:
    """The runner that would be started: tests that look like pytest's may be run by unittest."""
    from regreen.testing import SuiteRequest
    from regreen.testing.looking import Look
    from regreen.testing.runners import BY_NAME

    row: Row = project.row
    request = SuiteRequest(workspace, settings, settings.state_dir, 60.0, project=project.folder)
    found = row.instead(Look(workspace, project.folder), request) if row.instead is not None else None
    return BY_NAME[found.runner] if found is not None else row


def _interpreter(workspace: Workspace, settings: Settings, start: str, runner: str) -> Check:
    from regreen.sandbox import Cancel
    from regreen.testing import Interpreter, find_interpreter

    needs = "unittest" if runner == "unittest" else "pytest"
    found = find_interpreter(workspace, settings, Cancel(), start=start, needs=needs)
    if isinstance(found, Interpreter):
        return Check("python", "ok", f"{found.path} ({found.shown})")
    return Check("python", "fail", found.message, found.hint)


def _sandbox(settings: Settings, _repo: Path | None) -> Iterator[Check]:
    from regreen.sandbox import isolation

    here = isolation(replace(settings, sandbox="auto") if settings.sandbox == "required" else settings)
    if here.level == "none":
        need: Level = "fail" if settings.sandbox == "required" else "warn"
        found = f"tests run without isolation (level none: {here.why})"
        yield Check("sandbox", need, found, "install bubblewrap, or run only code that you trust")
    else:
        weaker = f"; {here.why}" if here.why else ""
        yield Check("sandbox", "ok", f"{here.level}, network {here.network}{weaker}")


def _syntax(_settings: Settings, _repo: Path | None) -> Iterator[Check]:
    try:
        import tree_sitter
        import tree_sitter_python
    except ImportError as e:
        yield Check("syntax", "fail", str(e), "install regreen again")
        return
    language = tree_sitter.Language(tree_sitter_python.language())
    tree = tree_sitter.Parser(language).parse(b"def f(): pass\n")
    yield Check(
        "syntax", "fail" if tree.root_node.has_error else "ok", f"tree-sitter, grammar ABI {language.abi_version}"
    )


def _runs(settings: Settings, repo: Path | None) -> Iterator[Check]:
    from regreen.store import Store, repo_key

    store = Store(settings.state_dir)
    query = "SELECT id FROM runs WHERE state = 'running'"
    rows = store.rows(query) if repo is None else store.rows(f"{query} AND repo = ?", repo_key(repo))
    store.close()
    if rows:
        names = ", ".join(row["id"] for row in rows)
        yield Check("runs", "warn", f"not finished: {names}",
                    "still running, or put back by the next command in that repository")  # fmt: skip
    else:
        yield Check("runs", "ok", "none unfinished")


def _watch(settings: Settings, _repo: Path | None) -> Iterator[Check]:
    from regreen.session.watching import HINT, MISSING, installed

    if settings.watch and installed():
        yield Check("watch", "ok", "an open server keeps its index fresh")
    elif settings.watch:
        yield Check("watch", "warn", MISSING, HINT)


def _model(settings: Settings, _repo: Path | None) -> Iterator[Check]:
    """Which model proposes fixes, and where its key is; never the key."""
    from regreen.providers import configured, keys

    try:
        if not configured.provider_name(settings):
            trouble = keys.in_keyring(keys.PROVIDERS[0]).trouble or "the keyring has no key"
            found = f"none is configured, and {trouble}; with one, it is asked where the search finds nothing"
            yield Check("model", "ok", found, keys.how_to_set("anthropic", "ANTHROPIC_API_KEY"))
            return
        chosen = configured.choose(settings)
    except RegreenError as e:
        yield Check("model", "fail" if settings.models.provider else "warn", e.message, e.hint)
        return
    at, names = chosen.endpoint, ", then ".join(chosen.models)
    found = f"{chosen.provider}{f' at {at.base_url}' if at.base_url else ''}, {names}; key: {at.source}"
    if at.api_key and at.base_url.startswith("http://") and not keys.is_local(at.base_url):
        yield Check("model", "warn", f"{found}, sent without encryption", "use an https address")
    elif chosen.provider == "anthropic" and at.base_url.endswith("/v1"):
        yield Check("model", "warn", f"{found}: the address ends in /v1, which is added to it", "leave /v1 out")
    elif chosen.provider == "openai" and find_spec("openai") is None:
        yield Check("model", "warn", f"{found}; its package is missing", how_to_install("openai"))
    else:
        yield Check("model", "ok", found)


def _webhooks(settings: Settings, _repo: Path | None) -> Iterator[Check]:
    from regreen.session.webhooks import missing

    for hook in settings.webhooks:
        if problem := missing(hook, settings.environ):
            yield Check("webhooks", "warn", f"{hook.name} is told of nothing: {problem}",
                        "set it; for a server that a client starts, in the `env` of the client's entry")  # fmt: skip
        else:
            yield Check("webhooks", "ok", f"{hook.name} is told of runs that start in this environment")


def _agent(settings: Settings, _repo: Path | None) -> Iterator[Check]:
    """What the agent of `regreen do` may use."""
    from regreen.session.toolbox import check_tool_names

    agent = settings.agent
    check_tool_names(agent, _config_file())
    tools = ", ".join(agent.enabled) or "all"
    yield Check("agent", "ok", f"tools: {tools}; at most {agent.max_turns} turns")
    for name, (program, *_) in agent.mcp_servers.items():
        found = shutil.which(program, path=settings.environ.get("PATH", ""))
        if found is None or not (Path(program).is_absolute() or Path(program).name == program):
            yield Check("agent", "warn", f"the MCP server `{name}` cannot be started: {program} is not found",
                        f'correct argv of [tools.mcp."{name}"]: an absolute path, or a program on PATH')  # fmt: skip
        else:
            yield Check("agent", "ok", f"the MCP server `{name}` is {found}")


_LOOKS: tuple[Look, ...] = (_config, _state, _git, _tests, _sandbox, _syntax, _watch, _model, _agent, _webhooks, _runs)


def _lines(checks: tuple[Check, ...]) -> Iterator[Line]:
    for check in checks:
        yield Line(f"{check.level:<4}  {check.name}: {check.found}", _STYLES[check.level])
        if check.hint:
            yield Line(f"      {check.hint}", "dim")
