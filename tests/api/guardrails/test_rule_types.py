"""Values in rule files have the type of their field, and a field of another type is an error, not silence."""

import pytest

from api.service.guardrails.rule_file import read_rules
from events.errors import InvalidEvent
from events.guardrail import GuardrailSet
from ledger.errors import InvalidQuery
from projections.guardrails.rule_evaluation import evaluate


def one(text: str) -> GuardrailSet:
    """The only rule of a file."""
    (rule,) = read_rules(f"- id: r\n  action: block\n  {text}".encode())
    return rule


@pytest.mark.trial("P14")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("condition_category: on", "on"),
        ("condition_category: yes", "yes"),
        ("condition_category: 1.10", "1.10"),
        ("condition_category: 0777", "0777"),
        ("conditions: [{field: category, operator: in, value: [on, off]}]", ("on", "off")),
        ("condition_project: no", "no"),
        ("condition_at: 22:30", "22:30"),
        ("condition_day: 2026-11-28", "2026-11-28"),
        ("condition_tag: '1.10'", "1.10"),
        ("condition_amount: 1.5", 1.5),
        ("condition_amount: 1.0", 1.0),
        ("condition_amount: -3", -3),
        ("condition_has_tags: yes", True),
        ("condition_reviewed: true", True),
        ("condition_reviewed: FALSE", False),
        ("condition_confidence: 0.50", 0.5),
        ('condition_confidence: "< 0.50"', 0.5),
        ('condition_coverage: "< 0.80"', 0.8),
        ('condition_amount: ">= 1e3"', 1000.0),
        ("condition_version: \"== '1.10'\"", "1.10"),
        ("condition: \"action.context.version == '1.10'\"", "1.10"),
    ],
)
def test_a_value_is_read_as_yaml_1_2_with_the_type_of_its_field(text: str, value: object) -> None:
    (condition,) = one(text).conditions
    assert condition.value == value
    assert type(condition.value) is type(value)


@pytest.mark.trial("P14")
@pytest.mark.trial("P15")
@pytest.mark.parametrize(
    ("text", "problem", "advice"),
    [
        ("condition_mode: 0777", "condition_mode is 0777, which could be a number or a text", 'in quotes: "0777"'),
        ("condition_version: 1.10", "condition_version is 1.10, which could be a number or a text", "write 1.1"),
        ("condition_commit: 12e3", "condition_commit is 12e3, which could be", 'in quotes: "12e3"'),
        ("condition_build: 1_000", "condition_build is 1_000, which could be", "in quotes"),
        ("condition_mask: 0x1F", "condition_mask is 0x1F, which could be", "in quotes"),
        ('condition_version: ">= 1.10"', "condition_version is 1.10, which could be", "versions are not"),
        ('condition_version: "== 1.10"', "condition_version is 1.10, which could be", 'in quotes: "1.10"'),
        ("condition_reviewed: yes", "condition_reviewed is yes, which is a boolean in YAML 1.1", "Write true"),
        ("requires_review: off", "requires_review is off, which is a boolean in YAML 1.1", "Write false"),
        (
            "condition_stakes: hihg",
            "condition_stakes compares stakes with 'hihg', and stakes is one of low, ",
            "",
        ),
        ("condition: {phase: recording}", "condition.phase compares phase with 'recording', and phase is", ""),
        (
            "condition: \"action.stakes == 'hihg'\"",
            "expression that can be evaluated: it compares stakes with 'hihg', and stakes is",
            "",
        ),
        (
            "condition_category: true",
            "condition_category compares category, which is a text, by eq with True",
            "quotes",
        ),
        ("condition_category: 5", "condition_category compares category, which is a text, by eq with 5", "quotes"),
        ("condition_confidence: high", "compares confidence, which is a number, by eq with 'high'", ""),
        ("condition_has_tags: 'yes'", "compares has_tags, which is a boolean, by eq with 'yes'", ""),
        ("condition_tags: db", "condition_tags compares tags, which is a list, by eq", "contains"),
        ('condition_stakes: "> 1"', "compares stakes, which is a text, by gt with 1", ""),
    ],
)
def test_a_value_that_the_field_cannot_have_is_refused(text: str, problem: str, advice: str) -> None:
    with pytest.raises(InvalidEvent) as raised:
        one(text)
    assert problem in raised.value.detail
    assert advice in raised.value.advice
    assert raised.value.advice.endswith("No rule was set.")


@pytest.mark.trial("P15")
@pytest.mark.parametrize(
    ("text", "given", "said"),
    [
        ('condition_version: "1.10"', 1.1, "the number '1.1' is not a text"),
        ('condition_commit: "12e3"', 12000.0, "the number '12000.0' is not a text"),
        ('condition_build: "20260910"', 20260910, "the number '20260910' is not a text"),
        ("condition_reviewed: true", "true", "the text 'true' is not a boolean"),
        ("condition_reviewed: true", 1, "the number '1' is not a boolean"),
        ("condition_amount: 5", "5", "the text '5' is not a number"),
        ("condition_amount: '!= 5'", "five", "the text 'five' is not a number"),
        ("conditions: [{field: a, operator: in, value: [x, y]}]", 5, "the number '5' is not a text"),
        ("conditions: [{field: a, operator: contains, value: x}]", 5, "the number '5' is not a text or a list"),
        ("condition_amount: '>= 1.1'", "1.10", "the text '1.10' is not a number"),
        ("condition_amount: '>= 1.1'", True, "the boolean 'True' is not a number"),
        ("condition_amount: 5", ["5"], "the list \"['5']\" is not a number"),
    ],
)
def test_a_field_of_another_type_is_an_error_that_names_both(text: str, given: object, said: str) -> None:
    rule = one(text)
    (field,) = {condition.field for condition in rule.conditions}
    with pytest.raises(InvalidQuery, match="Nothing was evaluated, so the action is not allowed") as raised:
        evaluate([rule], {field: given})
    assert said in raised.value.detail
    assert "guardrail r compares it" in raised.value.detail


@pytest.mark.parametrize(
    ("text", "given", "fires"),
    [
        ("conditions: [{field: a, operator: in, value: [x, 5]}]", 5, True),
        ("conditions: [{field: a, operator: in, value: [x, 5]}]", 6, False),
        ("condition_amount: '>= 1.1'", "1.5", True),
        ("condition_amount: '>= 2'", "3", True),
        ("requires_reviewer: ann", 5, True),
        ("requires_coverage: '>= 0.8'", "0.9", False),
    ],
)
def test_values_of_one_type_are_compared(text: str, given: object, fires: bool) -> None:
    rule = one(text)
    (field,) = {condition.field for condition in (*rule.conditions, *rule.requirements)}
    assert evaluate([rule], {field: given}).allowed is not fires


@pytest.mark.trial("N6")
def test_a_rule_whose_only_condition_has_no_value_is_undecided() -> None:
    (result,) = evaluate([one('condition_confidence: "< 0.5"')], {}).results
    assert (result.outcome, result.fields) == ("undecided", ("confidence",))


@pytest.mark.trial("N4")
def test_rules_that_take_too_long_are_an_error() -> None:
    rules = [one("condition_a: x")]
    with pytest.raises(InvalidQuery, match="more than 0 s of processor time"):
        evaluate(rules, {"a": "x"}, budget_s=0)
