"""What the page on webhooks shows, works."""

import json
import re
import time
from pathlib import Path
from typing import Any

from regreen.session.webhooks import Ended, payload, signature
from regreen.settings import load_settings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "webhooks.md").read_text("utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def test_the_settings_shown_are_settings(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(block("toml"))
    (hook,) = load_settings({"HOME": str(tmp_path)}, config_file=tmp_path / "config.toml").webhooks
    assert (hook.name, hook.secret_env) == ("ci", "REGREEN_HOOK_SECRET")


def test_the_variable_of_the_settings_is_the_one_that_the_client_is_to_set() -> None:
    named = re.search(r'^secret_env = "(\w+)"', block("toml"), re.MULTILINE)
    entry = json.loads(f"{{{block('json')}}}")
    assert named and named[1] in entry["env"]


def test_the_check_shown_takes_what_is_sent_and_nothing_else() -> None:
    shown: dict[str, Any] = {}
    exec(block("python"), shown)
    body, now = payload(Ended("job-1", "fix", "shop", {}, 1.0), "delivery-1"), str(int(time.time()))
    good = signature(b"secret", now, body)
    assert shown["is_genuine"](b"secret", now, good, body)
    assert not shown["is_genuine"](b"secret", now, good, body + b" ")
    assert not shown["is_genuine"](b"other", now, good, body)
    assert not shown["is_genuine"](b"secret", "1", signature(b"secret", "1", body), body)


def test_each_field_of_the_body_is_explained() -> None:
    table = PAGE.partition("and a JSON body")[2].partition("The details")[0]
    assert set(re.findall(r"`([a-z_]+)`", table)) >= set(json.loads(payload(Ended("j", "fix", "r", {}, 1.0), "d")))
