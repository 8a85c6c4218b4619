"""The credit of a match: 1 if the text claims it, less if the text only considers or lists it, 0 if the text denies it.

The rules know English. Text in another language has none of their triggers, so that each match there has credit 1.
"""

import re
from typing import NamedTuple

from instruments.evals.scoring.keyword_list import keyword_list_size
from instruments.evals.scoring.mention_context import MentionContext, mention_context
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
    # the match is all of the text: no sentence around it could deny it
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


ALTERNATIVES_SHOWN_MAX = 20
"""The most alternatives that are counted."""

_CAUSING = (
    r"(?:be|have been|come|stem|arise|result|explain|account|lie|cause|point|also|well|equally|be due|help"
    r"|indicate|mean)"
)
_hedges = re.compile(
    rf"\b(?:possibly|perhaps|maybe|conceivably|potentially|might|(?:could|may) {_CAUSING}\b|can have many"
    r"|(?:one|another|a|some|several|many) (?:\w+ )?(?:possibilit(?:y|ies)|options?|explanations?|candidates?|reasons)"
    r"|possible (?:causes?|reasons?|explanations?)|equally (?:likely|plausible|possible)|plausible|suspects?|suspected"
    r"|guess|unclear|uncertain|unsure|not (?:sure|clear|certain)|hard to (?:say|tell)|remains? open|cannot (?:tell|say)"
    r"|(?:cannot|can't|could not|couldn't|not) (?:yet |fully |completely )?(?:be )?(?:ruled out|rule out|excluded?)"
    r"|compatible with|one might|consider|depending on|otherwise|or else"
    r"|if (?:that is|it is|this is|they are|(?:they|it) turns?)|should .{0,30} be the case)\b"
)
_either = re.compile(r"\b(?:either|whether)\b")
_or = re.compile(r"\bor\b(?! (?:so|more|less|not|two|three|later|newer|higher)\b)")
_separator = re.compile(r"\s*,\s*(?:(?:or|and)\b)?|\s+or\b")
_number_or = re.compile(r"\b\d+\w* or \d+\w*")


def hedge_of(context: MentionContext) -> str | None:
    """Return the hedge in the clause of a match; None if there is none.

    "Probably" and "most likely" are none: they state what the writer believes. "Could" and "may" count only before a
    verb of being or causing, since "may use" is a permission, and "could not start" is a failure.
    """
    if context.clause().rstrip().endswith("?"):
        return "?"
    found = _hedges.search(_outside_match(context))
    return found[0] if found else None


def alternatives_in(context: MentionContext) -> int:
    """Return how many alternatives the clause of a match lists; 1 if it lists none."""
    clause = _number_or.sub("_", context.clause())
    last = max((found.end() for found in _or.finditer(clause)), default=0)
    # an "or" in the match is one of the pattern
    if not last or _or.search(_number_or.sub("_", context.match)):
        return 1
    either = _either.search(clause)
    listed = clause[either.end() if either else 0 :]
    parts = [part for part in _separator.split(listed) if part.strip()]
    return min(ALTERNATIVES_SHOWN_MAX, max(2, len(parts)))


def _outside_match(context: MentionContext) -> str:
    """Return the clause of a match, with a mark in place of the match."""
    return context._replace(match="_").clause()
