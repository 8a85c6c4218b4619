"""The outcomes of decisions some days after they were made, where not every one is due and reviewed.

It also uses decisions that are younger than that, as far as they have come. That is for people to see what to expect:
verdicts rest on the decisions that are due (`maturity.py`).
"""

from typing import Final, NamedTuple

import numpy as np

from projections.arrays import Ints
from projections.calibration.counted_decisions import CountedDecisions
from projections.calibration.figure_text import format_percent
from projections.outcome_codes import OUTCOME_NUMBERS, UNREVIEWED
from projections.query_check import Check, no_check
from projections.stats.late_outcomes import AT_RISK_MIN, CENSORED, ShareByTime, incidence, kaplan_meier
from tallystick.shapes.calibration import OutcomesByDay
from tallystick.shapes.parts import Interval

_DAY_US: Final = 86_400_000_000
_SUCCESS, _OTHER = 1, 2


class ReviewDelays(NamedTuple):
    """Times from decisions to their first reviews, or to now, in microseconds; and the cause that ended each."""

    time_us: Ints
    cause: Ints


def outcomes_by_day(decisions: CountedDecisions, check: Check = no_check) -> OutcomesByDay | None:
    """Return the shares of outcomes by the latest time at which enough decisions are at risk.

    Return None where that is less than a day, and where every decision is due and reviewed.
    """
    found = _delays(decisions, check)
    if found is None or len(found.time_us) < AT_RISK_MIN:
        return None
    at_us = int(np.partition(found.time_us, -AT_RISK_MIN)[-AT_RISK_MIN])
    check()
    if at_us < _DAY_US:
        return None
    success, other = (incidence(*found, cause, at_us) for cause in (_SUCCESS, _OTHER))
    none = kaplan_meier(*found, at_us)
    day, n = at_us / _DAY_US, len(found.time_us)
    return OutcomesByDay(
        day=day,
        decisions=n,
        at_risk=none.at_risk,
        success_rate=success.rate,
        success_rate_interval=_interval(success),
        other_rate=other.rate,
        other_rate_interval=_interval(other),
        unreviewed_rate=none.rate,
        unreviewed_rate_interval=_interval(none),
        message=(
            f"Within {day:.3g} days, {_percent(success)} of decisions are reviewed as success and {_percent(other)} "
            f"with another outcome (Aalen-Johansen estimate from {n:,} decisions, due or not). The verdict does not "
            "depend on it."
        ),
    )


def _delays(decisions: CountedDecisions, check: Check) -> ReviewDelays | None:
    """Return the delays of decisions with a stated confidence; None if every one is due and reviewed."""
    rows, counted, now_us = decisions.stated(check), decisions.columns.counted, decisions.columns.maturity.now_us
    outcome, delay_us, due_us = (rows.take(counted, name) for name in ("outcome", "delay_us", "due_us"))
    if not ((outcome == UNREVIEWED) | (due_us > now_us)).any():
        return None
    check()
    age_us = np.maximum(now_us - rows.take(decisions.columns.recorded, "time_us"), 0)
    cause = np.where(outcome == OUTCOME_NUMBERS["success"], _SUCCESS, _OTHER)
    cause[outcome == UNREVIEWED] = CENSORED
    return ReviewDelays(np.where(cause == CENSORED, age_us, delay_us), cause)


def _percent(share: ShareByTime) -> str:
    low, high = (format_percent(bound) for bound in (_interval(share).low, _interval(share).high))
    return f"{format_percent(share.rate)} ({low} to {high})"


def _interval(share: ShareByTime) -> Interval:
    assert share.interval is not None, "as many are at risk as an interval needs"
    return share.interval
