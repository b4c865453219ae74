"""The official conformance suite over HTTP: the sets of scenarios that two protocol revisions require.

The product's own server fails exactly the scenarios that ask for tools, resources or prompts that only a test server
has: the baselines name them, and the suite also fails where one that is named passes.
"""

import json
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.http_server import http_server
from support.mcp_clients import REGREEN, TOOLS_FOLDER, node_command

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from bearer_proxy import bearer_proxy  # noqa: E402  (a module of these tests alone)

SUITE = TOOLS_FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
REVISIONS = ("2025-11-25", "2026-07-28")
LIMIT_S = 240
TASK_CHECKS = 44
SCENARIOS = {"2025-11-25": 33, "2026-07-28": 50}
# Not required: streams that are taken up again after a break, which the server does not offer; and notifications of
# tasks, of which the suite makes no check yet.
LEFT_OUT = {"2025-11-25": {"server-server-sse-polling"}, "2026-07-28": {"server-tasks-status-notifications"}}


def suite() -> list[str]:
    node = node_command()
    if not SUITE.exists():
        pytest.skip(f"NOT RUN: the conformance suite is not in {TOOLS_FOLDER} (`make node` installs it)")
    return [*node, str(SUITE), "server"]


@contextmanager
def served(folder: Path, command: Sequence[str]) -> Generator[str]:
    """The address of a server behind the proxy, which it is told of by the user's settings."""
    repo = folder / "shop"
    repo.mkdir()
    (repo / "calc.py").write_text("def one():\n    return 1\n", "utf-8")
    subprocess.run(["git", "init", "-q"], cwd=repo, check=True)
    with bearer_proxy() as proxy:
        settings = folder / "config" / "regreen" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'[http]\nhosts = ["{proxy.address}"]\norigins = ["http://{proxy.address}"]\n', "utf-8")
        env = {"XDG_CONFIG_HOME": str(folder / "config")}
        with http_server(folder, "--root", str(repo), command=command, env=env) as server:
            proxy.server, proxy.token = (server.host, server.port), server.token
            yield proxy.address


def fault(address: str, revision: str, results: Path, *options: str) -> str:
    """What the suite says where it finds a fault; "" where it finds none."""
    command = [*suite(), "--url", f"http://{address}/mcp", "--requirements", revision, "-o", str(results), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S,
                          stdin=subprocess.DEVNULL)  # fmt: skip
    return "" if done.returncode == 0 else done.stdout[-8000:] + done.stderr[-2000:]


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    suite()
    with served(tmp_path_factory.mktemp("product"), [*REGREEN, "serve"]) as address:
        yield address


@pytest.fixture(scope="module")
def with_fixtures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    suite()
    with served(tmp_path_factory.mktemp("fixtures"), [sys.executable, str(HERE / "fixtures.py")]) as address:
        yield address


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_product_fails_only_what_needs_a_test_servers_fixtures(product: str, tmp_path: Path, revision: str) -> None:
    baseline = str(HERE / f"baseline-{revision[:4]}.yml")
    said = fault(product, revision, tmp_path / "results", "--expected-failures", baseline)
    assert not said, said


@pytest.fixture(scope="module")
def outcomes(with_fixtures: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Path]]:
    """What the suite says of the server with fixtures, by revision, and the folder of its results."""
    folders = {revision: tmp_path_factory.mktemp("results") for revision in REVISIONS}
    return {revision: (fault(with_fixtures, revision, folder), folder) for revision, folder in folders.items()}


@pytest.mark.parametrize("revision", REVISIONS)
def test_with_the_fixtures_nothing_that_is_required_fails(outcomes: dict[str, tuple[str, Path]], revision: str) -> None:
    said, _ = outcomes[revision]
    assert not said, said


@pytest.mark.parametrize("revision", REVISIONS)
def test_with_the_fixtures_each_scenario_makes_checks_and_they_pass(
    outcomes: dict[str, tuple[str, Path]], revision: str
) -> None:
    """The suite counts a scenario that could check nothing, or that it does not require, as no fault."""
    _, results = outcomes[revision]
    found = {folder.name: json.loads((folder / "checks.json").read_text("utf-8")) for folder in results.iterdir()}
    assert len(found) == SCENARIOS[revision]
    unmet: list[tuple[str, str]] = []
    for name, checks in found.items():
        statuses = {check["status"] for check in checks}
        if "SUCCESS" not in statuses or not statuses <= {"SUCCESS", "INFO"}:
            unmet.append((name.partition("-202")[0], str(sorted(statuses))))
    assert dict(unmet).keys() == LEFT_OUT[revision], unmet


def test_the_tasks_extension_is_checked_as_a_whole(outcomes: dict[str, tuple[str, Path]]) -> None:
    _, results = outcomes[REVISIONS[-1]]
    checks = [check for folder in results.glob("server-tasks-*")
              for check in json.loads((folder / "checks.json").read_text("utf-8"))]  # fmt: skip
    assert sum(check["status"] == "SUCCESS" for check in checks) >= TASK_CHECKS
