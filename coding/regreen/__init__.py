"""The engine: no MCP, no ACP, no terminal."""
