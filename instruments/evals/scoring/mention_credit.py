"""The credit of a match: 1 if the text claims it, less if the text only considers or lists it, 0 if the text denies it.

The rules know English. Text in another language has none of their triggers, so that each match there has credit 1.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from instruments.evals.scoring.announced_list import ALTERNATIVES_MAX, announced_alternatives, questions_in
from instruments.evals.scoring.keyword_list import keyword_list_size
from instruments.evals.scoring.mention_context import (
    CONTEXT_CHARS_MAX,
    MentionContext,
    following_sentence,
    mention_context,
)
from instruments.evals.scoring.negation import condition_of, counterfactual_of, negation_of, retraction_of
from instruments.evals.scoring.stated_spans import Span

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


def credit_of_match(text: str, start: int, end: int, rules: ReadingRules, stated: Sequence[Span] = ()) -> Credit:
    """Return the credit of characters `start` to `end` of a text.

    `stated` has the spans of the match that its pattern spells, if the pattern lets other words be between them. Those
    words are read as words of the text: they may negate or hedge.
    """
    spans = tuple(stated) or ((start, end),)
    # the match is all of the text: no sentence around it could deny it
    if len(spans) == 1 and not text[: spans[0][0]].strip() and not text[spans[0][1] :].strip():
        return Credit(CLAIMED)
    denial = _denial_of(text, spans, rules)
    if denial is not None:
        return Credit(DENIED, f"negated by '{denial}'")
    keywords = keyword_list_size(text) if rules.keywords else 0
    if keywords:
        return Credit(1 / keywords, f"one of {keywords} keywords, not a sentence")
    context = mention_context(text, start, end)
    least = rules.alternatives_min
    alternatives = max(alternatives_in(context), announced_alternatives(text, start)) if least is not None else 1
    if least is not None and alternatives >= least:
        return Credit(1 / alternatives, f"one of {alternatives} alternatives")
    hedge = hedge_of(mention_context(text, *spans[-1])) if rules.hedges else None
    if hedge == "?":
        # each of n questions may have the answer yes, or none
        return Credit(1 / (1 + questions_in(text)), "asked, not claimed")
    return Credit(CLAIMED) if hedge is None else Credit(HEDGED, f"hedged by '{hedge}'")


def _denial_of(text: str, spans: Sequence[Span], rules: ReadingRules) -> str | None:
    """Return the words that deny the first or the last span of a match, or take it back; None if nothing does."""
    for start, end in dict.fromkeys((spans[0], spans[-1])):
        first = max(0, start - CONTEXT_CHARS_MAX)
        masked = text[first : end + CONTEXT_CHARS_MAX]
        # a negation in another span is the pattern's own
        for other_start, other_end in ((max(0, other[0] - first), other[1] - first) for other in spans):
            if other_start < other_end and other_end + first != end:
                other_text = re.sub(r"\w", "_", masked[other_start:other_end])
                masked = masked[:other_start] + other_text + masked[other_start + len(other_text) :]
        context = mention_context(masked, start - first, end - first)
        negation = negation_of(context) or retraction_of(context, following_sentence(text, end))
        negation = negation or (counterfactual_of(context) if rules.hedges else None)
        if negation is not None:
            return negation
    return None


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
    r"|compatible with|one might|consider|depending on"
    r"|remains? to be seen|open question|toss-up|inconclusive|undetermined"
    r"|is (?:only |just )?what (?:\w+ ){1,3}?(?:claim|say|suggest|report|believe|assume)s?|in case|assuming"
    r"|rumou?r has it|(?:some|others|many) (?:people )?(?:say|claim|believe|think|blame)"
    r"|suppos(?:e|ing)|otherwise|or else"
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
    return found[0] if found else condition_of(context)


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
    return min(ALTERNATIVES_MAX, max(2, len(parts)))


def _outside_match(context: MentionContext) -> str:
    """Return the clause of a match, with a mark in place of the match."""
    return context._replace(match="_").clause()
