"""Tests as people write them: what is read, what is written, and what is refused."""

import pytest
from msgspec import structs

from events.decision import DecisionTestStated
from events.errors import InvalidEvent
from projections.resolve.rules import RULES
from projections.resolve.statement import complete_test, read_statement, write_statement


@pytest.mark.parametrize(
    ("text", "pr", "subject", "params", "window_s"),
    [
        ("git.kept", None, None, {}, 14 * 86_400),
        ("git.kept:30m:fixes=ignore;subject=commit:3f2a9c1", None, "commit:3f2a9c1", {"fixes": "ignore"}, 1_800),
        ("forge.merged:2d", 7, "pr:7", {}, 2 * 86_400),
        ("forge.merged:subject=pr:aa:7", 9, "pr:aa:7", {}, 14 * 86_400),
        ("checks.green:1h:names=test+lint", 7, "pr:7", {"names": ("test", "lint")}, 3_600),
        ("command.exit:24h:subject=command:smoke;code=3", None, "command:smoke", {"code": 3}, 86_400),
    ],
)
def test_a_text_is_read_and_written(
    text: str, pr: int | None, subject: str | None, params: dict[str, object], window_s: int
) -> None:
    found = read_statement(text, pr=pr)
    assert (found.subject, found.params, found.window_s) == (subject, params, window_s)
    assert read_statement(write_statement(found)) == found
    stated = complete_test(DecisionTestStated(decision_id="d", rule=text), pr=pr)
    assert complete_test(stated) == stated  # what is complete stays so


def test_seconds_are_kept() -> None:
    stated = DecisionTestStated(decision_id="d", rule="git.kept", window_s=5_401, grace_s=90)
    assert complete_test(stated) == structs.replace(stated, version=1)


def test_several_tests_are_read_and_written() -> None:
    stated = complete_test(DecisionTestStated(decision_id="d", rule="git.kept:7d & forge.merged:1d"), pr=3)
    assert (stated.rule, stated.params) == ("all_of", {"tests": ("git.kept:7d", "forge.merged:1d:subject=pr:3")})
    assert stated.window_s == 7 * 86_400
    assert complete_test(stated) == stated
    assert complete_test(structs.replace(stated, rule="any_of")).rule == "any_of"


def test_what_a_payload_states_is_kept() -> None:
    stated = DecisionTestStated(
        decision_id="d", rule="git.kept", subject="commit:3f2a9c1", params={"fixes": "any"}, window_s=600, grace_s=60
    )
    assert complete_test(stated) == structs.replace(stated, version=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("git.loved:14d", "'git.loved' is not a rule."),
        ("git.kept:14", "'14' is not a window."),
        ("git.kept:0d", "'0d' is not a window."),
        ("git.kept:99999d", "'99999d' is not a window."),
        ("git.kept:14d:fix=any", "git.kept has no parameter 'fix'."),
        ("git.kept:14d:fixes", "'fixes' is not NAME=VALUE."),
        ("git.kept:14d:grace=1", "'1' is not a window."),
        (
            "alert.silent:4h:heartbeat_s=3601;subject=alert:a",
            "heartbeat_s 3601 is not 1 to 3600, a quarter of the window.",
        ),
        ("alert.silent:1h:heartbeat_s=0;subject=alert:a", "heartbeat_s 0 is not 1 to 900, a quarter of the window."),
        ("alert.silent:1h:heartbeat=a;subject=alert:a", "an alert is not its own heartbeat."),
        ("alert.silent:1h:settle_s=3600;subject=alert:a", "settle_s 3600 is not shorter than the window."),
        ("git.kept:14d:subject=pr:3", "subject 'pr:3' is not what git.kept is about."),
        ("git.kept:14d:subject=commit:xyz", "commit 'xyz' is not the id of one."),
        ("git.lines_alive:14d:percent=many", "percent 'many' is not a whole number."),
        ("forge.merged:14d", "forge.merged needs a subject, pr:... or commit:..."),
        ("no_event:14d", "no_event needs a subject, KIND:NAME."),
        ("git.kept & git.kept | git.kept", "& and | are mixed."),
        (" & ".join(["git.kept"] * 9), "9 tests are more than 8."),
        ("", "'' is not a rule."),
    ],
)
def test_what_cannot_be_read_is_named(text: str, message: str) -> None:
    with pytest.raises(InvalidEvent) as caught:
        read_statement(text)
    assert message in str(caught.value)
    assert caught.value.advice
    assert caught.value.field == "test"


def test_every_rule_says_what_it_means() -> None:
    for name, rule in RULES.items():
        assert (rule.name, rule.version, bool(rule.means)) == (name, 1, True)
