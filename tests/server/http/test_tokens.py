"""The token file, and what the options allow to be opened."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regreen.errors import ConfigError, RegreenError, UsageError
from regreen.settings import load_settings
from regreen_server.http import tokens
from regreen_server.http.options import HttpOptions, address, http_options
from regreen_server.http.running import remarks

A, B = "a" * 32, "b" * 43


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_a_missing_file_is_made_with_256_random_bits_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "tokens"
    made = tokens.of_file(path)
    token = path.read_text().strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert len(token) >= 43
    assert made.principal(token) and made.principal(token[:-1]) is None and made.principal(token + "x") is None
    assert [p.name for p in path.parent.iterdir()] == ["tokens"]
    assert tokens.of_file(path) == made


def test_processes_that_start_at_once_agree_on_one_token(tmp_path: Path) -> None:
    path, gate, seen = tmp_path / "tokens", threading.Barrier(8), list[tokens.Tokens]()

    def start() -> None:
        gate.wait()
        seen.append(tokens.of_file(path))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8 and len(set(seen)) == 1


def test_each_line_is_a_principal_and_a_name_may_have_several_tokens(tmp_path: Path) -> None:
    path = written(tmp_path / "t", f"# mine\n\nalice {A}\nalice {A}2\n  bob   {B}  \n{B}3\n")
    known = tokens.of_file(path)
    assert [known.principal(t) for t in (A, A + "2", B)] == ["alice", "alice", "bob"]
    unnamed = known.principal(B + "3")
    assert unnamed and unnamed.startswith("token-") and B[:8] not in unnamed
    assert known.principal("") is None and known.principal("alice") is None


def test_no_representation_shows_a_token(tmp_path: Path) -> None:
    assert A not in repr(tokens.of_file(written(tmp_path / "t", A)))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666, 0o601])
def test_a_file_that_others_can_open_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(ConfigError, match="by others") as told:
        tokens.of_file(written(tmp_path / "t", A, mode))
    assert told.value.kind == "config_refused" and "chmod 600" in told.value.hint


def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "t", A)
    found = list(path.stat())
    found[stat.ST_UID] = os.geteuid() + 1
    with pytest.raises(ConfigError, match="belongs to another user"):
        tokens.is_private(path, os.stat_result(found))


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "no token"), ("# only\n", "no token"), ("short\n", "line 1"), (f"{A}\nx y {B}\n", "line 2"),
     (f"{A}\n{A}\n", "second time"), (f"a {A}\nb {A}\n", "second time"), (f"bad/name {A}\n", "line 1"),
     (f"{A}\u00e9\n", "line 1"), ("x" * 513, "line 1"), ("a" * 31, "line 1")],
)  # fmt: skip
def test_a_file_without_usable_tokens_is_refused_without_being_shown(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as error:
        tokens.of_file(written(tmp_path / "t", text))
    assert A not in str(error.value) + error.value.hint


@pytest.mark.parametrize("what", ["folder", "fifo", "bytes", "nowhere"])
def test_what_is_no_text_file_is_refused(tmp_path: Path, what: str) -> None:
    path = tmp_path / "t"
    match what:
        case "folder":
            path.mkdir(mode=0o700)
        case "fifo":
            os.mkfifo(path, 0o600)
        case "bytes":
            path.touch(0o600)
            path.write_bytes(b"\xff" * 40)
        case _:
            (tmp_path / "file").touch()
            path = tmp_path / "file" / "t"
    with pytest.raises(ConfigError, match="token file"):
        tokens.of_file(path)


def test_the_environments_token_is_held_to_the_same_rules() -> None:
    assert tokens.of_environment(A, "REGREEN_TOKEN").principal(A) == "environment"
    with pytest.raises(ConfigError, match="REGREEN_TOKEN"):
        tokens.of_environment("short", "REGREEN_TOKEN")


@settings(max_examples=40)
@given(st.text(max_size=60), st.text(max_size=60))
def test_only_the_very_token_comes_in(token: str, presented: str) -> None:
    known = tokens.Tokens((("x", tokens.of_environment(A, "V").entries[0][1]),), "V")
    assert known.principal(A) == "x"
    assert known.principal(presented) is None or presented == A
    assert known.principal(token + A) is None or token == ""


# --- options ------------------------------------------------------------------------------------------


def options(tmp_path: Path, config: str = "", environ: dict[str, str] | None = None, **flags: object) -> HttpOptions:
    file = written(tmp_path / "config.toml", config)
    there = {"REGREEN_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path), **(environ or {})}
    return http_options(load_settings(there, config_file=file), **flags)


def refused(tmp_path: Path, **flags: object) -> RegreenError:
    with pytest.raises(RegreenError) as told:
        options(tmp_path, **flags)
    return told.value


@pytest.mark.parametrize(
    ("text", "found"),
    [("8080", ("127.0.0.1", 8080)), ("0", ("127.0.0.1", 0)), ("localhost:1", ("127.0.0.1", 1)),
     ("[::1]:80", ("::1", 80)), ("::1:80", ("::1", 80)), ("127.0.0.2:5", ("127.0.0.2", 5)),
     ("0.0.0.0:65535", ("0.0.0.0", 65535))],
)  # fmt: skip
def test_an_address_is_a_port_or_an_ip_address_with_one(text: str, found: tuple[str, int]) -> None:
    assert address(text) == found


@pytest.mark.parametrize("text", ["", ":80", "*:80", "x", "example.com:80", "127.0.0.1:", "1:65536", "127.1:1", "-1",
                                  "127.0.0.1:8o", "127.0.0.1:+1", "127.0.0.1: 1"])  # fmt: skip
def test_anything_else_is_no_address(text: str) -> None:
    with pytest.raises(UsageError):
        address(text)


@pytest.mark.parametrize("flag", ["http", "socket"])
def test_a_place_that_is_empty_is_none(tmp_path: Path, flag: str) -> None:
    assert f"--{flag}" in refused(tmp_path, **{flag: ""}).message


def test_the_token_is_in_the_state_folder_unless_a_flag_or_the_environment_names_another(tmp_path: Path) -> None:
    assert options(tmp_path, http="0").token_file == tmp_path / "state" / "http-tokens"
    assert options(tmp_path, environ={"REGREEN_TOKEN": A}, http="0").token_file is None
    named = options(tmp_path, environ={"REGREEN_TOKEN": A}, http="0", token_file=str(tmp_path / "f"))
    assert named.token_file == tmp_path / "f"


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "10.0.0.5"])
def test_other_machines_are_let_in_only_with_a_flag_and_a_named_token(tmp_path: Path, host: str) -> None:
    neither = refused(tmp_path, http=f"{host}:0")
    assert neither.kind == "config_refused" and "token" in neither.message and "--allow-remote" in neither.message
    no_token = refused(tmp_path, http=f"{host}:0", allow_remote=True)
    assert "token" in no_token.message and "--allow-remote" not in no_token.message
    no_flag = refused(tmp_path, http=f"{host}:0", token_file="f")
    assert "--allow-remote" in no_flag.message and "a token" not in no_flag.message
    assert options(tmp_path, http=f"{host}:0", allow_remote=True, token_file="f").host == host.strip("[]")
    assert options(tmp_path, environ={"REGREEN_TOKEN": A}, http=f"{host}:0", allow_remote=True).token_file is None


@pytest.mark.parametrize(
    "flags",
    [{"http": "0", "socket": "s"}, {"token_file": "f"}, {"allow_remote": True}, {"socket": "s", "allow_remote": True}],
    ids=["two places", "token without http", "remote without http", "remote socket"],
)
def test_flags_that_do_not_go_together_are_a_usage_error(tmp_path: Path, flags: dict[str, object]) -> None:
    told = refused(tmp_path, **flags)
    assert (told.kind, told.exit_code) == ("invalid_arguments", 2)


def test_a_token_file_in_a_served_folder_and_names_that_nobody_can_use_are_remarked(tmp_path: Path) -> None:
    served = load_settings({"REGREEN_STATE_DIR": str(tmp_path / "state")}, roots=(tmp_path,),
                           config_file=written(tmp_path / "config.toml", ""))  # fmt: skip
    inside = HttpOptions(token_file=tmp_path / "t")
    (told,) = remarks(served, inside)
    assert str(tmp_path) in told and "reads the tokens" in told
    assert remarks(served, HttpOptions(token_file=tmp_path.parent / "t")) == remarks(served, HttpOptions()) == []
    (told,) = remarks(served, HttpOptions(host="0.0.0.0"))
    assert "[http] hosts" in told
    assert remarks(served, HttpOptions(host="0.0.0.0", hosts=("shop.example",))) == []


def test_hosts_and_origins_are_the_users(tmp_path: Path) -> None:
    config = '[http]\nhosts = ["shop.example", "[fe80::1]:80"]\norigins = ["https://shop.example"]\n'
    found = options(tmp_path, config, http="0")
    assert (found.hosts, found.origins) == (("shop.example", "[fe80::1]:80"), ("https://shop.example",))


@pytest.mark.parametrize(
    "line",
    ['hosts = ["*"]', 'hosts = ["http://x"]', 'hosts = ["*.example"]', 'hosts = "x y"', 'origins = ["null"]',
     'origins = ["*"]', 'origins = ["https://x/"]', 'origins = ["https://*.x"]', 'origin = ["https://x"]'],
)  # fmt: skip
def test_a_pattern_or_a_mistyped_key_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError) as told:
        options(tmp_path, f"[http]\n{line}\n", http="0")
    assert told.value.kind == "config_refused" and "[http]" in told.value.message
