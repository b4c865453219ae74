"""What can be set: frozen values, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

Mode: TypeAlias = Literal["plan", "ask", "accept-edits", "auto"]
SandboxWish: TypeAlias = Literal["auto", "required", "off"]

MODES: tuple[str, ...] = get_args(Mode)
SANDBOX_WISHES: tuple[str, ...] = get_args(SandboxWish)
SANDBOX_LEVELS = ("", "bwrap", "landlock", "seatbelt", "job", "container", "none")
CONTAINER_ENGINES = ("", "docker", "podman")
MODEL_PROVIDERS = ("", "anthropic", "openai")
EDIT_FORMATS = ("auto", "search_replace", "unified_diff", "apply_patch", "str_replace", "whole_file")


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes and times that bound every operation. Seconds, bytes, characters."""

    max_file_bytes: int = 8 * 1024 * 1024
    max_response_bytes: int = 4 * 1024 * 1024
    max_response_lines: int = 250_000
    max_edits: int = 2000
    max_output_bytes: int = 64 * 1024 * 1024  # kept of a test run's output; the rest is counted and dropped
    test_timeout_s: float = 300.0
    max_attempts: int = 6
    budget_s: float = 300.0
    silence_s: float = 1800.0  # a caller-driven run that hears nothing for this long ends `cancelled`
    memory_mib: int = 4096  # address-space rise allowed to a test process tree's members (RLIMIT_DATA)


@dataclass(frozen=True, slots=True)
class CustomTests:
    """A command that the user approved for the tests of one repository. `junit`: a glob of the reports that it writes,
    relative to the repository; "" for none."""

    argv: tuple[str, ...]
    junit: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """A check besides the tests that the user wants a fix to pass: a linter, a type checker, a build. It has passed
    with exit status 0. `timeout_s` 0 is the limit of a test run."""

    name: str
    argv: tuple[str, ...]
    timeout_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; `cache_write`, `cache_read`: those that go into a cache or come from it."""

    input: float
    output: float
    cache_write: float
    cache_read: float


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The table `[provider]`, and `[prices."MODEL"]`: which model is asked, where, and how long it may take.

    `provider` "" is the one that a key is at hand for. `base_url` "" is the environment's, or the provider's own. The
    key is in the environment under `api_key_env` (or the provider's usual name), or in the system's keyring.
    `timeout_s` limits the wait for an answer to begin, and each silence in the middle of one.
    """

    provider: str = ""
    model: str = ""
    fallback_models: tuple[str, ...] = ()
    base_url: str = ""
    api_key_env: str = ""
    timeout_s: float = 60.0
    max_tokens: int = 8192
    edit_format: str = ""  # of proposals; "" = what suits the model
    effort: str = ""  # how much a thinking model thinks, in its provider's words; "" = its default
    max_input_tokens: int = 120_000
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The tables `[agent]`, `[tools]` and `[loop]`: how long the agent may go on, and what it may use.

    `enabled` () is every tool; `concurrency_safe` () is every tool that only reads: a tool that writes is never in it.
    """

    max_turns: int = 30
    max_output_recovery: int = 3
    system_prompt_file: Path | None = None
    enabled: tuple[str, ...] = ()
    concurrency_safe: tuple[str, ...] = ()
    max_parallel: int = 10
    tool_timeout_s: float = 30.0
    tool_result_chars: int = 8_000
    mcp_servers: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])  # name: argv


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """The table `[http]`: what a server over HTTP answers to besides the own machine's names. Each value is compared to
    the letter with the header of that name."""

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Webhook:
    """A table `[webhooks."NAME"]`: who is told of the end of runs. `secret_env` names the environment variable whose
    value signs the messages; `when` is some of `fixed` and `not_fixed`."""

    name: str
    url: str
    secret_env: str
    when: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that an operator can choose. `roots` are the folders the operator named: they are trusted."""

    state_dir: Path
    cache_dir: Path
    environ: Mapping[str, str]
    roots: tuple[Path, ...] = ()
    mode: Mode = "accept-edits"
    sandbox: SandboxWish = "auto"
    sandbox_level: str = ""  # use exactly this level of isolation; empty = the best there is
    network: bool = False  # whether tests may reach the network
    test_environ: Mapping[str, str] = field(default_factory=dict[str, str])  # what the user gives to tests besides
    writable: tuple[Path, ...] = ()  # folders outside of the project that tests may write
    container_engine: str = ""  # docker or podman, for the level `container`
    container_image: str = ""
    python: str = ""  # interpreter for the project's tests; empty = find one
    strict_edits: bool = False  # edits must match exactly, to the last blank
    watch: bool = False  # an open server keeps the index fresh between calls, too
    custom_tests: Mapping[str, CustomTests] = field(default_factory=dict[str, CustomTests])  # by the repository's path
    gates: Mapping[str, tuple[Gate, ...]] = field(default_factory=dict[str, tuple[Gate, ...]])  # by that path too
    limits: Limits = field(default_factory=Limits)
    models: ModelSettings = field(default_factory=ModelSettings)
    agent: AgentSettings = field(default_factory=AgentSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    webhooks: tuple[Webhook, ...] = ()

    @property
    def may_be_told(self) -> Mapping[str, str]:
        """All variables whose values could turn up in what tests print: what is secret in them, by their names,
        must be masked."""
        of_webhooks = {f"WEBHOOK_SECRET_{w.name}": self.environ.get(w.secret_env, "") for w in self.webhooks}
        return {**self.environ, **self.test_environ, **of_webhooks}
