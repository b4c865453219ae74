"""What reads a repository never shows its secrets, however little of them, and stays within its budget all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.gitrepos import make_repo

import regreen
from regreen import Session, UsageError
from regreen.redact import Redactor
from regreen.repo import estimate_tokens, render

TOKEN = "ghp_" + "a1B2" * 10
KEY = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", *(f"MIIEsecretbody{i}" for i in range(6)), "-----END RSA PRIVATE KEY-----"]
)
PASSWORDS = "\n".join(f'url_{i} = "https://me:pw{i}@host/a"' for i in range(60))


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    for name in ("STATE", "CACHE"):
        monkeypatch.setenv(f"REGREEN_{name}_DIR", str(tmp_path / name))
    files = {
        "app.py": f'API = "https://example.org/{"x" * 20}", "{TOKEN}"\n\n\ndef use(key="{TOKEN}"):\n    return key\n',
        "keys/id_rsa": KEY + "\n", "urls.py": PASSWORDS + "\n",
        "long.py": "x = 1  # " + "y" * 270 + f" needle {TOKEN}\n",
        "prod.env": "SECRET_KEY=letmein\n", "linked": "",
    }  # fmt: skip
    root = make_repo(tmp_path / "repo", files)
    (root / ".env").write_text("def hidden(): PASSWORD = 'letmein'\n")
    (root / "shown.py").symlink_to(".env")
    with regreen.open(root) as opened:
        yield opened


def test_no_part_of_a_token_is_shown_where_a_value_or_line_is_cut(session: Session) -> None:
    texts = [
        session.repo_map(max_tokens=2000).text,
        render(session.signatures(["app.py"])),
        repr(session.find_symbol("API")),
        repr(session.search("needle")),
        repr(session.search("API", context=2)),
    ]
    for text in texts:
        assert "a1B2" not in text
    assert "[redacted:" in texts[0] + texts[1]


def test_the_lines_of_a_private_key_are_masked_wherever_reading_begins(session: Session) -> None:
    inside = session.read("keys/id_rsa", start_line=3, end_line=5)
    assert "secretbody" not in inside.text and inside.redacted == 3
    assert (inside.start_line, inside.end_line, inside.total_lines) == (3, 5, 8)
    assert session.search("secretbody").matches == ()
    assert session.search("PRIVATE KEY").matches == ()


def test_files_named_like_environments_are_neither_searched_nor_read_through_links(session: Session) -> None:
    assert session.search("letmein").matches == ()
    (skipped,) = session.signatures(["shown.py"]).skipped
    assert "secrets" in skipped.reason
    assert session.find_symbol("hidden").definitions == ()


@pytest.mark.parametrize("max_tokens", [100, 250, 600])
def test_masks_do_not_take_an_answer_over_its_budget(session: Session, max_tokens: int) -> None:
    mapped = session.repo_map(["urls.py"], max_tokens=max_tokens)
    assert "[redacted:url-password]" in mapped.text
    assert estimate_tokens(mapped.text) == mapped.tokens <= max_tokens
    page = session.signatures(["urls.py"], max_tokens=max_tokens)
    assert "[redacted:url-password]" in render(page)
    assert estimate_tokens(render(page)) <= max_tokens


def test_a_focus_of_many_entries_is_refused_and_notes_stay_few(session: Session) -> None:
    with pytest.raises(UsageError) as error:
        session.repo_map([f"name_{i}" for i in range(201)])
    assert error.value.kind == "limit_exceeded"
    notes = session.repo_map([f"name_{i}" for i in range(200)]).notes
    assert len(notes) == 11 and notes[-1] == "and 190 more"


def test_a_redactor_knows_the_beginnings_of_what_was_cut_off() -> None:
    redact = Redactor(["correct-horse-battery"])
    assert redact('a = "ghp_abc…') == 'a = "[redacted:cut]…'
    assert redact('a = "correct-hor…') == 'a = "[redacted:known]…'
    assert redact("https://me:pass…") == "https://me:[redacted:url-password]…"
    assert redact("a sentence goes on…") == "a sentence goes on…"
    assert redact(KEY).count("\n") == KEY.count("\n")
    assert redact(redact(KEY)) == redact(KEY)
