"""Whether a caller may review a decision, as an append of the review would say."""

from api.principal import Principal
from events.decision import DecisionReviewed, DecisionTestStated
from events.life import RESOLVERS
from projections.decisions.decision_state import DecisionState


def may_review(caller: Principal, state: DecisionState) -> bool:
    """Return whether a caller may review a decision, given with its history."""
    permissions = caller.permissions
    if not may_review_some(caller) or state.retracted is not None:
        return False
    if permissions.in_every_stream:
        return True
    first = next((entry.agent for entry in state.history if isinstance(entry.data, DecisionReviewed)), None)
    if permissions.as_first:
        return caller.may_review(state.agent)
    has_test = any(isinstance(entry.data, DecisionTestStated) for entry in state.history)
    if has_test and caller.agent == state.agent:
        return False
    return caller.may_review(state.agent) and (first in (None, caller.agent) or first.startswith(RESOLVERS))


def may_review_some(caller: Principal) -> bool:
    """Return whether a caller may review any decision at all."""
    return caller.review != "none" and not caller.scopes.isdisjoint({"append", "admin"})
