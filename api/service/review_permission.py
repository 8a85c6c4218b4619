"""Whether a caller may review a decision, as an append of the review would say."""

from api.principal import Principal
from events.decision import DecisionReviewed
from projections.decisions.decision_state import DecisionState


def may_review(caller: Principal, state: DecisionState) -> bool:
    """Return whether a caller may review a decision, given with its history."""
    permissions = caller.permissions
    if not may_review_some(caller) or state.retracted is not None:
        return False
    if permissions.in_every_stream:
        return True
    first = next((entry.agent for entry in state.history if isinstance(entry.data, DecisionReviewed)), None)
    return caller.may_review(state.agent) and (first in (None, caller.agent) or permissions.as_first)


def may_review_some(caller: Principal) -> bool:
    """Return whether a caller may review any decision at all."""
    return caller.review != "none" and not caller.scopes.isdisjoint({"append", "admin"})
