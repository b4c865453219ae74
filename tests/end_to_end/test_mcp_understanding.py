"""Maps, symbols, searches and `repo://` resources through a real server and real clients."""

import asyncio
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from support.gitrepos import make_repo
from support.mcp_clients import REGREEN, server_environment

FILES = {
    "src/store.py": "class Store:\n    def load(self, key: str) -> bytes: ...\n",
    "src/use.py": "from store import Store\n\n\ndef main() -> None:\n    Store().load('k')\n",
    "lib/app.go": "package lib\n\n// Run runs.\nfunc Run(s *Store) error { return nil }\n",
}


@pytest.fixture
def parameters(tmp_path: Path) -> StdioServerParameters:
    repo = make_repo(tmp_path / "repo", FILES)
    return StdioServerParameters(
        command=REGREEN[0], args=[*REGREEN[1:], "serve", "--root", str(repo)], env=server_environment(tmp_path)
    )


def test_the_tools_that_understand_answer_through_a_session(parameters: StdioServerParameters) -> None:
    async def talk() -> None:
        async with Client(parameters) as client:
            mapped = await client.call_tool("repo_map", {"max_tokens": 500})
            assert not mapped.is_error and mapped.structured_content is not None
            assert mapped.structured_content["tokens"] <= 500
            assert mapped.structured_content["text"] in mapped.content[0].text  # type: ignore[union-attr]
            found = await client.call_tool("find_symbol", {"name": "Store.load", "references": True})
            assert found.structured_content is not None
            assert [d["path"] for d in found.structured_content["definitions"]] == ["src/store.py"]
            assert [r["line"] for r in found.structured_content["references"] if r["path"] == "src/use.py"] == [5]
            hits = await client.call_tool("search_text", {"pattern": "Store", "globs": ["*.go"]})
            assert hits.structured_content is not None
            assert [(m["path"], m["line"]) for m in hits.structured_content["matches"]] == [("lib/app.go", 4)]
            refused = await client.call_tool("search_text", {"pattern": "(", "regex": True})
            assert refused.is_error and refused.content[0].text.startswith("invalid_arguments: ")  # type: ignore[union-attr]

    asyncio.run(talk())


def test_resources_are_listed_and_read(parameters: StdioServerParameters) -> None:
    async def talk() -> None:
        async with Client(parameters) as client:
            listed = {str(r.uri) for r in (await client.list_resources()).resources}
            assert listed == {"repo://skeleton/", "repo://signatures/", "repo://map/", "ui://regreen/run.html"}
            templates = {t.uri_template for t in (await client.list_resource_templates()).resource_templates}
            assert "repo://skeleton/{+path}" in templates
            whole = (await client.read_resource("repo://skeleton/")).contents[0].text  # type: ignore[union-attr]
            part = (await client.read_resource("repo://skeleton/src")).contents[0].text  # type: ignore[union-attr]
            assert "app.go" in whole and "store.py" in part and "app.go" not in part
            outline = (await client.read_resource("repo://signatures/lib%2Fapp.go")).contents[0].text  # type: ignore[union-attr]
            assert "func Run(s *Store) error" in outline
            text = (await client.read_resource("repo://file/src/use.py")).contents[0].text  # type: ignore[union-attr]
            assert "Store().load('k')" in text
            for uri, said in (("repo://skeleton/nowhere", "not_found"), ("repo://no/x", "not_found"),
                              ("repo://file/../../etc/passwd", "path_outside_workspace")):  # fmt: skip
                with pytest.raises(MCPError, match=said):
                    await client.read_resource(uri)

    asyncio.run(talk())
