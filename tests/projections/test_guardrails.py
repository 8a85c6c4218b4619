"""The guardrail view: a fold that does not depend on batches, and its encoding."""

from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Draft
from events.guardrail import CheckedRule, GuardrailCondition, GuardrailEvaluated, GuardrailRetired, GuardrailSet
from projections.event_slice import EventSlice
from projections.guardrails.guardrail_index import GuardrailIndex
from tests.projections.random_histories import events_of
from tests.support.drafts import draft_of

RULES = ("a", "b", "c")


def rule(name: str, limit: float = 0.5) -> Draft:
    condition = GuardrailCondition(field="confidence", operator="lt", value=limit)
    return draft_of(GuardrailSet(guardrail_id=name, action="block", conditions=(condition,)), source="/agents/ada")


def evaluated(number: int, outcomes: dict[str, str], decision_id: str | None) -> Draft:
    results = tuple(
        CheckedRule(guardrail_id=name, action="block", outcome=outcome)  # type: ignore[arg-type]
        for name, outcome in outcomes.items()
    )
    payload = GuardrailEvaluated(
        check_id=f"k{number}", phase="check", rules_digest="0" * 64, rules=len(RULES), description="x",
        allowed="fired" not in outcomes.values(), results=results, decision_id=decision_id,
    )  # fmt: skip
    return draft_of(payload, source="/agents/bo")


@st.composite
def histories(draw: st.DrawFn) -> list[Draft]:
    drafts: list[Draft] = []
    known: set[str] = set()
    for verb in draw(st.lists(st.sampled_from(["set", "retire", "check"]), max_size=20)):
        name = draw(st.sampled_from(RULES))
        if verb == "set":
            known.add(name)
            drafts.append(rule(name, draw(st.floats(0, 1))))
        elif verb == "retire" and name in known:
            drafts.append(draft_of(GuardrailRetired(guardrail_id=name), source="/agents/ada"))
        elif verb == "check":
            outcomes = draw(st.dictionaries(st.sampled_from(RULES), st.sampled_from(["fired", "met", "undecided"])))
            decision_id = draw(st.none() | st.sampled_from(["d1", "d2"]))
            drafts.append(evaluated(len(drafts), outcomes, decision_id))
    return drafts


def folded(*batches: EventSlice) -> GuardrailIndex:
    projection = GuardrailIndex()
    for batch in batches:
        projection.fold(batch)
    return projection


@settings(max_examples=100, deadline=None)
@given(drafts=histories(), cut=st.integers(0, 20))
def test_the_state_does_not_depend_on_batches_and_survives_its_encoding(drafts: list[Draft], cut: int) -> None:
    events = events_of(drafts)
    whole = folded(events)
    resumed = GuardrailIndex.decode(folded(events[:cut]).encode())
    resumed.fold(events[cut:])
    assert resumed.encode() == whole.encode()
    latest = {event.data.guardrail_id: event.data for event in events if not isinstance(event.data, GuardrailEvaluated)}  # type: ignore[attr-defined]
    in_force = {name for name, data in latest.items() if isinstance(data, GuardrailSet)}
    assert {each.guardrail_id for each in whole.rules()} == in_force
    checks = [event.data for event in events if isinstance(event.data, GuardrailEvaluated)]
    assert (whole.checks.total, whole.checks.blocked) == (len(checks), sum(not check.allowed for check in checks))


def test_a_rule_can_be_set_again_and_is_then_in_force() -> None:
    events = events_of([rule("a"), draft_of(GuardrailRetired(guardrail_id="a")), rule("a", 0.2)])
    (entry,) = folded(events).entries()
    assert (entry.revision, entry.retired, entry.position) == (2, None, 3)
