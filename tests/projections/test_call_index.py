"""The calls projection keeps its state over encoding, and the usage of scores is what a simple model says."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from events.call import CallRecorded
from events.envelope import EventFacts
from events.evaluation import EvalScored
from events.payload import Payload
from events.registry import VOCABULARY
from projections.call_index import CallIndex
from projections.evaluation.call_usage import CONTAINERS, find_usage

TRACES = tuple(f"{number:032x}" for number in (1, 2, 2**64 + 1))
SPANS = tuple(f"{number:016x}" for number in (1, 2, 3))
OPERATIONS = ("chat", "invoke_agent", "execute_tool")
RESPONSES = (None, "a", "b")
TOKENS = st.none() | st.integers(0, 9)

CALLS = st.lists(
    st.tuples(
        st.sampled_from(TRACES), st.sampled_from(SPANS), st.sampled_from(OPERATIONS), st.sampled_from(RESPONSES), TOKENS
    ),
    unique_by=lambda call: call[:2],
)
SCORES = st.lists(
    st.tuples(st.sampled_from((*TRACES, None)), st.sampled_from((*SPANS, None)), st.sampled_from(RESPONSES))
)


def facts(data: Payload, position: int) -> EventFacts:
    (kind,) = [each for each in VOCABULARY.event_types.values() if each.payload is type(data)]
    return kind.fact(
        source="/agents/a", subject="x/y", time="2026-11-26T12:00:00.000000Z", position=position, data=data
    )


def folded(calls: list[Any], scores: list[Any]) -> CallIndex:
    payloads: list[Any] = [
        CallRecorded(
            call_id=f"{trace}-{span}",
            trace_id=trace,
            span_id=span,
            operation=operation,
            response_id=response,
            input_tokens=tokens,
            reported_model="m" if tokens else None,
        )
        for trace, span, operation, response, tokens in calls
    ]
    payloads[len(payloads) // 2 : 0] = [
        EvalScored(
            run_id="r", scenario_id="s", attempt=1, state="skipped", trace_id=trace, span_id=span, response_id=response
        )
        for trace, span, response in scores
    ]
    index = CallIndex()
    index.fold([facts(payload, position) for position, payload in enumerate(payloads, 1)])
    return index


def expected(calls: list[Any], score: tuple[str | None, str | None, str | None]) -> int | None:
    """The tokens of a score: of its span, or of its response, or of its trace."""
    trace, span, response = score
    own = [call[4] for call in calls if trace is not None and call[:2] == (trace, span)]
    counted = [call for call in calls if call[2] not in CONTAINERS]
    by_response = [call[4] for call in counted if response is not None and call[3] == response]
    by_trace = [call[4] for call in counted if call[0] == trace]
    for found in (own, by_response, by_trace):
        stated = [tokens for tokens in found if tokens is not None]
        if stated:
            return int(sum(stated))
    return None


@given(CALLS, SCORES)
def test_usage_is_that_of_span_response_or_trace(calls: list[Any], scores: list[Any]) -> None:
    columns = folded(calls, scores).calls()
    with_ids = [(row, score) for row, score in enumerate(scores) if score[0] is not None or score[2] is not None]
    assert columns.score_row.tolist() == [row for row, _ in with_ids]
    if not calls or not with_ids:
        return
    found = find_usage(columns, columns.score_keys)
    tokens = [None if np.isnan(value) else int(value) for value in found.input_tokens.tolist()]
    assert tokens == [expected(calls, score) for _, score in with_ids]


@given(CALLS, SCORES)
def test_the_state_is_kept_over_encoding(calls: list[Any], scores: list[Any]) -> None:
    index = folded(calls, scores)
    assert CallIndex.decode(index.encode()).encode() == index.encode()
    assert CallIndex.decode(index.encode()).summary()["calls"] == len(calls)
