"""Tools that an agent called, scored with known answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.evaluation import Component
from instruments.errors import BadFixtures
from instruments.evals.analysis import Analysis, RootCause
from instruments.evals.scenario import Scenario, ToolExpectations
from instruments.evals.scoring.scorer import score
from instruments.evals.scoring.scorer_version import scorer_version
from instruments.evals.scoring.tool_calls import align, matches, score_tools
from instruments.evals.suite.loader import load
from instruments.evals.trace.steps import AgentStep, RecordedTrace
from tests.instruments.evals.suites import DESCRIPTION, expecting, scenario

WEIGHTS = {
    "root_cause_weight": 0.5,
    "fix_accuracy_weight": 0,
    "hypothesis_quality_weight": 0,
    "next_steps_weight": 0,
    "tools_weight": 0.5,
}
DIGESTS = (
    "05edb480852fc11eff19a1e450308eee9a03c9c17611972f899b4a467646aecf",
    "7a9302b6c1f083e60cb9b37c97df386b80f743ca6d793a3b8b3bb6e9174ab187",
)
"""The digests of the plain scenario before scenarios could expect tools: of its fixture, and of its expectations."""


def called(*names: str) -> list[tuple[int, AgentStep]]:
    """Calls of these tools, each the second step of two."""
    return [(2 * at, AgentStep(kind="tool", name=name)) for at, name in enumerate(names, 1)]


def call(name: str, arguments: object) -> list[tuple[int, AgentStep]]:
    return [(1, AgentStep(kind="tool", name=name, arguments=arguments))]


def tools(calls: Sequence[tuple[int, AgentStep]], **expected: Any) -> Component:  # noqa: ANN401 - JSON
    return score_tools(msgspec.convert(expected, ToolExpectations), calls)


def met(component: Component) -> list[tuple[str, bool, str | None]]:
    return [(finding.expectation, finding.matched, finding.where) for finding in component.findings]


def test_required_counts_the_share_that_was_called() -> None:
    component = tools(called("get", "logs", "get"), required=["get", "logs", "describe", "top"])
    assert (component.score, component.passed) == (50.0, False)
    assert met(component) == [
        ("tools.required[0]", True, "step 2"),
        ("tools.required[1]", True, "step 4"),
        ("tools.required[2]", False, None),
        ("tools.required[3]", False, None),
    ]
    assert {finding.match_type for finding in component.findings} == {"required"}
    assert tools(called("logs", "get"), required=["get", "logs"]).score == 100.0
    assert tools([], required=["get"]).score == 0.0


def test_order_counts_the_longest_common_subsequence() -> None:
    order = ["get", "logs", "describe"]
    assert tools(called("get", "top", "logs", "get", "describe"), order=order).score == 100.0
    violated = tools(called("logs", "get", "describe"), order=order)
    assert violated.score == pytest.approx(200 / 3, abs=1e-6)
    assert met(violated) == [
        ("tools.order[0]", True, "step 4"),
        ("tools.order[1]", False, None),
        ("tools.order[2]", True, "step 6"),
    ]
    assert tools(called("describe", "logs", "get"), order=order).score == pytest.approx(100 / 3, abs=1e-6)
    assert tools(called("get", "get"), order=["get", "get", "get"]).score == pytest.approx(200 / 3, abs=1e-6)


def test_one_forbidden_call_is_zero_points() -> None:
    component = tools(called("get", "logs", "pod_delete"), required=["get"], forbidden=["*delete*", "exec"])
    assert component.score == 0.0
    assert met(component)[1:] == [("tools.forbidden[0]", True, "step 6"), ("tools.forbidden[1]", False, None)]
    assert component.findings[1].note == "a forbidden call: the component has 0 points"
    assert tools(called("get"), required=["get"], forbidden=["*delete*"]).score == 100.0


def test_one_alternative_is_enough() -> None:
    assert tools(called("tcpdump"), any_of=["ping", "tcpdump"]).score == 100.0
    assert tools(called("dig"), any_of=["ping", "tcpdump"]).score == 0.0


def test_more_calls_than_allowed_cost_their_share() -> None:
    component = tools(called(*["get"] * 5), required=["get"], max_calls=4)
    assert component.score == 80.0
    assert met(component)[1] == ("tools.max_calls", False, "step 10")
    assert component.findings[1].note == "5 calls"
    assert tools(called(*["get"] * 4), required=["get"], max_calls=4).score == 100.0


def test_the_condition_that_is_met_least_counts() -> None:
    calls = called("logs", "get", "top")
    assert tools(calls, required=["get", "logs"], order=["get", "logs"], any_of=["top"], max_calls=3).score == 50.0


@pytest.mark.parametrize(
    ("pattern", "arguments", "expected"),
    [
        ({"namespace": "shop"}, {"namespace": "shop", "tail": 5}, True),
        ({"namespace": "shop"}, {"namespace": "shop-2"}, False),
        ({"namespace": "shop*"}, {"namespace": "shop-2"}, True),
        ({"namespace": "Shop"}, {"namespace": "shop"}, False),
        ({"namespace": "*"}, {"tail": 5}, False),
        ({"tail": "5"}, {"tail": 5}, True),
        ({"all": "true"}, {"all": True}, True),
        ({"a.b.1": "x"}, {"a": {"b": ["w", "x"]}}, True),
        ({"a.b": "dots"}, {"a.b": "dots"}, True),
        ({"a.b.7": "x"}, {"a": {"b": ["w", "x"]}}, False),
        ({"labels": '{"app":"web"}'}, {"labels": {"app": "web"}}, True),
        ({"query": "up[5m]"}, {"query": "up[5m]"}, True),
        ({"query": "up[5m]"}, {"query": "up5"}, False),
        ({"query": "*\nrate*"}, {"query": "sum\nrate(x)"}, True),
        ("*-n shop*", "kubectl get -n shop pods", True),
        ("*shop*", {"namespace": "shop"}, True),
        ({"namespace": "shop"}, "namespace=shop", False),
        ({"namespace": "*"}, None, False),
        ({"none": "null"}, {"none": None}, True),
    ],
)
def test_arguments_match_by_key(pattern: dict[str, str] | str, arguments: object, *, expected: bool) -> None:
    spec = {"name": "k*", "arguments": pattern}
    component = tools(call("kubectl", arguments), required=[spec])
    assert (component.score == 100.0) is expected
    assert tools(call("other", arguments), required=[spec]).score == 0.0


names = st.sampled_from("abc")


@given(st.lists(names, max_size=6), st.lists(names, max_size=8))
def test_order_is_a_longest_common_subsequence(order: list[str], calls: list[str]) -> None:
    chosen = align(order, list(enumerate(calls)), lambda name, numbered: name == numbered[1])
    places = [chosen[at][0] for at in sorted(chosen)]
    assert places == sorted(set(places)), "each call counts once, in order"
    assert all(calls[chosen[at][0]] == order[at] for at in chosen)
    assert len(chosen) == longest(order, calls)


@given(st.lists(names, max_size=5), st.lists(names, max_size=8), names)
def test_a_further_call_never_lowers_the_order(order: list[str], calls: list[str], more: str) -> None:
    def share(made: list[str]) -> int:
        return len(align(order, made, lambda name, other: name == other))

    assert share(calls) <= share([*calls, more]) <= share(calls) + 1
    assert share([more, *calls]) >= share(calls)


def longest(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of a longest common subsequence, by trying all."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + longest(one[1:], other[1:])
    return max(longest(one[1:], other), longest(one, other[1:]))


def test_a_pattern_with_many_stars_ends() -> None:
    assert not matches("*a" * 400 + "b", AgentStep(kind="tool", name="a" * 5_000))


def loaded(folder: Path, expected: object, scoring: object = WEIGHTS) -> Scenario:
    described = expecting(root_cause={"any_of": ["image"]}, tools=expected) | {"scoring": scoring}
    scenario(folder / "one", described)
    (found,) = load(folder).scenarios
    return found


def test_the_component_is_a_part_of_the_score(tmp_path: Path) -> None:
    found = loaded(tmp_path, {"required": ["get", {"name": "logs", "arguments": {"tail": 5}}]})
    analysis = Analysis(rca=RootCause(root_cause="The image does not exist."))
    trace = RecordedTrace(steps=(AgentStep(kind="model", name="get"), AgentStep(kind="tool", name="get")))
    result = score(found, analysis, trace=trace)
    assert [(one.name, one.score, one.weight) for one in result.components if one.applicable] == [
        ("root_cause", 100.0, 0.5),
        ("tools", 50.0, 0.5),
    ]
    assert (result.total, result.passed) == (75.0, True)
    assert result.components[-1].findings[1].pattern == 'logs {"tail":"5"}'
    assert score(found, Analysis(), trace=RecordedTrace()).total == 0.0


def test_without_a_trace_there_is_no_score(tmp_path: Path) -> None:
    found = loaded(tmp_path, {"required": ["get"]})
    missing = score(found, Analysis())
    assert (missing.total, missing.failure) == (None, "component")
    assert missing.detail is not None
    assert "recorded no trace" in missing.detail
    assert "TALLYSTICK_TRACE_FILE" in missing.detail
    broken = score(found, Analysis(), trace=RecordedTrace(problem="trace[1].name is missing"))
    assert (broken.failure, broken.detail) == ("component", "tools: the trace cannot be read: trace[1].name is missing")


def test_a_scenario_without_tools_is_as_it_was(tmp_path: Path) -> None:
    scenario(tmp_path / "one")
    (plain,) = load(tmp_path).scenarios
    assert (plain.fixture_digest, plain.expectation_digest) == DIGESTS
    assert scorer_version([plain], None) == "3"
    with_trace = RecordedTrace(steps=(AgentStep(kind="tool", name="pod_delete"),))
    scores = [score(plain, Analysis(), trace=trace) for trace in (None, with_trace, RecordedTrace(problem="x"))]
    assert scores[0] == scores[1] == scores[2]
    assert [component.name for component in scores[0].components] == [
        "root_cause",
        "fix_accuracy",
        "hypothesis_quality",
        "next_steps",
    ]
    assert scorer_version([plain, loaded(tmp_path / "two", {"required": ["get"]})], None) == "3 tools-1"


@pytest.mark.parametrize(
    ("expected", "key", "problem"),
    [
        ({}, "expected_outcomes.tools", "states nothing"),
        ([], "expected_outcomes.tools", "must be a mapping"),
        ({"forbidden": ["x"]}, "expected_outcomes.tools", "expects no call"),
        ({"max_calls": 3}, "expected_outcomes.tools", "expects no call"),
        ({"requird": ["x"]}, "expected_outcomes.tools.requird", "is not a key here"),
        ({"required": "x"}, "expected_outcomes.tools.required", "must be a list"),
        ({"required": [7]}, "expected_outcomes.tools.required[0]", "must be a text"),
        ({"required": [{"arguments": {"a": "b"}}]}, "expected_outcomes.tools.required[0].name", "is missing"),
        ({"required": [{"name": "x", "args": {}}]}, "expected_outcomes.tools.required[0].args", "is not a key here"),
        ({"required": [{"name": "x", "arguments": {}}]}, "expected_outcomes.tools.required[0].arguments", "is empty"),
        (
            {"required": [{"name": "x", "arguments": {"a": []}}]},
            "expected_outcomes.tools.required[0].arguments.a",
            "must be a text",
        ),
        ({"order": ["x"]}, "expected_outcomes.tools.order", "in order always"),
        ({"required": ["x"], "max_calls": 0}, "expected_outcomes.tools.max_calls", "must be from 1"),
        ({"required": ["x"], "max_calls": 1.5}, "expected_outcomes.tools.max_calls", "must be a whole number"),
    ],
)
def test_mistakes_are_refused(tmp_path: Path, expected: object, key: str, problem: str) -> None:
    with pytest.raises(BadFixtures) as refused:
        loaded(tmp_path, expected)
    faults = [(fault.key, fault.problem) for fault in refused.value.faults]
    assert any(at == key and problem in text for at, text in faults), faults


def test_tools_need_a_weight_and_a_weight_needs_tools(tmp_path: Path) -> None:
    with pytest.raises(BadFixtures, match=r"scoring\.tools_weight is missing"):
        loaded(tmp_path, {"required": ["x"]}, scoring=None)
    scenario(tmp_path / "one", DESCRIPTION | {"scoring": WEIGHTS})
    with pytest.raises(BadFixtures, match=r"scoring\.tools_weight weighs tools that nothing is expected of"):
        load(tmp_path)
    assert loaded(tmp_path, {"required": ["x"]}, scoring={"tools_weight": 0}).about.scoring.tools_weight == 0.0
