"""The outcomes of pull requests as of a watermark: merged by an age, where those that are closed can be merged no more.

"Merged of all" counts open requests as refused, and "merged of closed" forgets them. So the share is of those that are
old enough, and beside it stands an estimate that uses younger ones as far as they have come.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import and_
from typing import Final

import msgspec
import numpy as np

from projections.changes.outcomes import DAY_S, by_agent, count_names, estimate_of, share_of
from projections.stats.late_outcomes import CENSORED, incidence
from tallystick.shapes.changes import EndedByDay, RequestOutcomes

MERGED_DAYS: Final = (1, 14)
CLOSED_DAYS: Final = (7, 14)
_MERGED, _CLOSED = 1, 2


class RequestFacts(msgspec.Struct, frozen=True):
    """What is known of a request at the watermark. Times are seconds since 1970."""

    agents: tuple[str, ...]
    marks: tuple[str, ...]
    created_s: int
    closed_s: int | None
    """When it was closed without a merge."""
    merged_s: int | None
    review: str | None
    checks: str | None


def request_outcomes(requests: Iterable[RequestFacts], watermark_s: int) -> Sequence[RequestOutcomes]:
    """Return the outcomes of each agent's requests, agents with most first, and unmarked ones last."""
    return [_outcomes(agent, made, watermark_s) for agent, made in by_agent(requests)]


def _outcomes(agent: str, requests: Sequence[RequestFacts], watermark_s: int) -> RequestOutcomes:
    merged = sum(request.merged_s is not None for request in requests)
    closed = sum(request.closed_s is not None for request in requests)
    ended = [request for request in requests if request.merged_s is not None or request.closed_s is not None]
    return RequestOutcomes(
        agent=agent,
        requests=len(requests),
        merged=merged,
        closed=closed,
        pending=len(requests) - merged - closed,
        recognised_by=count_names(request.marks for request in requests),
        merged_by=[_ended_by(days, _MERGED, requests, watermark_s) for days in MERGED_DAYS],
        closed_by=[_ended_by(days, _CLOSED, requests, watermark_s) for days in CLOSED_DAYS],
        reviews=_known(request.review for request in requests),
        checks=_known(request.checks for request in ended),
    )


def _known(values: Iterable[str | None]) -> dict[str, int] | None:
    counts = Counter(value for value in values if value is not None)
    return dict(counts.most_common()) or None


def _ended_by(days: int, cause: int, requests: Sequence[RequestFacts], watermark_s: int) -> EndedByDay:
    at_s = days * DAY_S
    ends = [_end(request, watermark_s) for request in requests]
    time_s = [end_s - request.created_s for (end_s, _), request in zip(ends, requests, strict=True)]
    aged = [request.created_s + at_s <= watermark_s for request in requests]
    ended = [time <= at_s and found == cause for time, (_, found) in zip(time_s, ends, strict=True)]
    estimate = incidence(np.array(time_s, np.int64), np.array([found for _, found in ends], np.int8), cause, at_s)
    return EndedByDay(
        days=days,
        matured=share_of(sum(map(and_, aged, ended)), sum(aged)) if any(aged) else None,
        estimated=estimate_of(estimate) if estimate.at_risk else None,
    )


def _end(request: RequestFacts, watermark_s: int) -> tuple[int, int]:
    """Return when a request ended, or the watermark; and how."""
    if request.merged_s is not None:
        return request.merged_s, _MERGED
    return (watermark_s, CENSORED) if request.closed_s is None else (request.closed_s, _CLOSED)
