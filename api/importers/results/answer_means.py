"""The mean that a tool computed over answers, where that is also the mean over scenarios, which Tallystick computes."""

from collections import Counter
from collections.abc import Sequence

from api.importers.results.imported_run import ImportedScore


def mean_over_scenarios(mean: float | None, count: int, scores: Sequence[ImportedScore]) -> float | None:
    """Return a mean over `count` answers; None if it cannot be compared.

    It can be if every answer with a score was kept, and all scenarios that have any score have equally many.
    """
    scored = Counter(score.sample for score in scores if score.state == "scored")
    if mean is None or sum(scored.values()) != count or len(set(scored.values())) != 1:
        return None
    return mean
