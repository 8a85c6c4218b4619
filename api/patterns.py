"""Patterns: the general rules that several decisions name as theirs."""

import msgspec

from api.operations import House
from projections import Decisions, Selection

EXAMPLES_MAX = 5


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """A rule, how many decisions name it, their categories by name, and the oldest few of them."""

    pattern: str
    count: int
    categories: list[str]
    examples: list[str]


class Patterns(msgspec.Struct, frozen=True, kw_only=True):
    """The rules named most, of all `total` that more than one decision names."""

    patterns: list[Pattern]
    total: int


async def patterns(house: House, most: int) -> Patterns:
    """The rules that more than one decision names, the one named most first; at most so many."""
    projection, position = await house.engine.at(Decisions)
    total, groups = projection.shared_patterns(projection.find(Selection()), most)
    named = [
        (projection.subjects(group[:EXAMPLES_MAX]), len(group), sorted(projection.count(group).by_category))
        for group in groups
    ]
    standings = await house.standings([examples[0] for examples, _, _ in named], position)
    rows = zip(standings, named, strict=True)
    found = [
        Pattern(
            pattern=standing.decision.pattern or "",
            count=count,
            categories=categories,
            examples=[subject.removeprefix("decision/") for subject in examples],
        )
        for standing, (examples, count, categories) in rows
    ]
    return Patterns(patterns=found, total=total)
