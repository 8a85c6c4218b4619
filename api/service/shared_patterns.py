"""Shared patterns: the general rules that more than one decision names."""

import msgspec

from api.service.decisions import decision_states
from api.service.ledger import View
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection

EXAMPLES_MAX = 5


class SharedPattern(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, the number of decisions that name it, their categories, and the ids of the oldest of them."""

    pattern: str
    count: int
    categories: list[str]
    examples: list[str]


class SharedPatterns(msgspec.Struct, frozen=True, kw_only=True):
    """The most named rules; `total` is the number of rules that more than one decision names."""

    patterns: list[SharedPattern]
    total: int


async def find_shared_patterns(view: View, limit: int) -> SharedPatterns:
    """List the rules that more than one decision names, the most named first, at most `limit`."""
    projection, position = await view.at(DecisionIndex)
    total, groups = projection.shared_patterns(projection.find(DecisionSelection()), limit)
    summaries = [
        (projection.positions(group[:EXAMPLES_MAX]), len(group), projection.categories(group)) for group in groups
    ]
    examples = await view.engine.names.grouped([positions for positions, _, _ in summaries])
    states = await decision_states(view, [subjects[0] for subjects in examples], position)
    rows = zip(states, examples, summaries, strict=True)
    patterns = [
        SharedPattern(
            pattern=state.decision.pattern or "",
            count=count,
            categories=categories,
            examples=[subject.removeprefix("decision/") for subject in subjects],
        )
        for state, subjects, (_, count, categories) in rows
    ]
    return SharedPatterns(patterns=patterns, total=total)
