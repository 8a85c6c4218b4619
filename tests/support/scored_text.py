"""Score a text with a scorer that needs nothing from the machine."""

from instruments.probes import ProbeScore, Scorer


def score_text(scorer: Scorer, text: str) -> ProbeScore:
    """Score a text, and fail if the scorer could not."""
    scored = scorer.score(text)
    assert isinstance(scored, ProbeScore), scored.reason
    return scored
