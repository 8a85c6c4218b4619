"""Find contradictions between the parts of an analysis.

Two are recognized: one part denies what another one claims, and the most confident hypothesis names another cause. A
part that states another cause without denying the expected one is not seen.
"""

from collections.abc import Sequence

from instruments.evals.analysis import Hypothesis
from instruments.evals.scoring.answer_texts import TextLocation
from instruments.evals.scoring.expected_patterns import ExpectedPatterns
from instruments.evals.scoring.mention_credit import DENIED
from instruments.evals.scoring.pattern_search import Found, PatternSearch


def denial_in(search: PatternSearch, conditions: ExpectedPatterns, locations: Sequence[TextLocation]) -> str | None:
    """Return a note of the first location that denies an expected pattern and claims none; None if no location does."""
    groups = [group for group in (*conditions.required, conditions.optional) if group]
    for location in locations if search.reads_language else ():
        matches = [match for group in groups if (match := search.best_match(group, location))]
        if matches and all(match.credit.value == DENIED for match in matches):
            return f"contradicted: {matches[0].item.where} is {matches[0].credit.note}"
    return None


def most_confident_note(named: Sequence[tuple[Hypothesis, TextLocation, Found]]) -> str | None:
    """Return a note if a hypothesis as confident as those that name the class, or more, does not name it.

    `named` has each hypothesis with its location and the credit of the class in it. Each must state a confidence.
    """
    stated = [
        (one.confidence_0_100, location.name, found)
        for one, location, found in named
        if one.confidence_0_100 is not None
    ]
    naming = [confidence for confidence, _, found in stated if found is None or found > DENIED]
    if not naming or len(stated) < len(named):
        return None
    best = max(naming)
    rivals = [name for confidence, name, found in stated if found == DENIED and confidence >= best]
    if not rivals:
        return None
    return f"{rivals[0]} names another cause with no less confidence"
