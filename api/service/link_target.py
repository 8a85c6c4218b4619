"""A decision to which a new one is linked when it is recorded."""

from typing import NamedTuple

from events.link import DecisionLinked

WEIGHT_MIN = 0.01
_WEIGHT_DIGITS = 6


class LinkTarget(NamedTuple):
    """An earlier decision, and the weight and the context of the link to it, where they are stated."""

    decision_id: str
    weight: float | None = None
    context: str | None = None

    def link_from(self, decision_id: str) -> DecisionLinked:
        """Return the link from the new decision."""
        return DecisionLinked(
            source_id=decision_id,
            target_id=self.decision_id,
            edge_type="relates_to",
            weight=self.weight,
            context=self.context,
        )


def weight_of_distance(distance: float | None) -> float | None:
    """Return the weight of a link to a decision at a distance in meaning, as CSTP's reference server converts it."""
    if distance is None:
        return None
    return min(max(round(1 - distance, _WEIGHT_DIGITS), WEIGHT_MIN), 1.0)
