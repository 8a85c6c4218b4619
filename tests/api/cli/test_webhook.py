"""webhook: the file of the endpoints, its secrets, its seal, and every mistake of an operator."""

import re
import stat
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.http.webhook_receiver import receiving, status
from tests.api.http.webhooked import add_unchecked

HOOK = "https://example.com/hook"


def test_a_webhook_is_added_listed_shown_and_removed(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    assert "No webhooks" in done(ledger, "webhook", "list").err
    ended = done(ledger, "webhook", "add", HOOK, "--event", "gate", "--event", "drift", "--timeout", "3")
    secret = ended.text.strip()
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", secret)
    path = ledger.with_name("l.db.webhooks")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (listed,) = msgspec.json.decode(done(ledger, "webhook", "list", "--json").out)
    assert (listed["url"], listed["kinds"], listed["after"]) == (HOOK, ["drift", "gate"], 0)
    shown = done(ledger, "webhook", "show", listed["id"])
    assert "timeout s: 3.0" in shown.text
    for text in (done(ledger, "webhook", "list").text, shown.text):
        assert HOOK in text
        assert secret not in text
    assert not ledger.exists()
    assert "is removed" in done(ledger, "webhook", "remove", listed["id"]).text
    assert msgspec.json.decode(done(ledger, "webhook", "list", "--json").out) == []


@pytest.mark.trial("N15")
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://example.com/", "not the address of a receiver"),
        ("example.com/hook", "not the address of a receiver"),
        ("https://", "not the address of a receiver"),
        ("https://exa mple.com/", "not"),
        ("https://münchen.example/", "not the address of a receiver"),
        ("https://user:pw@example.com/", "user or a password"),
        ("https://example.com/#x", "fragment"),
        ("http://example.com/", "clear text"),
        ("https://127.0.0.1/", "loopback"),
        ("https://[::1]:9/", "loopback"),
        ("https://10.0.0.1/", "private"),
        ("https://169.254.169.254/latest", "link-local"),
        ("https://[::ffff:169.254.169.254]/", "link-local"),
        ("https://100.100.100.200/", "cloud metadata"),
        ("https://example.com:99999/", "not"),
        ("https://example.com:0/", "not the address of a receiver"),
        ("https://2130706433/", "127.0.0.1 is loopback"),
        ("https://0x7f.1/", "127.0.0.1 is loopback"),
        ("https://0xa.1/", "10.0.0.1 is private"),
        ("https://localhost/", "Add --allow-private"),
        ("https://hook.localhost./", "loopback"),
        ("http://169.254.169.254/", "Name a receiver elsewhere"),
        ("https://2852039166/", "Name a receiver elsewhere"),
        (f"https://example.com/{'x' * 2_048}", "not the address of a receiver"),
    ],
)
def test_a_bad_address_is_refused(tmp_path: Path, url: str, said: str) -> None:
    ledger = tmp_path / "l.db"
    assert said in refused(ledger, "webhook", "add", url)
    assert not list(tmp_path.iterdir())


def test_no_option_allows_metadata_addresses(tmp_path: Path) -> None:
    said = refused(tmp_path / "l.db", "webhook", "add", "http://169.254.169.254/", "--allow-private")
    assert "link-local" in said
    assert "--allow-private" not in said


def test_mistakes_are_explained(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    assert "drift" in refused(ledger, "webhook", "add", HOOK, "--event", "nosuch")
    assert "webhook list" in refused(ledger, "webhook", "show", "nosuch", code=1)
    assert "webhook list" in refused(ledger, "webhook", "remove", "nosuch", code=1)
    assert "webhook list" in refused(ledger, "webhook", "test", "nosuch", code=1)
    assert "cannot ask a server" in refused(ledger, "webhook", "list", "--url", "http://127.0.0.1:1")


@pytest.mark.slow
def test_a_name_that_leads_to_loopback_is_refused_when_it_is_used(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with receiving() as receiver:
        add_unchecked(ledger, f"https://localhost:{receiver.port}/")
        (listed,) = msgspec.json.decode(done(ledger, "webhook", "list", "--json").out)
        ended = tally(ledger, "webhook", "test", listed["id"])
    assert ended.code == 1
    assert "address refused" in ended.text
    assert "loopback" in ended.text
    assert receiver.connections == 0


@pytest.mark.slow
def test_a_test_message_says_whether_it_was_accepted(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with receiving(status(204), status(500)) as receiver:
        done(ledger, "webhook", "add", receiver.url, "--allow-private")
        (listed,) = msgspec.json.decode(done(ledger, "webhook", "list", "--json").out)
        assert "204" in done(ledger, "webhook", "test", listed["id"]).text
        ended = tally(ledger, "webhook", "test", listed["id"], "--json")
    assert ended.code == 1
    answer = msgspec.json.decode(ended.out)
    assert (answer["accepted"], answer["status"], answer["reason"]) == (False, 500, "answered 500")
    assert receiver.received[0].event["type"] == "tallystick.webhook.test"
    assert not ledger.exists()


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["changed", "without seal", "not JSON", "link"])
def test_a_file_that_another_program_wrote_is_refused(tmp_path: Path, damage: str) -> None:
    ledger = tmp_path / "l.db"
    done(ledger, "webhook", "add", HOOK)
    path = ledger.with_name("l.db.webhooks")
    seal = ledger.with_name("l.db.webhooks.seal")
    if damage == "without seal":
        seal.unlink()
    elif damage == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.write_bytes(b"[" if damage == "not JSON" else path.read_bytes().replace(b"example.com", b"examp1e.com"))
    said = refused(ledger, "webhook", "list")
    assert "l.db.webhooks" in said
    assert refused(ledger, "webhook", "add", HOOK)


@pytest.mark.slow
def test_a_ledger_has_few_webhooks(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    for _ in range(32):
        done(ledger, "webhook", "add", HOOK)
    assert "at most 32" in refused(ledger, "webhook", "add", HOOK)
