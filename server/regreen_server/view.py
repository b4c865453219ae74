"""The page in which a host that knows MCP Apps shows a fix run (`io.modelcontextprotocol/ui`, 2026-01-26).

One HTML file without network: its policy allows exactly the script and the style in it. Results are the same with and
without it; a client that does not know MCP Apps sees only a few bytes of `_meta`, which it does not show to its model.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_types import ReadResourceResult, Resource

EXTENSION = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
URI = "ui://regreen/run.html"
SHOWN_FOR = frozenset({"fix_tests", "submit_fix", "job_status"})
# Declared by the server; says in which form its pages come.
EXTENSIONS: dict[str, dict[str, Any]] = {EXTENSION: {"mimeTypes": [MIME_TYPE]}}
# No other origin for anything; the host draws no border of its own around ours.
_UI_META: dict[str, Any] = {"ui": {"csp": {}, "prefersBorder": True}}


def tool_meta(name: str) -> dict[str, Any]:
    """The part of a tool's `_meta` that links it to the page; empty where its results are not shown there."""
    return {"ui": {"resourceUri": URI}} if name in SHOWN_FOR else {}


def resource() -> Resource:
    """The page as `resources/list` names it."""
    from mcp_types import Resource

    return Resource(
        name="run-view", title="Fix run", uri=URI, mime_type=MIME_TYPE, _meta=_UI_META,
        description="For hosts with MCP Apps: a fix run's attempts, diff and outcome.",
    )  # fmt: skip


def read(uri: str) -> ReadResourceResult | None:
    """The page as `resources/read` gives it; None where the address is not ours."""
    from mcp_types import ReadResourceResult, TextResourceContents

    if uri != URI:
        return None
    content = TextResourceContents(uri=URI, mime_type=MIME_TYPE, text=page(), _meta=_UI_META)
    return ReadResourceResult(contents=[content])


@cache
def page() -> str:
    """The whole document, with this version and a policy for what is in it."""
    text = (files("regreen_server") / "view.html").read_text("utf-8").replace("{{version}}", version("regreen"))
    return text.replace("{{policy}}", policy(text))


def policy(text: str) -> str:
    """A content security policy that lets through the document's one script and one style, and nothing else."""
    script, style = (_digest(text, name) for name in ("script", "style"))
    return f"default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'"


def _digest(text: str, element: str) -> str:
    (content,) = re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
