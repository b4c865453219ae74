"""The SDK's server, which declares to clients of the handshake era what it really sends; imported only to serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import NotificationOptions, Server

from regreen_server.tasks_extension import EXTENSION

if TYPE_CHECKING:
    from mcp.server.models import InitializationOptions

SENT = NotificationOptions(resources_changed=True)
"""Tools and prompts never change while a server lives. The later era's declaration is the SDK's."""


class DeclaringServer(Server[Any]):
    """Every transport asks it for its options, and gets the same. Tasks are declared where they are served:
    in the later era alone."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        if extensions is None:
            extensions = {name: settings for name, settings in self.extensions.items() if name != EXTENSION}
        return super().create_initialization_options(
            notification_options or SENT, experimental_capabilities, extensions
        )
