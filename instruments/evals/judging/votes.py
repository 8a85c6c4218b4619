"""Join the votes of several replies: the verdict or the preference of most, and how sure all of them are of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from events.judge import JudgeVote, PairVote, Preferred

CONFIDENCE_DIGITS = 6
"""Decimals of a confidence, so that sums in another order give the same number."""


def join_votes(votes: Sequence[JudgeVote]) -> tuple[bool, float]:
    """Return the verdict of most votes and its confidence. As many votes for each verdict: not passed.

    The confidence is the mean probability that the votes give to that verdict; a vote for the other one gives it 1
    minus its own confidence.
    """
    passed = 2 * sum(vote.passed for vote in votes) > len(votes)
    mean = fmean(vote.confidence if vote.passed is passed else 1 - vote.confidence for vote in votes)
    return passed, round(mean, CONFIDENCE_DIGITS)


def join_preferences(votes: Sequence[PairVote]) -> tuple[Preferred, float]:
    """Return the answer that most votes prefer in both orders, and the confidence; otherwise a tie.

    The confidence is the mean probability that the votes give to that preference; a vote for another one gives it half
    of what is left of its own confidence.
    """
    straight, swapped = by_order(votes)
    preferred = straight if straight == swapped else "tie"
    mean = fmean(vote.confidence if vote.preferred == preferred else (1 - vote.confidence) / 2 for vote in votes)
    return preferred, round(mean, CONFIDENCE_DIGITS)


def by_order(votes: Sequence[PairVote]) -> tuple[Preferred, Preferred]:
    """Return the answer that most votes prefer where it was shown as it was given, and where the order was swapped."""
    return (
        _most_frequent(vote.preferred for vote in votes if not vote.swapped),
        _most_frequent(vote.preferred for vote in votes if vote.swapped),
    )


def _most_frequent(preferences: Iterable[Preferred]) -> Preferred:
    """Return the most frequent preference; a tie if two are equally frequent, or if there is none."""
    counts = Counter(preferences).most_common(2)
    if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
        return "tie"
    return counts[0][0]
