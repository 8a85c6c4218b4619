"""Whether two sources state the same decision, review or value. A source is a file, a store, or the ledger."""

from collections.abc import Container
from datetime import datetime, timedelta

from api.importers.cstp.source_decision import SourceDecision, SourceReview

SAME_TIME = timedelta(seconds=60)
"""CSTP reads the clock again for each file and store that it writes: times this close are the same time."""


def same_decision(decision: SourceDecision, agent: str | None, texts: Container[str], time: datetime | None) -> bool:
    """Whether a decision is the one that another source states by its agent, its texts so far, and its time.

    Known agents must be equal, and so must the text or the time.
    """
    if agent is not None and decision.agent is not None and decision.agent != agent:
        return False
    return decision.values["decision"] in texts or known_same_time(decision.time, time)


def maybe_same_time(time_a: datetime | None, time_b: datetime | None) -> bool:
    """Whether two times are the same, or one is unknown."""
    return time_a is None or time_b is None or abs(time_a - time_b) <= SAME_TIME


def known_same_time(time_a: datetime | None, time_b: datetime | None) -> bool:
    """Whether two times are known to be the same."""
    return time_a is not None and time_b is not None and maybe_same_time(time_a, time_b)


def same_review(review_a: SourceReview, review_b: SourceReview) -> bool:
    """Whether two sources describe the same review: the same outcome at the same time."""
    same_outcome = review_a.values["outcome"] == review_b.values["outcome"]
    return same_outcome and maybe_same_time(review_a.time, review_b.time)


def equal_values(value_a: object, value_b: object) -> bool:
    """Whether two values are equal. Lists of texts are compared without order, because a store loses it."""
    if isinstance(value_a, tuple) and isinstance(value_b, tuple) and _all_texts(value_a) and _all_texts(value_b):
        return set(value_a) == set(value_b)
    return value_a == value_b


def _all_texts(items: tuple[object, ...]) -> bool:
    return all(isinstance(item, str) for item in items)
