"""The facts of a decision, each with the list of all decisions that share it."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from api.http.pages.content import address_of
from api.reports.escape import one_line
from api.reports.format import minute_utc
from projections.decisions.decision_state import DecisionState

VALUE_CHARS_MAX = 120
HEADING_CHARS_MAX = 140

_LISTED = ("agent", "category", "stakes", "project", "feature", "cluster", "model")
"""Facts by which the list of decisions can be filtered."""


class DecisionFact(NamedTuple):
    """A fact: its name, its value, and the address of the list of decisions with the same value, if there is one."""

    name: str
    value: str
    address: str | None = None


def read_facts(state: DecisionState) -> Sequence[DecisionFact]:
    """Return the facts that a decision states."""
    decision = state.decision
    stated = {
        "agent": state.agent,
        "recorded": minute_utc(state.recorded_at),
        "category": decision.category,
        "stakes": decision.stakes,
        "project": decision.project,
        "feature": decision.feature,
        "cluster": decision.cluster,
        "model": decision.model,
        "reported model": decision.reported_model,
        "question": state.question,
        "state of mind": decision.mental_state,
        "review by": _moment(decision.review_by),
        "indicators": ", ".join(decision.kpi_indicators),
        "pull request": None if decision.pr is None else f"#{decision.pr}",
        "file": decision.file if decision.line is None else f"{decision.file or ''}:{decision.line}",
        "commit": decision.commit,
        "checked before": _checked(state),
        "preserved": "always shown in full" if state.preserve else None,
        "id": state.decision_id,
    }
    return [
        DecisionFact(
            name,
            one_line(value, VALUE_CHARS_MAX),
            address_of("/ui/decisions", {name: value}) if name in _LISTED else None,
        )
        for name, value in stated.items()
        if value
    ]


def heading_of(state: DecisionState) -> str:
    """Return the statement of a decision on one line, cut to the length of a heading; its id if nothing is visible."""
    return one_line(state.decision.decision[: 4 * HEADING_CHARS_MAX], HEADING_CHARS_MAX) or state.decision_id


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else minute_utc(moment)


def _checked(state: DecisionState) -> str | None:
    """Say what the agent checked before it decided."""
    checks = state.decision.pre_decision
    if checks is None:
        return None
    similar = "" if checks.similar_found is None else f" ({checks.similar_found:,} similar found)"
    passed = {True: ", which passed", False: ", which did not pass", None: ""}[checks.guardrails_passed]
    said = [
        f"earlier decisions{similar}" if checks.query_run else None,
        f"guardrails{passed}" if checks.guardrails_checked else None,
    ]
    return " and ".join(filter(None, said)) or "nothing"
