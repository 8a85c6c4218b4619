"""guardrail set, list, show, check and retire: on a file, and through a server."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.support.paths import ROOT
from tests.support.server import serving

RULES = ROOT / "examples" / "guardrails" / "cstp.yaml"
ONE = b'- id: careful\n  condition_stakes: high\n  condition_confidence: "< 0.5"\n  action: block\n  message: Think'
DROP = ("guardrail", "check", "Drop the table", "--stakes", "high", "--confidence", 0.3)


@pytest.fixture(params=["file", "server"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """A ledger, and the options by which a verb writes it."""
    path = tmp_path / "t.db"
    if request.param == "file":
        yield path, ()
        return
    with serving(path) as url:
        yield path, ("--url", url)


@pytest.mark.slow
def test_rules_from_a_file_to_their_retirement(written: tuple[Path, tuple[str, ...]]) -> None:
    ledger, options = written
    unchecked = done(ledger, *DROP, *options)
    assert "ALLOWED" in unchecked.text
    assert "nothing was evaluated" in unchecked.err
    answer = msgspec.json.decode(done(ledger, "guardrail", "set", RULES, *options, "--json").out)
    assert {rule["state"] for rule in answer["rules"]} == {"set"}
    again = msgspec.json.decode(done(ledger, "guardrail", "set", RULES, *options, "--json").out)
    assert {rule["state"] for rule in again["rules"]} == {"unchanged"}
    assert again["rules_digest"] == answer["rules_digest"]
    blocked = tally(ledger, *DROP, *options)
    assert blocked.code == 1
    assert "BLOCKED" in blocked.text
    assert "block: High stakes need a confidence of 50% or more; it is 0.3." in blocked.text
    review = ("guardrail", "check", "Renew the linter", "--category", "tooling", "--context")
    assert tally(ledger, *review, "code_review=false", *options).code == 1
    assert tally(ledger, *review, "code_review=true", *options).code == 0
    shown = done(ledger, "guardrail", "show", "require-code-review-tooling", *options).text
    assert "code_review is truthy" in shown
    name = "no-high-stakes-low-confidence"
    assert "is retired" in done(ledger, "guardrail", "retire", name, "--reason", "too strict", *options).text
    assert "was already retired" in done(ledger, "guardrail", "retire", name, *options).text
    assert tally(ledger, *DROP, *options).code == 0
    listed = done(ledger, "guardrail", "list", *options)
    assert name not in listed.text
    assert "5 evaluations: 2 blocked, 1 without any rule in force." in listed.text
    assert name in done(ledger, "guardrail", "list", "--retired", *options).text
    set_again = msgspec.json.decode(done(ledger, "guardrail", "set", "-", *options, "--json", given=ONE).out)
    assert [rule["state"] for rule in set_again["rules"]] == ["set"]
    assert tally(ledger, *DROP, *options).code == 1
    earlier = msgspec.json.decode(done(ledger, "guardrail", "list", "--as-of", "1", *options, "--json").out)
    assert (earlier["guardrails"], earlier["checks"]["without_rules"]) == ([], 1)
    assert done(ledger, "replay", "--check").code == 0 if not options else True


def test_a_changed_rule_replaces_its_version_and_keeps_its_figures(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "guardrail", "set", given=ONE)
    tally(ledger, *DROP)
    answer = done(ledger, "guardrail", "set", "--json", given=ONE.replace(b"0.5", b"0.2"))
    assert msgspec.json.decode(answer.out)["rules"][0]["state"] == "replaced"
    assert tally(ledger, *DROP).code == 0
    row = msgspec.json.decode(done(ledger, "guardrail", "show", "careful", "--json").out)
    assert (row["revision"], row["fired"], row["rule"]["conditions"][1]["value"]) == (2, 1, 0.2)


def test_the_same_id_is_a_retry(written: tuple[Path, tuple[str, ...]]) -> None:
    ledger, options = written
    done(ledger, "guardrail", "set", *options, given=ONE)
    first = tally(ledger, *DROP, "--event-id", "k", "--json", *options)
    second = tally(ledger, *DROP, "--event-id", "k", "--json", *options)
    assert (first.code, second.code) == (1, 1)
    found, again = msgspec.json.decode(first.out), msgspec.json.decode(second.out)
    assert again == {**found, "duplicate": True}


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (
            ("guardrail", "set"),
            b"- id: r\n  conditions: [{type: temporal}]",
            "conditions[0].type 'temporal' is not",
        ),
        (("guardrail", "set"), b"\xff", "The rule file is not UTF-8"),
        (("guardrail", "set", "nosuch.yaml"), b"", "nosuch.yaml"),
        (("guardrail", "check", "x", "--context", "code_review"), b"", "'code_review' is not FIELD=VALUE."),
        (("guardrail", "check", ""), b"", "description"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_written(
    written: tuple[Path, tuple[str, ...]], arguments: tuple[str, ...], given: bytes, message: str
) -> None:
    ledger, options = written
    assert message in refused(ledger, *arguments, *options, given=given)
    assert b"guardrail" not in tally(ledger, "log", *options).out


@pytest.mark.slow
def test_a_rule_that_is_not_there_is_named(written: tuple[Path, tuple[str, ...]]) -> None:
    ledger, options = written
    done(ledger, "guardrail", "set", *options, given=ONE)
    assert "Guardrail not found: nosuch" in refused(ledger, "guardrail", "show", "nosuch", *options, code=1)
    assert "Guardrail not found: nosuch" in refused(ledger, "guardrail", "retire", "nosuch", *options, code=1)
