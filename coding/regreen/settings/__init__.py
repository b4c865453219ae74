"""One frozen `Settings`, built at the entry point and passed down; no other module reads the environment.

Sources, weakest first: the user's `config.toml`, environment variables, flags. A repository can set nothing.
"""

from regreen.settings.loading import default_environ, load_settings, own_interpreter
from regreen.settings.values import (
    CONTAINER_ENGINES,
    EDIT_FORMATS,
    MODEL_PROVIDERS,
    MODES,
    SANDBOX_LEVELS,
    SANDBOX_WISHES,
    AgentSettings,
    CustomTests,
    Gate,
    HttpSettings,
    Limits,
    Mode,
    ModelSettings,
    Price,
    SandboxWish,
    Settings,
    Webhook,
)

__all__ = [
    "CONTAINER_ENGINES",
    "EDIT_FORMATS",
    "MODEL_PROVIDERS",
    "MODES",
    "SANDBOX_LEVELS",
    "SANDBOX_WISHES",
    "AgentSettings",
    "CustomTests",
    "Gate",
    "HttpSettings",
    "Limits",
    "Mode",
    "ModelSettings",
    "Price",
    "SandboxWish",
    "Settings",
    "Webhook",
    "default_environ",
    "load_settings",
    "own_interpreter",
]
