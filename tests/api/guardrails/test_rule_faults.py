"""Rules that can never fire, and rules on fields that nothing states, are set with a warning."""

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.service.guardrails.field_types import UnusableValue, make_condition
from api.service.guardrails.rule_file import read_rules
from api.service.guardrails.rule_search import can_fire, find_action, warnings_of
from events.guardrail import GuardrailCondition, GuardrailSet, Operator
from ledger.errors import InvalidQuery
from projections.guardrails.rule_evaluation import evaluate


def one(text: str) -> GuardrailSet:
    """The only rule of a file."""
    (rule,) = read_rules(f"- id: r\n  action: block\n  {text}".encode())
    return rule


NEVER = [
    'condition_confidence: "> 1"',
    'condition_confidence: "< 0"',
    "condition_confidence: 7",
    "condition: {confidence_lt: 0.3, confidence_gt: 0.5}",
    'conditions: [{field: a, value: x}, {field: a, value: y}]',
    'conditions: [{field: a, operator: in, value: [x, y]}, {field: a, value: z}]',
    'conditions: [{field: a, operator: contains, value: x}, {field: a, value: 5}]',
    'conditions: [{field: reason_count, operator: gt, value: 1}, {field: reason_count, operator: lt, value: 2}]',
    "condition_reviewed: true\n  requires_reviewed: true",
    "conditions: [{field: description, operator: contains, value: abc}, {field: description, value: x}]",
    'condition: "action.context.a && !action.context.a"',
    'condition: "action.stakes == \'low\' && (action.stakes == \'high\' || action.confidence > 1)"',
]  # fmt: skip


@pytest.mark.trial("N6")
@pytest.mark.parametrize("text", NEVER)
def test_a_rule_that_cannot_fire_has_a_warning(text: str) -> None:
    assert "It never fires: no action meets all its conditions and misses a requirement." in warnings_of(one(text), ())


@pytest.mark.trial("N6")
@pytest.mark.parametrize(
    ("text", "stated", "expected"),
    [
        ('condition_confidense: "< 0.5"', (), ["No action has stated confidense so far: is confidence meant?"]),
        ("condition: \"action.stake == 'high'\"", (), ["No action has stated stake so far: is stakes meant?"]),
        ("condition_owner: ann", ("owner",), []),
        (
            "condition_stakes: high\n  requires_confidense: true",
            (),
            ["No action has stated confidense so far: is confidence meant?"],
        ),
        ("condition_stakes: high\n  requires_code_review: true", (), []),
        ('condition_confidence: "< 0.5"', (), []),
    ],
)
def test_a_field_that_nothing_states_has_a_warning(text: str, stated: tuple[str, ...], expected: list[str]) -> None:
    assert warnings_of(one(text), stated) == expected


def test_a_field_of_context_that_no_action_stated_yet_has_a_warning() -> None:
    (warning,) = warnings_of(one("condition_owner: ann"), ("team",))
    assert warning.startswith("No action has stated owner so far. Without it the rule is undecided")


FIELDS = st.sampled_from(["confidence", "stakes", "reason_count", "tags", "category", "has_tags", "a", "b"])
SCALARS = st.sampled_from(["", "a", "ab", "b", "low", "high", 0, 1, 2, 0.5, 1.5, -1, True, False])
OPERATORS = st.sampled_from(get_args(Operator))


@st.composite
def conditions(draw: st.DrawFn) -> GuardrailCondition | None:
    operator: Any = draw(OPERATORS)
    value: object = draw(SCALARS)
    if operator in ("in", "not_in"):
        value = draw(st.lists(SCALARS, min_size=1, max_size=3))
    if operator in ("truthy", "falsy", "present", "missing"):
        value = None
    try:
        return make_condition(draw(FIELDS), operator, value)
    except UnusableValue:
        return None


several = st.lists(conditions(), max_size=4).map(lambda found: tuple(each for each in found if each is not None))
rules = st.builds(
    lambda conditions, groups, requirements: (conditions, tuple(group for group in groups if group), requirements),
    several,
    st.lists(several, max_size=3),
    several,
).filter(any)
ACTIONS = st.fixed_dictionaries(
    {"stakes": st.sampled_from(["low", "high"])},
    optional={
        "confidence": st.sampled_from([0.0, 0.3, 0.5, 1.0]),
        "reason_count": st.integers(0, 3),
        "tags": st.lists(st.sampled_from(["a", "ab"]), max_size=2),
        "category": st.sampled_from(["", "a", "ab", "high"]),
        "has_tags": st.booleans(),
        "a": SCALARS,
        "b": SCALARS,
    },
)


@pytest.mark.trial("N6")
@given(parts=rules, actions=st.lists(ACTIONS, max_size=20))
@settings(max_examples=200, deadline=None)
def test_every_rule_that_is_accepted_fires_on_an_action_or_has_a_warning(
    parts: tuple[Any, ...], actions: list[dict[str, object]]
) -> None:
    rule = GuardrailSet(guardrail_id="r", action="block", conditions=parts[0], any_of=parts[1], requirements=parts[2])
    found = find_action(rule)
    if found is not None:
        assert not evaluate([rule], found).allowed
        return
    assert not can_fire(rule)
    for action in actions:
        try:
            assert evaluate([rule], action).allowed
        except InvalidQuery:
            continue
