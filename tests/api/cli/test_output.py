"""The command itself: help, version, schema, tokens, usage."""

from pathlib import Path

import msgspec
import pytest

from events.schema import json_schema
from tests.api.cli.command import done, refused, tally

VERBS = (
    ("serve",), ("append",), ("import", "decisions"), ("log",), ("replay",), ("calibration",), ("advice",),
    ("decisions",), ("decision",), ("projections",), ("schema",), ("token", "add"), ("token", "list"),
    ("token", "revoke"),
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_each_verb_has_an_example(tmp_path: Path, verb: tuple[str, ...]) -> None:
    said = done(tmp_path / "t.db", *verb, "--help").text
    assert "Example: " in said
    assert f"tallystick {'--ledger team.db ' if verb == ('serve',) else ''}{' '.join(verb)}" in said
    assert ("--json" in said) is (verb != ("serve",))


def test_the_whole(tmp_path: Path) -> None:
    said = done(tmp_path / "t.db", "--help").text
    for verb in VERBS:
        assert f" {verb[0]} " in said
    assert done(tmp_path / "t.db", "--version").text.startswith("tallystick ")


def test_usage(tmp_path: Path) -> None:
    for words in (("bogus",), ("log", "--nope"), ("append", "--batch", "0"), ("decision",)):
        ended = tally(tmp_path / "t.db", *words)
        assert (ended.code, ended.out) == (2, b"")
        assert "Traceback" not in ended.err


def test_the_ledger_may_come_from_the_environment(tmp_path: Path) -> None:
    done(tmp_path / "t.db", "append", given=b'{"type":"decision.recorded.v1","data":{"decision":"x"}}')
    found = tally(tmp_path / "t.db", "log", TALLYSTICK_LEDGER=str(tmp_path / "no.db"))
    assert found.out.count(b"\n") == 1


def test_schema(tmp_path: Path) -> None:
    assert msgspec.json.decode(done(tmp_path / "t.db", "schema").out) == msgspec.json.decode(
        msgspec.json.encode(json_schema())
    )
    one = msgspec.json.decode(done(tmp_path / "t.db", "schema", "decision.thought.v1", "--json").out)
    assert one["oneOf"] == [{"$ref": "#/$defs/DecisionThoughtDraft"}]
    assert "DecisionRecorded" not in one["$defs"]
    said = refused(tmp_path / "t.db", "schema", "decision.thougt.v1", code=1)
    assert "Did you mean decision.thought.v1?" in said


@pytest.mark.trial("C1")
def test_a_token_states_which_decisions_it_may_review(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    for agent, options in (("any", ()), ("ann", ("--review", "others")), ("bob", ("--review", "none"))):
        made = done(ledger, "token", "add", agent, *options)
        assert ("may review" in made.err) == bool(options), made.err
    made = done(ledger, "token", "add", "cyd", "--scope", "append", "--scope", "review", "--json")
    assert msgspec.json.decode(made.out)["review"] == "any"
    listed = msgspec.json.decode(done(ledger, "token", "list", "--json").out)
    assert [token["review"] for token in listed] == ["any", "others", "none", "any"]
    assert "others" in done(ledger, "token", "list").text
    assert "Choose one of any, others, none." in refused(ledger, "token", "add", "ann", "--review", "mine")
    for scope in ("import", "admin"):
        said = refused(ledger, "token", "add", "ann", "--review", "others", "--scope", "append", "--scope", scope)
        assert f"review: others does not bind a token with the scope {scope}" in said
    assert len(msgspec.json.decode(done(ledger, "token", "list", "--json").out)) == 4


@pytest.mark.trial("C1")
def test_a_file_of_tokens_without_policies_reads_as_any(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "token", "add", "ann")
    path = ledger.with_name("t.db.tokens")
    (token,) = msgspec.json.decode(path.read_bytes())
    del token["review"]
    path.with_name("t.db.tokens.seal").unlink()  # earlier versions made none
    path.write_bytes(msgspec.json.encode([token]))
    (listed,) = msgspec.json.decode(done(ledger, "token", "list", "--json").out)
    assert (listed["agent"], listed["review"]) == ("ann", "any")


def test_a_token_lives_and_dies(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    assert done(ledger, "token", "list").out == b""
    made = done(ledger, "token", "add", "ann", "--scope", "read", "--scope", "import")
    assert made.text.startswith("tally_")
    assert made.text.count("\n") == 1
    assert "of ann (read, import)" in made.err
    assert made.text.strip() not in ledger.with_name("t.db.tokens").read_text()
    second = msgspec.json.decode(done(ledger, "token", "add", "bob", "--json").out)
    assert second["scopes"] == ["append", "read"]
    listed = msgspec.json.decode(done(ledger, "token", "list", "--json").out)
    assert [token["agent"] for token in listed] == ["ann", "bob"]
    assert "read, import" in done(ledger, "token", "list").text
    assert f"Token {second['id']} of bob" in done(ledger, "token", "revoke", second["id"]).text
    assert "does not exist" in refused(ledger, "token", "revoke", second["id"], code=1)
    assert "is not an agent name" in refused(ledger, "token", "add", "a b")
    assert "is not one of the choices.\nChoose one of append, read, review, observe, import, admin." in refused(
        ledger, "token", "add", "ann", "--scope", "fly"
    )
    assert done(ledger, "token", "revoke", listed[0]["id"], "--json").out.endswith(b'"revoked":true}\n')
