"""Tokens and cost that an answer states: read where they are well-formed, and ignored where they are not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.payload import COUNT_MAX
from instruments.evals.agent import parse_output
from instruments.evals.usage import Usage, parse_usage

WHOLE = {"input_tokens": 1_200, "output_tokens": 34, "cost_usd": 0.0123}


@pytest.mark.parametrize(
    ("answer", "usage"),
    [
        ({}, Usage()),
        (
            {"usage": WHOLE, "response_id": "resp_1"},
            Usage(input_tokens=1_200, output_tokens=34, cost_usd=0.0123, response_id="resp_1"),
        ),
        ({"analysis": {"usage": WHOLE}}, Usage(input_tokens=1_200, output_tokens=34, cost_usd=0.0123)),
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 6}}, Usage(input_tokens=5, output_tokens=6)),
        ({"usage": {"prompt_tokens": 5, "input_tokens": 7}}, Usage(input_tokens=7)),
        ({"usage": {"input_tokens": 1}, "analysis": {"usage": {"input_tokens": 9, "output_tokens": 2}}},
         Usage(input_tokens=1, output_tokens=2)),
        ({"usage": {"input_tokens": 0, "cost_usd": 0}}, Usage(input_tokens=0, cost_usd=0.0)),
        ({"usage": {"input_tokens": -1, "output_tokens": 2.5, "cost_usd": -0.1}}, Usage()),
        ({"usage": {"input_tokens": True, "output_tokens": "7", "cost_usd": True}}, Usage()),
        ({"usage": {"input_tokens": COUNT_MAX + 1, "cost_usd": 1e7}}, Usage()),
        ({"usage": {"cost_usd": float("nan")}}, Usage()),
        ({"usage": [1, 2], "response_id": 7}, Usage()),
        ({"response_id": ""}, Usage()),
        ({"response_id": "x" * 257}, Usage()),
        ({"analysis": "text", "usage": {"input_tokens": 3}}, Usage(input_tokens=3)),
    ],
)  # fmt: skip
def test_usage(answer: dict[str, Any], usage: Usage) -> None:
    assert parse_usage(answer) == usage


def test_an_answer_states_its_usage_beside_the_analysis_or_inside_it() -> None:
    beside = parse_output('{"analysis": {"rca": {}}, "usage": {"input_tokens": 3}, "response_id": "r"}')
    assert beside.stated.usage == Usage(input_tokens=3, response_id="r")
    inside = parse_output('{"rca": {}, "usage": {"input_tokens": 4}}')
    assert inside.stated.usage == Usage(input_tokens=4)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from((*WHOLE, "usage", "analysis")), inner),
)


@given(st.dictionaries(st.sampled_from(("usage", "analysis", "response_id")), json_values))
def test_no_answer_breaks_it(answer: dict[str, Any]) -> None:
    usage = parse_usage(answer)
    assert usage.input_tokens is None or 0 <= usage.input_tokens <= COUNT_MAX
    assert usage.cost_usd is None or 0 <= usage.cost_usd <= 1e6
