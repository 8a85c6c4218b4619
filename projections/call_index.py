"""The calls projection: every call of a model or tool, and which scores state a trace, a span or a response.

The state has one row per call (about 90 bytes), and one per such score: its number among all scores in the log, which
is its row number in the evaluations projection, and its ids. A call may arrive before or after its score, so the
two are joined when a view is computed (`evaluation/call_usage.py`).
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from events.call import CallRecorded
from events.envelope import EventFacts
from events.evaluation import EvalScored
from events.model_names import join_names
from events.payload import Payload
from projections.arrays import Floats, Ints
from projections.columns import microseconds_column
from projections.projection import Projection
from projections.saved_state import Part, numbered, saved_columns, saved_value

NO_RESPONSE = 2**32 - 1
"""The number of a response that is not stated."""

_NAN = float("nan")
_HALF = 16
"""Hex digits of half a trace id, and of a span id."""

_KEYS = ("trace_high", "trace_low", "span", "response")
_VALUES = ("input_tokens", "output_tokens", "cost_usd", "elapsed_ns")
_COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(_KEYS[:3], "Q"), "response": "I", "attribution": "I",
    **dict.fromkeys(_VALUES, "d"), "time_us": "q",
    "score_row": "q", **{f"score_{name}": "Q" for name in _KEYS[:3]}, "score_response": "I",
}  # fmt: skip
"""The type code of each column: of calls, and of the scores that state ids."""


class CallAttribution(NamedTuple):
    """The fields that many calls share; `model` are the model's names, joined by `join_names`."""

    operation: str
    provider: str | None
    agent: str | None
    agent_version: str | None
    model: str | None
    tool: str | None
    error: str | None


class SpanKeys(NamedTuple):
    """The ids of calls or scores: the trace in two halves, the span, 0 without one; and the number of the response."""

    trace_high: npt.NDArray[np.uint64]
    trace_low: npt.NDArray[np.uint64]
    span: npt.NDArray[np.uint64]
    response: npt.NDArray[np.uint32]

    def select(self, rows: npt.NDArray[Any]) -> "SpanKeys":
        """Return only the ids in some rows."""
        return SpanKeys(self.trace_high[rows], self.trace_low[rows], self.span[rows], self.response[rows])


class CallColumns(NamedTuple):
    """Copies of the columns, in the order of the log. The values are NaN where a call does not state them.

    `score_row` are the row numbers of the scores that state ids, ascending; `score_keys` their ids.
    """

    keys: SpanKeys
    attribution: npt.NDArray[np.uint32]
    input_tokens: Floats
    output_tokens: Floats
    cost_usd: Floats
    elapsed_ns: Floats
    time_us: Ints
    attributions: Sequence[CallAttribution]
    score_row: Ints
    score_keys: SpanKeys
    responses: Mapping[str, int]
    """The number of each response id."""


class CallIndex(Projection):
    """Every call, and the ids of scores that a call may belong to."""

    name: ClassVar[str] = "calls"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (CallRecorded, EvalScored)

    parts: ClassVar[Mapping[str, Part]] = {
        "attributions": numbered("_attributions", CallAttribution),
        "responses": numbered("_responses", str),
        "scores": saved_value("_scores", int),
        "columns": saved_columns("_columns"),
    }

    def __init__(self) -> None:
        self._columns: dict[str, array[Any]] = {name: array(code) for name, code in _COLUMNS.items()}
        self._attributions: dict[CallAttribution, int] = {}
        self._responses: dict[str, int] = {}
        self._scores = 0

    def fold(self, events: Sequence[EventFacts]) -> None:
        times: list[str] = []
        for event in events:
            data = event.data
            if isinstance(data, CallRecorded):
                self._add_call(data)
                times.append(event.time)
            elif isinstance(data, EvalScored):
                if data.trace_id is not None or data.response_id is not None:
                    self._columns["score_row"].append(self._scores)
                    self._add_keys("score_", data.trace_id, data.span_id, data.response_id)
                self._scores += 1
        self._columns["time_us"].frombytes(microseconds_column(times))

    def _add_call(self, data: CallRecorded) -> None:
        by = CallAttribution(
            data.operation, data.provider, data.agent, data.agent_version,
            join_names(data.model, data.reported_model), data.tool, data.error,
        )  # fmt: skip
        self._columns["attribution"].append(self._attributions.setdefault(by, len(self._attributions)))
        self._add_keys("", data.trace_id, data.span_id, data.response_id)
        for name in _VALUES:
            value = getattr(data, name)
            self._columns[name].append(_NAN if value is None else value)

    def _add_keys(self, prefix: str, trace_id: str | None, span_id: str | None, response_id: str | None) -> None:
        numbers = span_numbers(trace_id, span_id)
        response = NO_RESPONSE
        if response_id is not None:
            response = self._responses.setdefault(response_id, len(self._responses))
        for name, number in zip(_KEYS, (*numbers, response), strict=True):
            self._columns[prefix + name].append(number)

    def complete(self) -> None:
        calls = {len(self._columns[name]) for name in _COLUMNS if not name.startswith("score_")}
        scores = {len(self._columns[name]) for name in _COLUMNS if name.startswith("score_")}
        assert len(calls) == len(scores) == 1, "columns of unlike length"

    def summary(self) -> Mapping[str, object]:
        return {
            "calls": len(self._columns["time_us"]),
            "scores_with_ids": len(self._columns["score_row"]),
            "agents": sorted({by.agent for by in self._attributions if by.agent is not None}),
        }

    def calls(self) -> CallColumns:
        """Return copies of the columns."""
        copies: dict[str, npt.NDArray[Any]] = {
            name: np.frombuffer(column.tobytes(), dtype=_COLUMNS[name]) for name, column in self._columns.items()
        }
        return CallColumns(
            keys=SpanKeys(*(copies[name] for name in _KEYS)),
            attribution=copies["attribution"],
            **{name: copies[name] for name in _VALUES},
            time_us=copies["time_us"],
            attributions=list(self._attributions),
            score_row=copies["score_row"],
            score_keys=SpanKeys(*(copies[f"score_{name}"] for name in _KEYS)),
            responses=dict(self._responses),
        )

    def __len__(self) -> int:
        return len(self._columns["time_us"])


def span_numbers(trace_id: str | None, span_id: str | None) -> tuple[int, int, int]:
    """Return the halves of a trace id and a span id as numbers; 0 without one."""
    trace = trace_id or "0"
    return int(trace[:-_HALF] or "0", 16), int(trace[-_HALF:], 16), int(span_id or "0", 16)
