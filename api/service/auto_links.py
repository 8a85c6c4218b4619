"""Links of a new decision to the decisions that its adopted queries found. Pure functions.

CSTP's reference server relates a listing without a query, too: at distance 0, so that every decision is linked with the
weight 1 to the newest ones. Its documents promise links to similar decisions, so that a listing links nothing here.
"""

from collections.abc import Sequence

from api.service.link_target import WEIGHT_MIN, LinkTarget
from events.decision import DecisionRecorded
from events.envelope import Event
from events.link import DecisionLinked
from events.thought import RelatedDecision, ThoughtTracked

AUTO_LINK = "auto-link"
"""What made these links, as CSTP names it."""

WEIGHT_DIGITS = 3


def nearest_related(
    thoughts: Sequence[Event], decision: DecisionRecorded, stated: Sequence[LinkTarget] = ()
) -> tuple[RelatedDecision, ...]:
    """Return the decisions that the queries among the thoughts found: each once, the nearest first.

    Without the decision itself, and without those to which it is linked already.
    """
    without = {decision.decision_id, *(target.decision_id for target in stated)}
    nearest: dict[str, RelatedDecision] = {}
    for thought in thoughts:
        for related in thought.data.related if isinstance(thought.data, ThoughtTracked) else ():
            found = nearest.get(related.decision_id)
            if related.decision_id not in without and (found is None or related.distance < found.distance):
                nearest[related.decision_id] = related
    return tuple(sorted(nearest.values(), key=lambda related: (related.distance, related.decision_id)))


def links_to(related: Sequence[RelatedDecision], decision_id: str) -> list[DecisionLinked]:
    """Return the links from a decision to those that its queries found."""
    return [
        DecisionLinked(
            source_id=decision_id,
            target_id=found.decision_id,
            edge_type="relates_to",
            weight=max(WEIGHT_MIN, round(1 - found.distance, WEIGHT_DIGITS)),
            created_by=AUTO_LINK,
        )
        for found in related
    ]
