"""MCP over streamable HTTP: what is refused before the protocol sees a request, the routes, the process.

`options` and `tokens` say what may be served to whom, `guard` refuses the rest, `app` puts the routes together,
`running` owns the sockets and the end. Nothing here is imported by a server on stdin and stdout.
"""
