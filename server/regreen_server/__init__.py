"""The MCP server: registration and translation only."""
