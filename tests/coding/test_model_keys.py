"""Keys and addresses of providers: where they come from, and where they must not go."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import keyring
import keyring.backend
import keyring.errors
import pytest

from regreen.errors import ConfigError
from regreen.providers import keys
from regreen.providers.configured import choose, make_client, provider_name
from regreen.providers.meter import Budget, Meter
from regreen.settings import Settings, load_settings

KEY = "sk-test-0123456789"


class Ring(keyring.backend.KeyringBackend):
    """A keyring of the process, which counts how often it is opened."""

    priority: ClassVar[float] = 1  # type: ignore[assignment]

    def __init__(self, held: dict[str, str], fails: bool = False) -> None:
        super().__init__()
        self.held, self.fails, self.opened = held, fails, 0

    def get_password(self, service: str, username: str) -> str | None:
        self.opened += 1
        if self.fails:
            raise keyring.errors.KeyringLocked("the collection is locked. See the manual")
        return self.held.get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self.held[f"{service}/{username}"] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[f"{service}/{username}"]


@pytest.fixture
def ring() -> Iterator[Ring]:
    before, made = keyring.get_keyring(), Ring({})
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def settings(folder: Path, provider: str = "", **environ: str) -> Settings:
    file = folder / "config.toml"
    file.write_text(provider and f"[provider]\n{provider}\n", "utf-8")
    return load_settings(environ, config_file=file)


def refused(wanted: Settings, **chosen: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        choose(wanted, **chosen)
    assert caught.value.hint
    return f"{caught.value.message} / {caught.value.hint}"


def test_the_environments_key_and_address_are_taken_and_the_keyring_stays_closed(tmp_path: Path, ring: Ring) -> None:
    found = keys.find("anthropic", settings(tmp_path, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL="https://proxy/"))
    assert found == keys.Endpoint(KEY, "https://proxy", "environment ANTHROPIC_API_KEY")
    assert KEY not in repr(found)
    assert ring.opened == 0


def test_a_named_variable_takes_the_place_of_the_usual_one(tmp_path: Path, ring: Ring) -> None:
    named = 'name = "openai"\napi_key_env = "TEAM_KEY"'
    found = keys.find("openai", settings(tmp_path, named, TEAM_KEY=KEY, OPENAI_API_KEY="other"))
    assert found == keys.Endpoint(KEY, "", "environment TEAM_KEY")
    assert keys.find("openai", settings(tmp_path, named, OPENAI_API_KEY="other")) is None
    assert "TEAM_KEY is not set" in refused(settings(tmp_path, named, OPENAI_API_KEY="other"))


def test_the_keyring_has_the_key_that_the_environment_has_not(tmp_path: Path, ring: Ring) -> None:
    ring.set_password(keys.SERVICE, "anthropic", KEY)
    assert keys.find("anthropic", settings(tmp_path)) == keys.Endpoint(KEY, "", "keyring")
    assert keys.find("openai", settings(tmp_path)) is None
    assert provider_name(settings(tmp_path)) == "anthropic"


def test_a_keyring_that_fails_is_no_error_and_says_so(tmp_path: Path, ring: Ring) -> None:
    ring.fails = True
    assert keys.find("anthropic", settings(tmp_path)) is None
    assert provider_name(settings(tmp_path)) == ""
    assert keys.in_keyring("anthropic").trouble == "the keyring failed (KeyringLocked: the collection is locked)"


@pytest.mark.parametrize("provider", keys.PROVIDERS)
def test_a_server_on_this_machine_needs_no_key_and_is_sent_none_of_the_keyring(
    tmp_path: Path, ring: Ring, provider: str
) -> None:
    ring.set_password(keys.SERVICE, provider, KEY)
    local = settings(tmp_path, f'name = "{provider}"\nbase_url = "http://127.0.0.1:11434/v1"\nmodel = "m"')
    assert choose(local).endpoint == keys.Endpoint("", "http://127.0.0.1:11434/v1", "none needed")
    assert ring.opened == 0
    remote = settings(tmp_path, f'name = "{provider}"\nbase_url = "https://gateway.example/v1"\nmodel = "m"')
    assert choose(remote).endpoint == keys.Endpoint(KEY, "https://gateway.example/v1", "keyring")


@pytest.mark.parametrize(
    "url", ["https://me:word@host/v1", "ftp://host", "host:80", "http://", "https://host/v1?key=1", "https://host:x/"]
)
def test_an_address_that_no_key_may_go_to_is_refused(tmp_path: Path, url: str) -> None:
    said = refused(settings(tmp_path, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=url), provider="openai", model="m")
    assert "OPENAI_BASE_URL" in said
    assert "word" not in said.partition(" holds a user name or password")[0]


@pytest.mark.parametrize("key", ["two words", "caf\u00e9-0123", "tab\there"])
def test_what_cannot_be_a_key_is_refused_and_not_shown(tmp_path: Path, key: str) -> None:
    assert key not in refused(settings(tmp_path, ANTHROPIC_API_KEY=key))


def test_the_provider_is_the_wanted_one_then_the_settings_then_the_first_with_a_key(tmp_path: Path, ring: Ring) -> None:
    both = settings(tmp_path, OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY)
    assert provider_name(both) == "anthropic"
    assert provider_name(both, "openai") == "openai"
    assert provider_name(settings(tmp_path, 'name = "openai"', ANTHROPIC_API_KEY=KEY)) == "openai"
    assert provider_name(settings(tmp_path, OPENAI_API_KEY=KEY)) == "openai"
    assert provider_name(settings(tmp_path)) == ""


def test_what_cannot_be_asked_is_told_with_what_to_type(tmp_path: Path, ring: Ring) -> None:
    assert "no model is configured" in refused(settings(tmp_path))
    assert "export ANTHROPIC_API_KEY=" in refused(settings(tmp_path), provider="anthropic")
    assert "--model MODEL" in refused(settings(tmp_path, OPENAI_API_KEY=KEY))


def test_a_client_asks_the_main_model_then_its_fallbacks(tmp_path: Path) -> None:
    wanted = settings(tmp_path, 'fallback_models = ["claude-haiku-4-5", "claude-sonnet-5-5"]', ANTHROPIC_API_KEY=KEY)
    assert choose(wanted).models == ("claude-sonnet-5-5", "claude-haiku-4-5")
    client = make_client(wanted, Meter(), model="claude-opus-4-8")
    assert (client.name, client.model) == ("anthropic", "claude-opus-4-8")


def test_a_budget_in_dollars_wants_the_price_of_every_model(tmp_path: Path) -> None:
    wanted = settings(tmp_path, OPENAI_API_KEY=KEY)
    with pytest.raises(ConfigError, match="my-own-model"):
        make_client(wanted, Meter(Budget(usd=1.0)), provider="openai", model="my-own-model")


def test_choosing_a_provider_loads_no_sdk(tmp_path: Path) -> None:
    code = (
        "import sys; from regreen.settings import load_settings; from regreen.providers.configured import choose;"
        "from pathlib import Path;"
        f"file = Path({str(tmp_path / 'none.toml')!r});"
        "choose(load_settings({'ANTHROPIC_API_KEY': 'k-1234567'}, config_file=file));"
        "print(sorted({'anthropic', 'openai', 'keyring', 'httpx', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
