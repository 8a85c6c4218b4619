"""The credit of a match: 1 if the text claims it, less if the text only considers or lists it, 0 if the text denies it.

The rules know English. Text in another language has none of their triggers, so that each match there has credit 1.
"""

from typing import NamedTuple

from instruments.evals.scoring.hedges import alternatives_in, hedge_of
from instruments.evals.scoring.keyword_list import keyword_list_size
from instruments.evals.scoring.mention_context import mention_context
from instruments.evals.scoring.negation import negation_of

CLAIMED = 1.0
HEDGED = 0.5
DENIED = 0.0


class ReadingRules(NamedTuple):
    """Which rules are read in a text, besides negation."""

    hedges: bool = False
    """Whether a hedge lowers the credit. It does not in a hypothesis, which has a confidence instead."""
    alternatives_min: int | None = None
    """How many alternatives lower the credit; None for none. A fix may name two ways of doing it."""
    keywords: bool = False
    """Whether a list of keywords lowers the credit."""


class Credit(NamedTuple):
    """The credit of a match, 0..1, and a note why it is not 1."""

    value: float
    note: str | None = None


def credit_of_match(text: str, start: int, end: int, rules: ReadingRules) -> Credit:
    """Return the credit of characters `start` to `end` of a text."""
    if not text[:start].strip() and not text[end:].strip():
        return Credit(CLAIMED)
    context = mention_context(text, start, end)
    negation = negation_of(context)
    if negation is not None:
        return Credit(DENIED, f"negated by '{negation}'")
    keywords = keyword_list_size(text) if rules.keywords else 0
    if keywords:
        return Credit(1 / keywords, f"one of {keywords} keywords, not a sentence")
    alternatives = alternatives_in(context) if rules.alternatives_min is not None else 1
    if rules.alternatives_min is not None and alternatives >= rules.alternatives_min:
        return Credit(1 / alternatives, f"one of {alternatives} alternatives")
    hedge = hedge_of(context) if rules.hedges else None
    return Credit(CLAIMED) if hedge is None else Credit(HEDGED, f"hedged by '{hedge}'")
