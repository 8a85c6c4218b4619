"""What holds for every scenario and every answer."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruments.evals.scoring.scorer import ScenarioScore
from tests.instruments.evals.answers import said_at, scored

WORDS = ("image", "pull", "oom", "Registry", "403", "not", "kubectl", "aws", "İß", "Straße", "tag", "a+", "\n")
texts = st.lists(st.sampled_from((*WORDS, " ", "_", "-", ".")), max_size=6).map("".join)
items = st.none() | st.lists(texts, max_size=4)
patterns = st.lists(st.sampled_from(WORDS[:-1]), min_size=1, max_size=2).map(" ".join)
kinds = st.sampled_from(["exact", "substring", "regex"])
matchers = st.builds(
    lambda found, kind: {"patterns": found, "match_type": kind}, st.lists(patterns, min_size=1, max_size=2), kinds
)
wanted = st.lists(patterns | matchers, min_size=1, max_size=2)

hypothesis_parts = st.fixed_dictionaries(
    {},
    optional={
        "title": texts,
        "why": items,
        "confidence_0_100": st.none() | st.floats(0, 100),
        "hypothesis_id": texts,
        "failure_mode": texts,
    },
)
answers = st.fixed_dictionaries(
    {},
    optional={
        "rca": st.none()
        | st.fixed_dictionaries({}, optional={"root_cause": texts, "remediation": items, "failure_mode": texts}),
        "decision": st.none() | st.fixed_dictionaries({}, optional={"label": texts, "why": items, "next": items}),
        "hypotheses": st.none() | st.lists(hypothesis_parts, max_size=3),
        "verdict": st.none() | st.fixed_dictionaries({}, optional={"next_steps": items}),
        "failure_mode": texts,
    },
)


def expected_parts(*, denials: bool) -> st.SearchStrategy[dict[str, Any]]:
    keys = {"exact": patterns, "all_of": wanted, "any_of": wanted}
    forbidden = {"none_of": wanted} if denials else {}
    more = st.fixed_dictionaries({}, optional={**keys, **forbidden})
    return st.builds(lambda matcher, rest: {**matcher, **rest}, matchers, more)


def expectations(*, denials: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    commands = st.fixed_dictionaries({"command_types": st.lists(st.sampled_from(["kubectl", "aws"]), min_size=1)})
    steps = st.builds(
        lambda one, two: {**one, **two}, commands, st.fixed_dictionaries({}, optional={"must_include": wanted})
    )
    return st.fixed_dictionaries(
        {"root_cause": expected_parts(denials=denials)},
        optional={
            "proposed_fix": expected_parts(denials=denials),
            "hypotheses": expected_parts(denials=denials),
            "failure_mode": st.builds(lambda mode: {"exact": mode}, patterns),
            "next_steps": steps,
        },
    )


def by_name(result: ScenarioScore) -> dict[str, float]:
    return {one.name: one.score for one in result.components if one.score is not None}


@given(expectations(), answers)
def test_a_total_is_the_weighted_sum_of_components_between_0_and_100(
    expected: dict[str, Any], answer: dict[str, Any]
) -> None:
    result = scored(expected, answer)
    assert result.total is not None
    assert 0.0 <= result.total <= 100.0
    assert result.passed is (result.total >= 70.0)
    applicable = [one for one in result.components if one.applicable]
    assert abs(sum(one.weight or 0.0 for one in applicable) - 1.0) < 1e-12
    assert abs(sum((one.score or 0.0) * (one.weight or 0.0) for one in applicable) - result.total) < 1e-5
    assert all((one.score is None) is (not one.applicable) for one in result.components)


@given(expectations(), answers)
def test_every_span_is_the_text_that_matched(expected: dict[str, Any], answer: dict[str, Any]) -> None:
    findings = [one for component in scored(expected, answer).components for one in component.findings]
    assert len({one.expectation for one in findings}) == len(findings) <= 200
    for one in findings:
        assert one.matched is (one.where is not None)
        if one.matched:
            assert one.where is not None
            assert one.start is not None
            assert one.end is not None
            text = said_at(answer, one.where)[one.start : one.end]
            assert text == one.text
            if one.match_type == "substring" and not one.expectation.startswith(("hypotheses", "failure")):
                assert text.casefold() == one.pattern.casefold()
            if one.match_type == "regex":
                assert re.fullmatch(one.pattern, text, re.IGNORECASE | re.DOTALL)


blanks = st.sampled_from(["", " ", "\n\t", " "])
nothing = st.fixed_dictionaries(
    {},
    optional={
        "rca": st.fixed_dictionaries({}, optional={"root_cause": blanks, "remediation": st.lists(blanks)}),
        "decision": st.fixed_dictionaries(
            {}, optional={"label": blanks, "why": st.lists(blanks), "next": st.lists(blanks)}
        ),
        "hypotheses": st.lists(st.fixed_dictionaries({}, optional={"title": blanks, "why": st.lists(blanks)})),
        "verdict": st.none(),
        "failure_mode": blanks,
    },
)


@given(expectations(), nothing)
def test_an_answer_that_says_nothing_scores_0_in_everything(expected: dict[str, Any], answer: dict[str, Any]) -> None:
    result = scored(expected, answer)
    assert result.total == 0.0
    assert set(by_name(result).values()) == {0.0}


PLACES = ("rca.root_cause", "rca.remediation", "decision.why", "decision.next", "verdict.next_steps", "hypotheses")


@pytest.mark.slow
@given(expectations(denials=False), answers, st.sampled_from(PLACES), st.data())
@settings(max_examples=300)
def test_a_matching_text_more_never_lowers_what_denies_nothing(
    expected: dict[str, Any], answer: dict[str, Any], place: str, data: st.DataObject
) -> None:
    more = "\n".join(_patterns(expected))
    said = data.draw(st.sampled_from([more, *_patterns(expected)]))
    before = by_name(scored(expected, answer, reads_language=False))
    after = by_name(scored(expected, _adding(answer, place, said), reads_language=False))
    assert all(after[name] >= before[name] for name in before)


@pytest.mark.slow
@given(expectations(denials=False), answers)
@settings(max_examples=300)
def test_the_rules_about_language_never_raise_a_score_that_forbids_nothing(
    expected: dict[str, Any], answer: dict[str, Any]
) -> None:
    read, plain = by_name(scored(expected, answer)), by_name(scored(expected, answer, reads_language=False))
    assert all(read[name] <= plain[name] for name in plain)


@given(expectations(), answers, st.randoms())
def test_a_score_is_the_same_whatever_the_order_of_keys(
    expected: dict[str, Any],
    answer: dict[str, Any],
    random: Any,  # noqa: ANN401 - hypothesis makes it
) -> None:
    def shuffled(value: Any) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, dict):
            keys = list(value)
            random.shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return value

    assert scored(shuffled(expected), shuffled(answer)) == scored(expected, answer)


@given(st.sampled_from(["root_cause", "proposed_fix"]), answers, patterns)
def test_what_is_denied_never_counts(key: str, answer: dict[str, Any], pattern: str) -> None:
    denial = {"patterns": [pattern], "match_type": "substring", "none_of": [pattern]}
    result = scored({key: denial}, answer)
    assert result.total in ({0.0} if key == "root_cause" else {0.0, 30.0})


def _patterns(expected: Any) -> list[str]:  # noqa: ANN401 - any part of what is expected
    if isinstance(expected, str):
        return [expected]
    if isinstance(expected, dict):
        inner = [_patterns(value) for key, value in expected.items() if key != "match_type"]
    else:
        inner = [_patterns(value) for value in expected]
    return [pattern for found in inner for pattern in found]


def _adding(answer: dict[str, Any], place: str, text: str) -> dict[str, Any]:
    """The answer with a text more at the end of that place."""
    if place == "hypotheses":
        return answer | {"hypotheses": [*(answer.get("hypotheses") or ()), {"title": text, "confidence_0_100": 90}]}
    part, key = place.split(".")
    inner = answer.get(part) or {}
    said = inner.get(key)
    value = f"{said or ''}\n{text}" if key == "root_cause" else [*(said or ()), text]
    return answer | {part: {**inner, key: value}}
