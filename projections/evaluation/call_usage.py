"""The usage of scores that state none, from the calls of their traces.

A score that was received by OTLP names the span that it evaluates, the response, or both; the tokens are in the span.
The call of a score is that of its span, if it states tokens or a cost; otherwise those with its response id; otherwise
all calls of its trace, added up. Its latency is that of its span or of the whole trace. Spans of agents and workflows
contain the calls of models, so that they are not added up with them.

Nothing that a score states itself is replaced.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import structs

from events.envelope import EventFacts
from events.evaluation import EvalScored
from events.model_names import split_names
from projections.arrays import Floats
from projections.call_index import NO_RESPONSE, CallColumns, SpanKeys, span_numbers
from projections.evaluation.evaluation_index import EvaluationScoreColumns
from projections.evaluation.usage_figures import USAGE_NAMES

CONTAINERS = frozenset({"create_agent", "invoke_agent", "invoke_workflow"})
"""Operations whose spans contain the spans of the calls that they make."""

_NONE = -1
_NAN = float("nan")
_NS_PER_US = 1000


class FoundUsage(NamedTuple):
    """What the calls of some scores used, NaN where they do not state it; and the number of a call's attribution."""

    input_tokens: Floats
    output_tokens: Floats
    cost_usd: Floats
    elapsed_ns: Floats
    attribution: npt.NDArray[np.int64]
    """Of the last call that names a model; -1 without one."""


def fill_usage(scores: EvaluationScoreColumns, calls: CallColumns) -> EvaluationScoreColumns:
    """Return scores with the usage and the models of their calls, where they state none."""
    places = np.flatnonzero(np.isin(scores.row, calls.score_row))
    if not len(calls.time_us) or not len(places):
        return scores
    stated = np.searchsorted(calls.score_row, scores.row[places])
    found = find_usage(calls, calls.score_keys.select(stated))
    filled: dict[str, Any] = {}
    for name in USAGE_NAMES:
        column = getattr(scores, name).copy()
        column[places] = np.where(np.isnan(column[places]), getattr(found, name), column[places])
        filled[name] = column
    attributions, attribution = list(scores.attributions), scores.attribution.copy()
    numbers = {by: number for number, by in enumerate(attributions)}
    for place, number in zip(places.tolist(), found.attribution.tolist(), strict=True):
        by = attributions[attribution[place]]
        if number != _NONE and by.model is None:
            with_model = by._replace(model=calls.attributions[number].model)
            attribution[place] = numbers.setdefault(with_model, len(numbers))
            if attribution[place] == len(attributions):
                attributions.append(with_model)
    return scores._replace(**filled, attribution=attribution, attributions=attributions)


def fill_events(events: Sequence[EventFacts], calls: CallColumns) -> Sequence[EventFacts]:
    """Return events with the usage and the models of their calls in the scores that state none."""
    scored = [(place, event.data) for place, event in enumerate(events) if isinstance(event.data, EvalScored)]
    scored = [(place, data) for place, data in scored if data.trace_id is not None or data.response_id is not None]
    if not len(calls.time_us) or not scored:
        return events
    found = find_usage(calls, _keys([data for _, data in scored], calls))
    filled = list(events)
    for number, (place, data) in enumerate(scored):
        changed: dict[str, Any] = {}
        for name in USAGE_NAMES:
            value = float(getattr(found, name)[number])
            if getattr(data, name) is None and not np.isnan(value):
                changed[name] = value if name == "cost_usd" else int(value)
        by = found.attribution[number]
        if by != _NONE and data.model is None and data.reported_model is None:
            model, reported = split_names(calls.attributions[by].model or "")
            changed |= {"model": model or None, "reported_model": reported or None}
        filled[place] = structs.replace(events[place], data=structs.replace(data, **changed))
    return filled


def _keys(scores: Sequence[EvalScored], calls: CallColumns) -> SpanKeys:
    numbers = [span_numbers(data.trace_id, data.span_id) for data in scores]
    high, low, span = (np.array(column, dtype=np.uint64) for column in zip(*numbers, strict=True))
    responses = [calls.responses.get(data.response_id or "", NO_RESPONSE) for data in scores]
    return SpanKeys(high, low, span, np.array(responses, dtype=np.uint32))


def find_usage(calls: CallColumns, keys: SpanKeys) -> FoundUsage:
    """Return what the calls of scores with some ids used."""
    size = len(calls.time_us)
    trace, span = _number_spans(calls.keys, keys)
    has_trace = (keys.trace_high != 0) | (keys.trace_low != 0)
    call_of_span = np.full(int(span.max(initial=0)) + 1, _NONE)
    call_of_span[span[:size]] = np.arange(size)
    own = np.where(has_trace & (keys.span != 0), call_of_span[span[size:]], _NONE)
    counted = ~np.array([by.operation in CONTAINERS for by in calls.attributions], dtype=np.bool_)[calls.attribution]
    by_response = _sums(calls, calls.keys.response, keys.response, counted & (calls.keys.response != NO_RESPONSE))
    by_trace = _sums(calls, trace[:size], np.where(has_trace, trace[size:], trace.max(initial=0) + 1), counted)
    candidates = (_rows(calls, own), by_response, by_trace)
    of_span, of_response, chosen = candidates
    for each in (of_response, of_span):
        stated = ~np.isnan(each.input_tokens) | ~np.isnan(each.output_tokens) | ~np.isnan(each.cost_usd)
        chosen = _where(stated, each, chosen)
    elapsed = np.where(np.isnan(of_span.elapsed_ns), chosen.elapsed_ns, of_span.elapsed_ns)
    return chosen._replace(elapsed_ns=elapsed)


def _number_spans(calls: SpanKeys, scores: SpanKeys) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return a number for the trace and for the span of each call, then of each score; equal ids have equal numbers."""
    high, low, span = (np.concatenate(columns) for columns in zip(calls[:3], scores[:3], strict=True))
    return _group(high, low), _group(high, low, span)


def _group(*columns: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    order = np.lexsort(columns)
    differs = np.zeros(len(order), dtype=np.int64)
    if len(order):
        differs[1:] = np.any([column[order][1:] != column[order][:-1] for column in columns], axis=0)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(differs)
    return numbers


def _rows(calls: CallColumns, rows: npt.NDArray[np.int64]) -> FoundUsage:
    """Return the values of single calls; NaN for row -1."""
    values = {name: np.where(rows == _NONE, _NAN, getattr(calls, name)[rows]) for name in USAGE_NAMES}
    named = np.array([by.model is not None for by in calls.attributions], dtype=np.bool_)
    attribution = calls.attribution[rows].astype(np.int64)
    return FoundUsage(**values, attribution=np.where((rows == _NONE) | ~named[attribution], _NONE, attribution))


def _sums(
    calls: CallColumns, group: npt.NDArray[Any], wanted: npt.NDArray[Any], counted: npt.NDArray[np.bool_]
) -> FoundUsage:
    """Return the sums over the counted calls of some groups, and the time from the first start to the last end."""
    rows = np.flatnonzero(counted & np.isin(group, wanted))
    names, inverse = np.unique(group[rows], return_inverse=True)
    size = len(names)
    columns: list[Floats] = []
    for name in USAGE_NAMES[:3]:
        values = getattr(calls, name)[rows]
        known = ~np.isnan(values)
        sums = np.bincount(inverse[known], weights=values[known], minlength=size)
        columns.append(np.where(np.bincount(inverse[known], minlength=size) > 0, sums, _NAN))
    end_ns = (calls.time_us[rows] - calls.time_us.min(initial=0)) * float(_NS_PER_US)
    last, first = np.full(size, -np.inf), np.full(size, np.inf)
    np.maximum.at(last, inverse, end_ns)
    np.minimum.at(first, inverse, end_ns - np.nan_to_num(calls.elapsed_ns[rows]))
    columns.append(last - first)
    attribution = np.full(size, _NONE)
    named = np.array([by.model is not None for by in calls.attributions], dtype=np.bool_)[calls.attribution[rows]]
    attribution[inverse[named]] = calls.attribution[rows][named]
    at = np.minimum(np.searchsorted(names, wanted), size - 1)
    exists = names[at] == wanted if size else np.zeros(len(wanted), dtype=np.bool_)
    found = {
        name: np.where(exists, column[at] if size else _NAN, _NAN)
        for name, column in zip(USAGE_NAMES, columns, strict=True)
    }
    return FoundUsage(**found, attribution=np.where(exists, attribution[at] if size else _NONE, _NONE))


def _where(mask: npt.NDArray[np.bool_], one: FoundUsage, other: FoundUsage) -> FoundUsage:
    return FoundUsage(*(np.where(mask, *pair) for pair in zip(one, other, strict=True)))
