"""Recognize that a sentence only considers a match: hedges ("possibly", "might be") and lists of alternatives.

"Probably" and "most likely" are not among them: they state what the writer believes. "Could" and "may" count only
before a verb of being or causing, since "may use" is a permission, and "could not start" is a failure. See
`mention_context.py` for the terms.
"""

import re

from instruments.evals.scoring.mention_context import MentionContext

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
    """Return the hedge in the clause of a match; None if there is none."""
    if context.clause().rstrip().endswith("?"):
        return "?"
    found = _hedges.search(_outside_match(context))
    return found[0] if found else None


def alternatives_in(context: MentionContext) -> int:
    """Return how many alternatives the clause of a match lists; 1 if it lists none."""
    clause = _number_or.sub("_", context.clause())
    last = max((found.end() for found in _or.finditer(clause)), default=0)
    if not last or _or.search(_number_or.sub("_", context.match)):
        return 1
    either = _either.search(clause)
    listed = clause[either.end() if either else 0 :]
    parts = [part for part in _separator.split(listed) if part.strip()]
    return min(ALTERNATIVES_SHOWN_MAX, max(2, len(parts)))


def _outside_match(context: MentionContext) -> str:
    """Return the clause of a match, with a mark in place of the match."""
    return context._replace(match="_").clause()
