"""Rule files: what they mean, and what is refused by name rather than ignored."""

import pytest

from api.service.guardrails.rule_file import RULE_FILE_BYTES_MAX, read_rules
from events.errors import InvalidEvent
from events.guardrail import GuardrailCondition, GuardrailSet
from projections.guardrails.rule_evaluation import digest_of_rules, evaluate
from tests.support.paths import ROOT


def one(text: str) -> GuardrailSet:
    """The only rule of a file, whose id and action are given."""
    (rule,) = read_rules(f"- id: r\n  action: block\n  {text}".encode())
    return rule


def condition(field: str, operator: str, value: object = None) -> GuardrailCondition:
    return GuardrailCondition(field=field, operator=operator, value=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("condition_stakes: high", condition("stakes", "eq", "high")),
        ('condition_confidence: "< 0.5"', condition("confidence", "lt", 0.5)),
        ('condition_confidence: "<=0.5"', condition("confidence", "lte", 0.5)),
        ('condition_amount: "> 10000"', condition("amount", "gt", 10000.0)),
        ('condition_amount: ">= 1e3"', condition("amount", "gte", 1000.0)),
        ('condition_day: "== friday"', condition("day", "eq", "friday")),
        ('condition_day: "!= friday"', condition("day", "ne", "friday")),
        ("condition_affects_production: true", condition("affects_production", "eq", True)),
        ("condition_pr: 7", condition("pr", "eq", 7)),
        ("condition: {hour_gte: 22}", condition("hour", "gte", 22)),
        ("conditions: [{type: field, field: reasons, operator: lt, value: 2}]", condition("reasons", "lt", 2)),
        ("conditions: [{field: kind, operator: in, value: [a, b]}]", condition("kind", "in", ("a", "b"))),
        ("conditions: [{field: text, operator: contains, value: x}]", condition("text", "contains", "x")),
        ('conditions: [{field: n, value: "> 3"}]', condition("n", "gt", 3.0)),
        ("condition: \"action.context.hour >= 22\"", condition("hour", "gte", 22)),
        ("condition: {cel: \"!action.context.code_review\"}", condition("code_review", "falsy")),
        ("condition: \"!(action.context.kind == 'a')\"", condition("kind", "ne", "a")),
        ("condition: \"action.stakes in ['high', 'critical']\"", condition("stakes", "in", ("high", "critical"))),
        ("condition: \"!(action.context.x in [1, 2])\"", condition("x", "not_in", (1, 2))),
        ("condition: \"action.description.contains('trading')\"", condition("description", "contains", "trading")),
        ("condition: \"has(action.context.owner)\"", condition("owner", "present")),
        ("condition: \"!has(action.context.owner)\"", condition("owner", "missing")),
        ("condition: \"size(action.tags) == 0\"", condition("tags", "falsy")),
        ("condition: \"0.5 < action.confidence\"", condition("confidence", "gt", 0.5)),
    ],
)  # fmt: skip
def test_one_condition(text: str, expected: GuardrailCondition) -> None:
    assert one(text).conditions == (expected,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("requires_review: true", condition("review", "truthy")),
        ("requires_draft: false", condition("draft", "falsy")),
        ('requires_coverage: ">= 0.8"', condition("coverage", "gte", 0.8)),
        ("requires: {reviewer: ann}", condition("reviewer", "eq", "ann")),
    ],
)
def test_one_requirement(text: str, expected: GuardrailCondition) -> None:
    assert one(text).requirements == (expected,)


CONFIDENT = {"stakes": "high", "confidence": 0.9}


@pytest.mark.parametrize(
    ("text", "fields", "fires"),
    [
        ('condition: {stakes: high, confidence: "< 0.5"}', {"stakes": "high", "confidence": 0.3}, True),
        ('condition: {stakes: high, confidence: "< 0.5"}', CONFIDENT, False),
        ('condition: {stakes: high, confidence: "< 0.5"}', {"stakes": "high"}, True),  # CSTP reads 0
        ("condition: {quality_lt: 0.5}", {"quality_score": 0.4}, True),
        ("condition: {quality_lt: 0.5}", {"quality_score": 0.6}, False),
        ("condition: \"action.stakes == 'high' && action.confidence < 0.5\"", {"stakes": "high"}, True),
        ("condition: \"action.stakes == 'high' && action.confidence < 0.5\"", CONFIDENT, False),
        ("condition: \"action.stakes == 'critical' || action.confidence < 0.5\"", CONFIDENT, False),
        ("condition: \"action.stakes == 'critical' || !(action.confidence < 0.5)\"", CONFIDENT, True),
        ("condition: \"action.category == 'a' && !action.context.review\"", {"category": "a"}, True),
        ("condition: \"action.category == 'a' && !action.context.review\"", {"category": "a", "review": True}, False),
        ("condition: \"!action.has_tags && !action.has_pattern && action.stakes != 'low'\"", {"stakes": "high"}, True),
        ("condition: \"!(action.has_tags || action.stakes == 'low')\"", {"stakes": "low"}, False),
        ("condition: \"action.reason_count < 1\"", {}, True),
        ("condition: \"action.context.hour >= 22\"", {}, False),
        ("conditions: [{type: compound, operator: or, conditions: [{field: a, value: 1}, {field: b, value: 2}]}]",
         {"a": 0, "b": 2}, True),
        ("conditions: [{type: compound, operator: or, conditions: [{field: a, value: 1}, {field: b, value: 2}]}]",
         {"a": 0, "b": 0}, False),
        ("conditions: [{type: compound, conditions: [{field: a, value: 1}, {field: b, value: 2}]}]",
         {"a": 1, "b": 0}, False),
        ("condition_a: 1\n  condition: {b: 2}\n  conditions: [{field: c, value: 3}]\n  requires_d: true",
         {"a": 1, "b": 2, "c": 3}, True),
        ("condition_a: 1\n  condition: {b: 2}\n  conditions: [{field: c, value: 3}]\n  requires_d: true",
         {"a": 1, "b": 2, "c": 3, "d": True}, False),
        ("condition: \"action.context.a\"\n  scope: [p, q]", {"a": True, "project": "r"}, False),
        ("condition: \"action.context.a\"\n  scope: [p, q]", {"a": True, "project": "q"}, True),
        ('conditions: [{field: tags, operator: contains, value: db}]', {"tags": ["db"]}, True),
        ('conditions: [{field: tags, operator: contains, value: d}]', {"tags": ["db"]}, False),
    ],
)  # fmt: skip
def test_what_a_rule_means(text: str, fields: dict[str, object], fires: bool) -> None:
    assert evaluate([one(text)], fields).allowed is not fires


REFUSED = [
    ("- condition_a: 1", "Rule 1: id must be 1..64"),
    ("- id: 'a b'\n  condition_a: 1", "Rule 1: id must be 1..64"),
    ("- id: r", "Rule 1 (r): condition is missing, and so are requirements"),
    ("- id: r\n  conditon_stakes: high", "Rule 1 (r): conditon_stakes is not a key of a guardrail."),
    ("- id: r\n  condition_a: 1\n  agents: [x]", "Rule 1 (r): agents is not a key of a guardrail."),
    ("- id: r\n  condition_a: 1\n  action: deny", "Rule 1 (r): action must be block, warn or log, got 'deny'."),
    ('- id: r\n  condition_a: "=> 1"', "Rule 1 (r): condition_a has the unknown operator '=>'."),
    ('- id: r\n  condition_a: "< many"', "Rule 1 (r): condition_a cannot be compared: The operator lt of a needs a nu"),
    ('- id: r\n  condition_a: "< nan"', "Rule 1 (r): condition_a cannot be compared: The operator lt of a needs a nu"),
    ("- id: r\n  condition_a_lt: 1", "Rule 1 (r): condition_a_lt has the operator in its name."),
    ("- id: r\n  condition_a:", "Rule 1 (r): condition_a cannot be compared: The operator eq of a needs a text"),
    ("- id: r\n  condition_a: {b: 1}", "Rule 1 (r): condition_a cannot be compared"),
    ("- id: r\n  condition: 5", "Rule 1 (r): condition must be a mapping or an expression, got 5."),
    ("- id: r\n  conditions: {a: 1}", "Rule 1 (r): conditions must be a list."),
    ("- id: r\n  conditions: [{type: semantic_similarity}]", "Rule 1 (r): conditions[0].type 'semantic_sim"),
    ("- id: r\n  conditions: [{type: temporal}]", "Rule 1 (r): conditions[0].type 'temporal' is not supported."),
    ("- id: r\n  conditions: [{type: aggregate}]", "Rule 1 (r): conditions[0].type 'aggregate' is not supported."),
    ("- id: r\n  conditions: [{type: dependency}]", "Rule 1 (r): conditions[0].type 'dependency' is not supported."),
    ("- id: r\n  conditions: [{field: a, operator: matches, value: x}]", "Rule 1 (r): conditions[0].operator 'mat"),
    ("- id: r\n  conditions: [{field: a, value: 1, since: 7d}]", "Rule 1 (r): conditions[0].since is not a key of"),
    ("- id: r\n  requires: [a]", "Rule 1 (r): requires must be a mapping."),
    ("- id: r\n  condition_a: 1\n  scope: {a: 1}", "Rule 1 (r): scope must be a project or a list of projects"),
    ("- id: r\n  condition_a: 1\n  message: [x]", "Rule 1 (r): message must be a text."),
    ("- id: r\n  condition_a: 1\n- id: r\n  condition_b: 1", "Rule 2 (r): id is the id of rule 1, too."),
    ("- id: r\n  condition_a: 1\n  condition_a: 2", "The rule file has the key 'condition_a' twice"),
    ("circuit_breakers: [{scope: global}]", "The rule file lists circuit breakers, not guardrails."),
    ("guardrails: []", "The rule file has no rules."),
    ("guardrails: [{id: r, condition_a: 1}]\nextra: 1", "The rule file has the key 'extra' beside guardrails."),
    ("", "The rule file has no rules."),
    ("- [", "The rule file is not YAML: line "),
    ("- 5", "Rule 1 is not a mapping."),
    *(
        (f'- id: r\n  condition: "{text}"', f"Rule 1 (r): condition is not an expression that can be evaluated: {why}")
        for text, why in [
            ("", "it is empty"),
            ("action.description.matches('a.*')", "the function 'matches' is not supported"),
            ("action.confidence * 2 > 1", "'* 2 > 1' is not supported"),
            ("size(action.tags) > 3", "size can be compared with 0 only"),
            ("decision.stakes == 'high'", "'decision.stakes' is not action.FIELD or action.context.FIELD"),
            ("action.a == action.b", "a comparison needs a field on one side and a value on the other"),
            ("action.stakes == 'high' &&", "it ends too early"),
            ("(action.stakes == 'high'", "')' is missing before 'its end'"),
            ("action.a == 1 ? true : false", "'? true : false' is not supported"),
            ("true", "a value by itself is not a condition"),
            ("action.a < 'b'", "The operator lt of a needs a number as its value"),
            ("!" * 99 + "action.a", "it nests more than 32 deep"),
            ("action.tags.exists(t, t == 'a')", "the function 'exists' is not supported"),
            ("action.a ! in [1]", "its parts do not fit together"),
            ("(action.a) == 1", "'==' is not expected there"),
            ("action.text.contains 'a'", "\"'a'\" is not expected there"),
            ("action.a == 1 == 2", "its parts do not fit together"),
            ("has(action.a,)", "')' is not expected there"),
            ("action.class == 'x' && action.a[0]", "its parts do not fit together"),
        ]
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "problem"), REFUSED)
def test_what_is_not_supported_is_refused_by_name(text: str, problem: str) -> None:
    with pytest.raises(InvalidEvent) as raised:
        read_rules(text.encode())
    assert raised.value.detail.startswith(problem), raised.value.detail
    assert raised.value.advice.endswith("No rule was set.")


def test_a_file_that_is_too_large_or_has_too_many_rules_is_refused() -> None:
    with pytest.raises(InvalidEvent, match="larger than"):
        read_rules(b" " * (RULE_FILE_BYTES_MAX + 1))
    with pytest.raises(InvalidEvent, match="257 rules"):
        read_rules("".join(f"- id: r{n}\n  condition_a: 1\n" for n in range(257)).encode())
    with pytest.raises(InvalidEvent, match="combinations of conditions"):
        read_rules(f'- id: r\n  condition: "{" || ".join("(action.a && action.b)" for _ in range(9))}"'.encode())


def test_a_wrapper_one_rule_and_json_are_files_too() -> None:
    wrapped = b"template: {name: t}\nguardrails:\n  - {id: r, condition_a: 1, action: block}"
    alone = b"id: r\ncondition_a: 1\naction: block"
    json = b'[{"id": "r", "condition_a": 1, "action": "block"}]'
    assert read_rules(wrapped) == read_rules(alone) == read_rules(json)


def test_the_digest_does_not_depend_on_the_order_of_the_rules() -> None:
    rules = read_rules((ROOT / "examples" / "guardrails" / "cstp.yaml").read_bytes())
    assert digest_of_rules(rules) == digest_of_rules(rules[::-1]) != digest_of_rules(rules[1:])
