"""A ledger that had tokens never opens by itself: not without its file, and not with a damaged one."""

import time
from pathlib import Path

import httpx
import pytest

from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.cli.command import done, refused
from tests.support.server import served


def answered(url: str, path: str, status: int, **headers: str) -> httpx.Response:
    """The answer, once it has this status; the file is looked at a few times a second."""
    while (answer := httpx.get(url + path, headers=headers)).status_code != status:
        time.sleep(0.02)
    return answer


@pytest.mark.slow
@pytest.mark.trial("C15")
def test_removed_tokens_keep_everybody_out(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "t.db")
    _, secret = tokens.add("scout", ("read",), system_clock())
    with served(tmp_path / "t.db") as server:
        answered(server.url, "/decisions", 200, authorization=f"Bearer {secret}")
        tokens.path.unlink()
        answered(server.url, "/decisions", 401, authorization=f"Bearer {secret}")
        assert httpx.get(f"{server.url}/decisions").status_code == 401
        assert "t.db.tokens is missing" in server.wait_for("tokens")["reason"]
        assert httpx.get(f"{server.url}/healthz").status_code == 200
        done(tmp_path / "t.db", "token", "list")
    with served(tmp_path / "t.db") as server:
        assert httpx.get(f"{server.url}/decisions").status_code == 401
        assert "t.db.tokens is missing" in server.wait_for("tokens")["reason"]
        _, secret = TokenStore(tmp_path / "t.db").add("scout", ("read",), system_clock())
        answered(server.url, "/decisions", 200, authorization=f"Bearer {secret}")
    tokens.path.unlink()
    with served(tmp_path / "t.db", "--no-require-tokens") as server:
        assert httpx.get(f"{server.url}/decisions").status_code == 200


@pytest.mark.trial("C15")
def test_tokens_of_an_older_version_are_remembered_by_a_server(tmp_path: Path) -> None:
    """An older version left an empty lock file."""
    tokens = TokenStore(tmp_path / "t.db")
    tokens.add("scout", ("read",), system_clock())
    lock = tmp_path / "t.db.tokens.lock"
    lock.write_bytes(b"")
    with served(tmp_path / "t.db"):
        pass
    tokens.path.unlink()
    with served(tmp_path / "t.db") as server:
        assert httpx.get(f"{server.url}/decisions").status_code == 401
    lock.write_bytes(b"")
    with served(tmp_path / "t.db") as server:
        assert httpx.get(f"{server.url}/decisions").status_code == 200, "a ledger that never had a token is its owner's"


@pytest.mark.slow
@pytest.mark.trial("C15")
def test_tokens_are_required_by_option(tmp_path: Path) -> None:
    with served(tmp_path / "t.db", "--require-tokens") as server:
        assert httpx.get(f"{server.url}/decisions").status_code == 401
        assert "missing" in server.wait_for("tokens")["reason"]
        _, secret = TokenStore(tmp_path / "t.db").add("scout", ("read",), system_clock())
        answered(server.url, "/decisions", 200, authorization=f"Bearer {secret}")
    assert "nobody has access" in done(tmp_path / "t.db", "token", "revoke", token_id(tmp_path / "t.db")).text
    assert "refuses every caller" not in done(tmp_path / "new.db", "token", "list").err
    assert "refuses every caller" in done(tmp_path / "t.db", "token", "list").err


def token_id(ledger: Path) -> str:
    (token,) = TokenStore(ledger).list()
    return token.id


DAMAGE = {
    "not json": b"[{",
    "not utf-8": b'["\xff"]',
    "another shape": b'{"a": 1}',
    "a scope that does not exist": (
        b'[{"id":"a","agent":"a","scopes":["root"],"created":"2026-01-01T00:00:00Z","sha256":""}]'
    ),
    "nested": b"[" * 100_000,
    "empty": b"",
}


@pytest.mark.slow
@pytest.mark.trial("C15")
@pytest.mark.parametrize("content", DAMAGE.values(), ids=list(DAMAGE))
def test_damaged_tokens_keep_everybody_out_by_name(tmp_path: Path, content: bytes) -> None:
    tokens = TokenStore(tmp_path / "t.db")
    _, secret = tokens.add("scout", ("read", "append"), system_clock())
    whole = tokens.path.read_bytes()
    with served(tmp_path / "t.db") as server:
        answered(server.url, "/decisions", 200, authorization=f"Bearer {secret}")
        tokens.path.write_bytes(content)
        problem = answered(server.url, "/decisions", 503, authorization=f"Bearer {secret}").json()
        assert problem["type"] == "urn:tallystick:problem:tokens-unreadable"
        assert "t.db.tokens" in problem["detail"]
        assert str(tmp_path) not in str(problem), "a caller learns no folder"
        for path in ("/decisions", "/events", "/status", "/evidence"):
            assert httpx.get(server.url + path).status_code == 503
        assert httpx.post(f"{server.url}/cstp", json={"jsonrpc": "2.0", "id": 1, "method": "x"}).status_code == 503
        for path in ("/healthz", "/metrics", "/openapi.json", "/", "/ui/programs"):
            assert httpx.get(server.url + path, headers={"accept": "application/json"}).status_code == 200, path
        assert httpx.get(f"{server.url}/ui").status_code == 503
        ready = httpx.get(f"{server.url}/readyz")
        assert (ready.status_code, ready.json()["status"]) == (503, "not ready")
        assert str(tokens.path) in server.wait_for("tokens")["reason"]
        assert "t.db.tokens" in refused(tmp_path / "t.db", "token", "list")
        tokens.path.write_bytes(whole)
        answered(server.url, "/decisions", 200, authorization=f"Bearer {secret}")
        assert not [line for line in server.log() if line["event"] == "fault"]
